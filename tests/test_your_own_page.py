"""The Python on the page about users' own things runs, block after block."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "your_own.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) > 5
    shared: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(re.sub(r"steps=\d+", "steps=2", block), str(PAGE), "exec"), shared)
    assert shared["codes"].shape == (60, 2)
    assert np.isfinite(shared["best"].loss)
    assert shared["z"].shape == (3, 10)
    assert shared["again"].shape == (200, 32, 32, 3)
