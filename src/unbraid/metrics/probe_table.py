"""Probe table: accuracy of linear probes of each task on each block of a code, and how the blocks divide the tasks.

For sub-embeddings such as z0 and z1: the test accuracy of logistic regression for every task and block; the gap
|C(z0) - C(z1)| of each task (with more than two blocks, from the best to the worst); and whether the table is diagonal,
that is, whether two blocks are each the best at some task. The value is the mean gap if the table is diagonal, else 0.

A probe standardises the code unless told otherwise, so it also uses directions of little variance. The part `share`
shows the difference: the share of a block's variance, its codes scaled to length one, that lies between classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unbraid.config import Count, Rate, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Arrays, Floats, Ints, check_arrays, check_codes, standardised
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows


@metric
def probe_table(
    blocks: Mapping[str, Codes],
    factors: Factors,
    rng: np.random.Generator,
    *,
    pair: Sequence[str] = ("z0", "z1"),
    names: Sequence[str] | None = None,
    strength: Rate = 1.0,
    iterations: Size = 300,
    standardise: bool = True,
    train: Size | None = None,
    resamplings: Count = 200,
    jobs: Count = 0,
) -> Score:
    """How well each block predicts each task, and whether the blocks divide the tasks between them.

    The first argument maps the name of each block to its codes; the factors are the tasks.

    Args:
        pair: the blocks to compare, two or more
        names: of the tasks
        strength: C of the logistic regression; larger regularises less
        iterations: the largest number of iterations of its solver
        standardise: scale each latent to variance 1 before a probe, else leave it at its own scale
        train: number of leading rows that train, the others test; None draws two thirds
        resamplings: of the test rows, for the interval
        jobs: threads; 0 uses one for each available core
    """
    codes, arrays = _checked(blocks, factors, pair)
    tasks = [names[k] if names is not None else f"factor {k}" for k in arrays.kept]
    rows = split_rows(arrays.n, train, rng)
    mixed = {f"shuffled {name}": codes[name][rng.permutation(arrays.n)] for name in pair}
    fit = partial(_right, rows=rows, strength=strength, iterations=iterations)
    scaled = {n: standardised(code, rows[0]) if standardise else code for n, code in (codes | mixed).items()}
    right = _probed(scaled, arrays, fit, jobs)  # [tasks, rows] of each block
    mean = {block: hits.mean(1).tolist() for block, hits in right.items()}
    compared = np.array([right[block] for block in pair])  # [pair, tasks, rows]
    draws = [rng.integers(len(rows[1]), size=len(rows[1])) for _ in range(resamplings)]
    parts, low, high = _gaps(compared, [compared[:, :, draw].mean(2) for draw in draws], tasks)
    parts["accuracy"] = {block: dict(zip(tasks, mean[block], strict=True)) for block in codes}
    parts |= _shares_and_chance(codes, arrays, tasks, rows[1])
    params: dict[str, Any] = {"pair": list(pair), "C": strength, "iterations": iterations, "train": len(rows[0])}
    params |= {} if standardise else {"standardise": False}
    score = arrays.score(_value(compared.mean(2)), parts, **params)
    return replace(score, low=low, high=high, null=_value(np.array([mean[block] for block in mixed])))


def _probed(
    codes: dict[str, Floats], arrays: Arrays, fit: Callable[[Floats, Any], Floats], jobs: int
) -> dict[str, Floats]:
    """Which test rows a probe of each task classifies correctly, [tasks, rows], by block."""
    cells = [(block, column) for block in codes for column in arrays.factors]
    with no_convergence_warnings():
        flat = parallel(lambda cell: fit(codes[cell[0]], cell[1].values), cells, jobs)
    return dict(zip(codes, np.reshape(flat, (len(codes), len(arrays.factors), -1)), strict=True))


def _shares_and_chance(codes: dict[str, Floats], arrays: Arrays, tasks: list[str], test: Ints) -> dict[str, Any]:
    labels = {task: arrays.factors[k].values for k, task in enumerate(tasks)}
    share = {block: {task: _between(codes[block], labels[task]) for task in tasks} for block in codes}
    return {"share": share, "chance": {task: _chance(labels[task][test]) for task in tasks}}


def _gaps(compared: Floats, drawn: list[Floats], tasks: list[str]) -> tuple[dict[str, Any], float | None, float | None]:
    """The gap of each task, whether the table is diagonal, and both for resampled test rows."""
    gaps = np.ptp(compared.mean(2), axis=0)
    low, high = np.quantile([_value(one) for one in drawn], [0.025, 0.975]).tolist() if drawn else (None, None)
    share = float(np.mean([diagonal(one) for one in drawn])) if drawn else None
    parts: dict[str, Any] = {
        "gap": dict(zip(tasks, gaps.tolist(), strict=True)),
        "diagonal": diagonal(compared.mean(2)),
    }
    return parts | {"diagonal_share": share}, low, high


def _checked(blocks: Mapping[str, Codes], factors: Factors, pair: Sequence[str]) -> tuple[dict[str, Floats], Arrays]:
    if len(set(pair)) < 2 or not set(pair) <= set(blocks):
        raise UserError(f"pair must name two or more of the blocks {', '.join(blocks)}, not {', '.join(pair)}")
    codes = {name: check_codes(block, f"block {name}") for name, block in blocks.items()}
    arrays = check_arrays(codes[pair[0]], factors)
    if unlike := [name for name, block in codes.items() if len(block) != arrays.n]:
        raise UserError(f"block {unlike[0]} has {len(codes[unlike[0]])} rows and block {pair[0]} has {arrays.n}")
    if any(column.continuous for column in arrays.factors):
        raise UserError("a probe table needs tasks with classes: leave out continuous factors")
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
    codes = codes / max(1.0, float(np.abs(codes).max()) / 1e100)  # so that they can be squared
    units = codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)
    units = units - units.mean(0)
    classes = [units[labels == label] for label in np.unique(labels)]
    between = sum(len(own) * float((own.mean(0) ** 2).sum()) for own in classes)
    return between / max(float((units**2).sum()), 1e-12)


def _right(codes: Floats, labels: Any, *, rows: tuple[Ints, Ints], strength: float, iterations: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    train, test = rows
    if np.ptp(labels[train]) == 0:
        return np.asarray(labels[test] == labels[train[0]], np.float64)
    model = LogisticRegression(C=strength, solver="lbfgs", tol=1e-4, max_iter=iterations)
    return np.asarray(model.fit(codes[train], labels[train]).predict(codes[test]) == labels[test], np.float64)
