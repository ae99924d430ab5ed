"""From one combination of factors to another: steps of a Laplace transition, and changes of exactly k factors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import UserError

Ints = NDArray[np.int64]
TRIES = 1000


def moved(positions: Ints, sizes: Ints, free: NDArray[np.bool_], rate: float, rng: np.random.Generator) -> Ints:
    """Combinations [n, axes] after Laplace steps on the axes that are free; where none moved, one of them must."""
    after, axes = positions.copy(), np.flatnonzero(free)
    for axis in axes:
        after[:, axis] = laplace_steps(positions[:, axis], sizes[axis], rate, rng)
    still = np.flatnonzero((after == positions).all(1))
    chosen = rng.choice(axes, len(still))
    for axis in axes:
        rows = still[chosen == axis]
        after[rows, axis] = laplace_steps(positions[rows, axis], sizes[axis], rate, rng, least=1)
    return after


def laplace_steps(before: Ints, size: int, rate: float, rng: np.random.Generator, least: int = 0) -> Ints:
    """Values drawn from p(v|before) ~ exp(-rate |v - before| / log(size)), at a distance of `least` or more. [n]"""
    distance = np.abs(np.arange(size)[:, None] - np.arange(size))  # [from, to]
    p = np.where(distance >= least, np.exp(-rate * np.maximum(distance - least, 0) / np.log(size)), 0)
    reached = np.cumsum(p, 1)[before]  # [n, to]
    drawn: Ints = (rng.random(len(before))[:, None] * reached[:, -1:] >= reached).sum(1)
    return drawn


def changed(positions: Ints, k: Ints, sizes: Ints, free: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
    """Combinations [n, axes] that differ from these in exactly k positions each, on axes that are free."""
    order = rng.random(positions.shape) + ~free
    moved = order.argsort(1).argsort(1) < k[:, None]  # [n, axes]
    shift = rng.integers(1, np.maximum(sizes, 2), positions.shape)
    found: Ints = np.where(moved, (positions + shift) % sizes, positions)
    return found


def until_found(propose: Callable[[Ints, Ints], Ints], rows: Ints, k: Ints) -> Ints:
    """Another row for each of these: where a proposal failed (-1) another one is made."""
    found = np.full(len(rows), -1)
    for _ in range(TRIES):
        failed = np.flatnonzero(found < 0)
        found[failed] = propose(rows[failed], k[failed])
        if (found >= 0).all():
            return found
    raise UserError(f"the table is too sparse: no matching row was found for row {rows[found < 0][0]}")
