"""Random numbers that belong to rows: the same row always gets the same numbers, on every machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Bytes, Rows

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def words(rows: Rows, seed: int, count: int) -> NDArray[np.uint64]:
    """A splitmix64 sequence (Steele, Lea and Flood, 2014) for each row, [n, count]."""
    start = _mix(rows.astype(np.uint64) * GOLDEN + _mix(np.array([seed], np.uint64)))
    return _mix(start[:, None] + GOLDEN * np.arange(1, count + 1, dtype=np.uint64))


def uniform(rows: Rows, seed: int, count: int) -> NDArray[np.float32]:
    """Numbers in [0, 1) for each row, [n, count]."""
    return (words(rows, seed, count) >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)


def uniform_bytes(rows: Rows, seed: int, count: int) -> Bytes:
    """Bytes for each row, [n, count]."""
    return words(rows, seed, -(-count // 8)).astype("<u8").view(np.uint8)[:, :count]


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
