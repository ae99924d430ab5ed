"""Tables of runs that come with the package, and those of one's own studies."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

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
