"""Tables of runs that come with the package, and those of one's own studies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from docs import make_study_table
from docs.make_study_table import complete, table_of

import unbraid
from unbraid.errors import UserError
from unbraid.study import Study, product, records

from .test_collect import synthetic


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


def test_seeds_that_lack_a_run_are_left_out_of_the_table_that_comes_along(tmp_path: Path) -> None:
    jobs = Study(runs=product(method="vae", data="dsprites", width=[4, 8], seed=range(3)), metrics=["mig"]).jobs()
    for job in jobs:
        (tmp_path / job.name).mkdir()
        if (job.plan.seed, job.arguments["width"]) != (1, 8):
            (tmp_path / job.name / "evaluation.json").write_text("{}")
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray" / "evaluation.json").write_text("{}")
    assert complete(jobs, tmp_path) == [job.name for job in jobs if job.plan.seed != 1]


def test_udr_of_runs_whose_codes_are_gone_is_what_the_page_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, kept = tmp_path / "runs", tmp_path / "udr.csv"
    runs.mkdir()
    synthetic(runs, 4, 0)
    names = sorted(path.name for path in runs.iterdir())
    pd.DataFrame({"run": ["another", *names], "udr": [9.0, 0.1, 0.2, 0.3, 0.4]}).to_csv(kept, index=False)
    monkeypatch.setattr(make_study_table, "UDR", kept)
    assert table_of(runs, names).set_index("run")["udr"][names].tolist() == [0.1, 0.2, 0.3, 0.4]
    kept.write_text("run,udr\nanother,9\n")
    assert "udr" not in table_of(runs, names)


@pytest.mark.parametrize("path", sorted(records.FOLDER.glob("*.parquet")), ids=lambda path: path.stem)
def test_a_table_that_comes_along_is_whole_and_small(path: Path) -> None:
    table = unbraid.load_study(path.stem)
    settings = table.groupby(["data", "objective", "setting"])["seed"]
    assert settings.nunique().eq(table["seed"].nunique()).all() and settings.size().eq(table["seed"].nunique()).all()
    assert table["run"].is_unique and not table.isna().all().any()
    scores = ["mig", "dci", "sap", "modularity", "beta_vae_score", "factor_vae_score", "downstream.mean.100"]
    assert table[scores].notna().all().all()
    assert path.stem != "unsupervised" or table[["udr", "elbo"]].notna().all().all()
    assert table[scores].ge(0).all().all() and table[scores].le(1).all().all()
    assert path.stat().st_size < 5e6
    assert not [column for column in table if table[column].astype(str).str.contains("/").any()]  # paths of a machine
