"""Average and worst-group accuracy of predictions, where a group is a class with a value of the nuisances.

Sagawa, Koh, Hashimoto and Liang, "Distributionally robust neural networks for group shifts" (ICLR 2020). Groups with
few rows cannot be the worst, since their accuracy is mostly noise. The lowest accuracy over values of the nuisances
alone is given as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count
from unbraid.errors import UserError
from unbraid.metrics.arrays import Floats, Ints
from unbraid.metrics.contract import Score, metric


@metric
def group_accuracy(
    predicted: NDArray[Any],
    labels: NDArray[Any],
    nuisances: NDArray[Any],
    rng: np.random.Generator,
    *,
    least: Count = 50,
    resamplings: Count = 200,
) -> Score:
    """The average accuracy; the part `worst` is the accuracy of the worst group.

    Takes predicted and true classes, [n], and the nuisances of the same rows, [n] or [n, m].

    Args:
        least: rows that a group needs to be considered
        resamplings: of the rows, for the intervals
    """
    predicted, labels = np.asarray(predicted), np.asarray(labels)
    nuisances = np.asarray(nuisances).reshape(len(labels), -1) if len(labels) else np.asarray(nuisances)
    if predicted.shape != labels.shape or labels.ndim != 1 or not len(labels):
        raise UserError(
            f"predicted {predicted.shape} and labels {labels.shape} must be two lists of classes with the same length"
        )
    right = (predicted == labels).astype(np.float64)
    values, which = np.unique(nuisances, axis=0, return_inverse=True)
    draws = [rng.integers(len(labels), size=len(labels)) for _ in range(resamplings)]
    parts, notes = _worst(right, labels, values, which.ravel(), least, draws)
    low, high = np.quantile([right[rows].mean() for rows in draws], [0.025, 0.975]).tolist() if draws else (None, None)
    return Score(
        float(right.mean()),
        parts={"worst_nuisance": float(_means(right, which.ravel()).min())} | parts,
        low=low,
        high=high,
        null=float((rng.permutation(predicted) == labels).mean()),
        n=len(labels),
        params={"least": least, "interval": f"{resamplings} bootstrap samples of the rows"},
        warnings=notes,
    )


def _worst(
    right: Floats, labels: Any, values: Any, which: Ints, least: int, draws: list[Ints]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The group with the lowest accuracy, among those with enough rows."""
    names, groups = np.unique(np.stack([labels, which], 1), axis=0, return_inverse=True)
    groups = groups.ravel()
    counts = np.bincount(groups)
    kept = np.flatnonzero(counts >= least)
    note = f"{len(counts) - len(kept)} of {len(counts)} groups have fewer than {least} rows and are not considered"
    notes = (note,) if len(kept) < len(counts) else ()
    if not len(kept):
        return {"worst": None}, notes
    means = _means(right, groups)
    spread = [float(np.nanmin(_means(right[rows], groups[rows], len(counts))[kept])) for rows in draws]
    each = [{"class": names[g, 0].item(), "nuisances": values[int(names[g, 1])].tolist()} for g in kept]
    worst = int(means[kept].argmin())
    return {
        "worst": float(means[kept][worst]),
        "worst_group": each[worst],
        "worst_interval": np.quantile(spread, [0.025, 0.975]).tolist() if spread else None,
        "per_group": [group | {"accuracy": float(means[g])} for g, group in zip(kept, each, strict=True)],
    }, notes


def _means(right: Floats, groups: Ints, size: int = 0) -> Floats:
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=right, minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
