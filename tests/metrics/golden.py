"""The reference implementation's values, where they are at hand."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

FOLDER = Path(__file__).parents[3] / "shared" / "golden"
ALL = ("a_identity", "b_permflip_noise", "c_rotation", "d_duplicated", "e_warp_noise", "f_pure_noise", "g_dead_mix2")
DSPRITES = (*ALL, "h_partial45")
SMALL = ("a_identity", "b_permflip_noise", "d_duplicated", "f_pure_noise", "g_dead_mix2")
CASES = (*(f"dsprites__{kind}" for kind in DSPRITES), *(f"small__{kind}" for kind in SMALL))

needed = pytest.mark.skipif(not FOLDER.exists(), reason="the reference values are not at hand")
Array = NDArray[Any]


@cache
def values() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "values.json").read_text())
    return found


def expected(case: str) -> dict[str, Any]:
    found: dict[str, Any] = values()["cases"][case]
    return found


@cache
def arrays(name: str) -> dict[str, Array]:
    with np.load(FOLDER / "cases" / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def train(case: str) -> tuple[Array, Array]:
    """Codes [10000, d] and factors [10000, k]."""
    found = arrays(case)
    return found["mus_train"].T, found["ys_train"].T


def train_and_test(case: str, n_train: int = 10_000, n_test: int = 5_000) -> tuple[Array, Array]:
    """Training rows first, test rows after them."""
    found = arrays(case)
    codes = np.concatenate([found["mus_train"].T[:n_train], found["mus_test"].T[:n_test]])
    return codes, np.concatenate([found["ys_train"].T[:n_train], found["ys_test"].T[:n_test]])
