"""Probe table: a linear classifier of each task on each named block of a representation, the gap and the diagonal.

For sub-embeddings such as z0 and z1: the test accuracy of logistic regression for every task and block; the gap
|C(z0) - C(z1)| for each task; and whether the table is diagonal, that is whether some pairing of blocks and tasks makes
each block of a pair the better one on its own task. The value is the mean gap where the table is diagonal, else 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbraid.errors import Problem
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.prepare import Floats, Ints, check, check_codes, parallel, quiet, split, varies


def probe_table(
    blocks: Mapping[str, Codes],
    factors: Factors,
    rng: np.random.Generator,
    *,
    pair: Sequence[str] = ("z0", "z1"),
    names: Sequence[str] | None = None,
    strength: float = 1.0,
    iterations: int = 300,
    train: int | None = None,
    resamplings: int = 200,
    jobs: int = 0,
) -> Score:
    """How well each block tells each task, and whether two blocks share the tasks out.

    The first argument is the codes of each block by name; the factors are the tasks.

    Args:
        pair: the two blocks whose gap is taken
        names: of the tasks
        strength: C of the logistic regression; larger regularises less
        iterations: of its solver at most
        train: how many leading rows train, the others test; None draws two thirds
        resamplings: of the test rows, for the interval
        jobs: threads; 0 uses every core
    """
    if len(pair) != 2 or not set(pair) <= set(blocks):
        raise Problem(f"pair must name two of the blocks {', '.join(blocks)}, not {', '.join(pair)}")
    codes = {name: check_codes(block, f"block {name}") for name, block in blocks.items()}
    arrays = check(codes[pair[0]], factors)
    if unlike := [name for name, block in codes.items() if len(block) != arrays.n]:
        raise Problem(f"block {unlike[0]} has {len(codes[unlike[0]])} rows and block {pair[0]} has {arrays.n}")
    if any(column.continuous for column in arrays.factors):
        raise Problem("a probe table needs tasks with classes: leave continuous factors out")
    tasks = [names[k] if names is not None else f"factor {k}" for k in arrays.kept]
    rows = split(arrays.n, train, rng)
    cells = [(block, k) for block in codes for k in range(len(tasks))]

    def probe(cell: tuple[str, int]) -> Floats:
        return _right(codes[cell[0]], arrays.factors[cell[1]].values, rows, strength, iterations)

    shuffled = rng.permutation(arrays.n)
    blind = [(block, k) for block in pair for k in range(len(tasks))]

    def probe_blindly(cell: tuple[str, int]) -> float:
        mixed = codes[cell[0]][shuffled]
        return float(_right(mixed, arrays.factors[cell[1]].values, rows, strength, iterations).mean())

    with quiet():
        right = dict(zip(cells, parallel(probe, cells, jobs), strict=True))
        null = np.reshape(parallel(probe_blindly, blind, jobs), (2, -1))
    table = {block: {task: float(right[block, k].mean()) for k, task in enumerate(tasks)} for block in codes}
    halves = np.array([[right[block, k] for k in range(len(tasks))] for block in pair])  # [2, tasks, rows]
    draws = [rng.integers(halves.shape[2], size=halves.shape[2]) for _ in range(resamplings)]
    spread = [_value(halves[:, :, draw].mean(2)) for draw in draws]
    gaps = np.abs(halves.mean(2)[0] - halves.mean(2)[1])
    low, high = np.quantile(spread, [0.025, 0.975]) if spread else (None, None)
    return Score(
        _value(halves.mean(2)),
        parts={
            "accuracy": table,
            "gap": dict(zip(tasks, gaps.tolist(), strict=True)),
            "diagonal": diagonal(halves.mean(2)),
            "diagonal_share": float(np.mean([diagonal(halves[:, :, d].mean(2)) for d in draws])) if draws else None,
            "chance": {task: _chance(arrays.factors[k].values[rows[1]]) for k, task in enumerate(tasks)},
        },
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        null=_value(null),
        n=arrays.n,
        params={"pair": list(pair), "C": strength, "iterations": iterations, "train": len(rows[0]), "factors": tasks},
        warnings=arrays.warnings,
    )


def diagonal(accuracy: Floats) -> bool:  # [2, tasks]
    """Each of the two blocks is strictly better than the other on some task."""
    first, second = accuracy
    return bool((first > second).any() and (second > first).any())


def _value(accuracy: Floats) -> float:
    return float(np.abs(accuracy[0] - accuracy[1]).mean()) if diagonal(accuracy) else 0.0


def _chance(labels: Ints) -> float:
    return float(np.bincount(labels).max() / len(labels))


def _right(codes: Floats, labels: Any, rows: tuple[Ints, Ints], strength: float, iterations: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    train, test = rows
    spread = np.where(varies(codes[train]), codes[train].std(0, dtype=np.float64), np.inf)
    scaled = (codes - codes[train].mean(0, dtype=np.float64)) / spread
    if np.ptp(labels[train]) == 0:
        return np.asarray(labels[test] == labels[train[0]], np.float64)
    model = LogisticRegression(C=strength, solver="lbfgs", tol=1e-4, max_iter=iterations)
    return np.asarray(model.fit(scaled[train], labels[train]).predict(scaled[test]) == labels[test], np.float64)
