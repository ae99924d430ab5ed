"""Codes whose scores are known without computing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
SIZES = (4, 3, 5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def grid(repeats: int = 50, sizes: tuple[int, ...] = SIZES) -> Array:
    """Every combination of the factors, equally often: they are exactly independent."""
    every = np.stack(np.meshgrid(*[np.arange(m) for m in sizes], indexing="ij"), -1).reshape(-1, len(sizes))
    return np.tile(every, (repeats, 1))


def perfect(factors: Array) -> Array:
    """One latent for each factor, standardised."""
    return np.asarray((factors - factors.mean(0)) / factors.std(0))


def noise(n: int, d: int, seed: int = 7) -> Array:
    return rng(seed).standard_normal((n, d))


def rotation(d: int, seed: int = 3) -> Array:
    return np.linalg.qr(rng(seed).standard_normal((d, d)))[0]
