"""What DCI needs, and says when it is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.metrics.worlds import grid, perfect, rng
from unbraid.errors import UserError
from unbraid.metrics.dci import dci

FACTORS = grid(1, (3, 6, 8))


def test_dci_says_what_lightgbm_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lightgbm.py").write_text("raise OSError('libomp.dylib is not loaded\\n  Referenced from: here')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    with pytest.raises(
        UserError, match=r"cannot be loaded \(libomp.dylib is not loaded\): on macOS 'brew install libomp'"
    ):
        dci(perfect(FACTORS), FACTORS, rng())
    assert dci(perfect(FACTORS), FACTORS, rng(), predictor="trees").value > 0
