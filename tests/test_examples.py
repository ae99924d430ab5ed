"""The examples in the documentation run as they are."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
ARGUMENTS = {
    "pairs.py": ["20"],
    "own_images.py": ["pictures.npy", "20"],
    "own_data.py": ["20"],
    "own_method.py": ["20"],
    "own_network.py": ["20"],
    "estimator.py": ["20"],
    "target_background.py": ["20"],
    "breast_cancer.py": ["20", "1"],
    "count_table.py": ["20", "1"],
    "impossibility.py": ["200", "impossibility.png"],
}
MAKES = {"impossibility.py": "impossibility.png", "estimator.py": None}  # the others make the report of a run


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_ends_with_what_it_makes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "pictures.npy", np.random.default_rng(0).integers(0, 255, (30, 32, 32, 3), dtype=np.uint8))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *ARGUMENTS[name]])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    made = MAKES.get(name, "runs/*/report.html")
    if made is None:
        assert "accuracy from 4 codes" in printed
        return
    assert Path(made).name in printed
    assert list(tmp_path.glob(made))
