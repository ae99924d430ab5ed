"""The commands and the Python of the page about cases and controls run as they stand, with fewer steps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from unbraid.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "cases_and_controls.md"


def test_the_analysis_of_tumours_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    section = text[text.index("## Malignant against benign") : text.index("## Faces with glasses")]
    first, second = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (command,) = re.findall(r"^    unbraid (run .*)$", section, re.MULTILINE)
    shared: dict[str, Any] = {}
    exec(first, shared)
    words = shlex.split(re.sub(r"--steps \d+", "--steps 3", command))
    assert main([*words, "--quiet"]) == 0
    (run,) = Path("runs").iterdir()
    exec(second.replace("FOLDER", str(run)), shared)
    assert len(shared["table"]) == 8 * 30
    assert set(shared["table"]["feature"]) == set(shared["frame"].columns) - {"sample"}
    assert (run / "codes.csv").read_text().count("\ntarget,") == 50  # those that are held out
