"""Random numbers that belong to rows: the same row always gets the same ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Rows


def uniform(rows: Rows, seed: int, count: int) -> NDArray[np.float32]:
    """Numbers in [0, 1) for each row, [n, count]."""
    numbers = np.empty((len(rows), count), np.float32)
    for row, out in zip(rows.tolist(), numbers, strict=True):
        np.random.default_rng((seed, row)).random(dtype=np.float32, out=out)
    return numbers
