"""Probe table: a linear classifier of each task on each named block of a representation, the gap and the diagonal.

For sub-embeddings such as z0 and z1: the test accuracy of logistic regression for every task and block; the gap
|C(z0) - C(z1)| for each task, from the best to the worst where there are more than two; and whether the table is
diagonal, that is whether each of two blocks is the best one at some task. The value is the mean gap where the table is
diagonal, else 0.

A probe standardises the code, so that it also reads what is left of a task in directions of little variance. The part
`share` tells the two apart: how much of the variance of a block, its codes brought to length one, lies between classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unbraid.errors import UserError
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.prepare import Arrays, Floats, Ints, check, check_codes, parallel, quiet, split, varies


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
        pair: the two or more blocks whose gap is taken
        names: of the tasks
        strength: C of the logistic regression; larger regularises less
        iterations: of its solver at most
        train: how many leading rows train, the others test; None draws two thirds
        resamplings: of the test rows, for the interval
        jobs: threads; 0 uses every core
    """
    codes, arrays = _checked(blocks, factors, pair)
    tasks = [names[k] if names is not None else f"factor {k}" for k in arrays.kept]
    rows = split(arrays.n, train, rng)
    mixed = {f"shuffled {name}": codes[name][rng.permutation(arrays.n)] for name in pair}
    cells = [(block, k) for block in (*codes, *mixed) for k in range(len(tasks))]

    def probe(cell: tuple[str, int]) -> Floats:
        return _right((codes | mixed)[cell[0]], arrays.factors[cell[1]].values, rows, strength, iterations)

    with quiet():
        right = dict(zip(cells, parallel(probe, cells, jobs), strict=True))
    mean = {block: [float(right[block, k].mean()) for k in range(len(tasks))] for block in (*codes, *mixed)}
    halves = np.array([[right[block, k] for k in range(len(tasks))] for block in pair])  # [pair, tasks, rows]
    draws = [rng.integers(halves.shape[2], size=halves.shape[2]) for _ in range(resamplings)]
    parts, low, high = _gaps(halves, [halves[:, :, draw].mean(2) for draw in draws], tasks)
    parts["accuracy"] = {block: dict(zip(tasks, mean[block], strict=True)) for block in codes}
    parts["share"] = {
        block: {task: _between(codes[block], arrays.factors[k].values) for k, task in enumerate(tasks)}
        for block in codes
    }
    parts["chance"] = {task: _chance(arrays.factors[k].values[rows[1]]) for k, task in enumerate(tasks)}
    params: dict[str, Any] = {"pair": list(pair), "C": strength, "iterations": iterations, "train": len(rows[0])}
    score = arrays.score(_value(halves.mean(2)), parts, **params)
    return replace(score, low=low, high=high, null=_value(np.array([mean[block] for block in mixed])))


def _gaps(halves: Floats, drawn: list[Floats], tasks: list[str]) -> tuple[dict[str, Any], float | None, float | None]:
    """The gap of each task, whether the table is diagonal, and how both fare when the test rows are drawn again."""
    gaps = np.ptp(halves.mean(2), axis=0)
    low, high = np.quantile([_value(one) for one in drawn], [0.025, 0.975]).tolist() if drawn else (None, None)
    share = float(np.mean([diagonal(one) for one in drawn])) if drawn else None
    parts: dict[str, Any] = {"gap": dict(zip(tasks, gaps.tolist(), strict=True)), "diagonal": diagonal(halves.mean(2))}
    return parts | {"diagonal_share": share}, low, high


def _checked(blocks: Mapping[str, Codes], factors: Factors, pair: Sequence[str]) -> tuple[dict[str, Floats], Arrays]:
    if len(set(pair)) < 2 or not set(pair) <= set(blocks):
        raise UserError(f"pair must name two of the blocks {', '.join(blocks)}, not {', '.join(pair)}")
    codes = {name: check_codes(block, f"block {name}") for name, block in blocks.items()}
    arrays = check(codes[pair[0]], factors)
    if unlike := [name for name, block in codes.items() if len(block) != arrays.n]:
        raise UserError(f"block {unlike[0]} has {len(codes[unlike[0]])} rows and block {pair[0]} has {arrays.n}")
    if any(column.continuous for column in arrays.factors):
        raise UserError("a probe table needs tasks with classes: leave continuous factors out")
    return codes, arrays


def diagonal(accuracy: Floats) -> bool:  # [blocks, tasks]
    """At least two blocks are each strictly better than all others on some task."""
    best = accuracy == accuracy.max(0)
    return len(set(best.argmax(0)[best.sum(0) == 1].tolist())) > 1


def _value(accuracy: Floats) -> float:
    return float(np.ptp(accuracy, axis=0).mean()) if diagonal(accuracy) else 0.0


def _chance(labels: Ints) -> float:
    return float(np.bincount(labels).max() / len(labels))


def _between(codes: Floats, labels: Any) -> float:
    units = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
    units = units - units.mean(0)
    classes = [units[labels == label] for label in np.unique(labels)]
    between = sum(len(own) * float((own.mean(0) ** 2).sum()) for own in classes)
    return between / max(float((units**2).sum()), 1e-12)


def _right(codes: Floats, labels: Any, rows: tuple[Ints, Ints], strength: float, iterations: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    train, test = rows
    spread = np.where(varies(codes[train]), codes[train].std(0, dtype=np.float64), np.inf)
    scaled = (codes - codes[train].mean(0, dtype=np.float64)) / spread
    if np.ptp(labels[train]) == 0:
        return np.asarray(labels[test] == labels[train[0]], np.float64)
    model = LogisticRegression(C=strength, solver="lbfgs", tol=1e-4, max_iter=iterations)
    return np.asarray(model.fit(scaled[train], labels[train]).predict(scaled[test]) == labels[test], np.float64)
