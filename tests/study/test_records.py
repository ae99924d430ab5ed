"""Tables of runs that come with the package, and those of one's own studies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from docs.make_study_table import complete_seeds

import unbraid
from unbraid.errors import UserError
from unbraid.study import records


def test_a_table_that_comes_along_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    runs = [
        {"data": "d", "objective": objective, "setting": "", "seed": seed, "mig": 0.1 * seed}
        for objective in ("a", "b")
        for seed in range(3)
    ]
    pd.DataFrame(runs).to_parquet(tmp_path / "small.parquet")
    assert unbraid.load_study("small")["mig"].tolist() == pytest.approx([0, 0.1, 0.2] * 2)
    assert unbraid.seeds_needed(0.1, "small", metric="mig") == 23  # as many as one standard deviation needs
    with pytest.raises(UserError, match=r"there is no study 'large': name a folder of runs, or one of .* along: small"):
        unbraid.load_study("large")


def test_seeds_that_lack_a_run_are_left_out_of_the_table_that_comes_along() -> None:
    runs = [{"setting": setting, "seed": seed} for setting in "abc" for seed in range(3)]
    del runs[4]
    assert complete_seeds(pd.DataFrame(runs))["seed"].tolist() == [0, 2] * 3


@pytest.mark.parametrize("path", sorted(records.FOLDER.glob("*.parquet")), ids=lambda path: path.stem)
def test_a_table_that_comes_along_is_whole_and_small(path: Path) -> None:
    table = unbraid.load_study(path.stem)
    settings = table.groupby(["data", "objective", "setting"])["seed"]
    assert settings.nunique().eq(table["seed"].nunique()).all() and settings.size().eq(table["seed"].nunique()).all()
    assert table["run"].is_unique and not table.isna().all().any()
    scores = ["mig", "dci", "sap", "modularity", "beta_vae_score", "factor_vae_score", "downstream.mean.100", "elbo"]
    assert table[scores].notna().all().all()
    assert table[scores[:-1]].ge(0).all().all() and table[scores[:-1]].le(1).all().all()
    assert path.stat().st_size < 5e6
    assert not [column for column in table if table[column].astype(str).str.contains("/").any()]  # paths of a machine
