"""Average and worst-group accuracy of predictions: the mean, and the least over cells of class by nuisance.

Sagawa, Koh, Hashimoto and Liang, "Distributionally robust neural networks for group shifts" (ICLR 2020). A group is a
class together with a value of the nuisances; groups with few rows are left out of the worst, since their accuracy is
noise. The least over values of the nuisance alone stands beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import Problem
from unbraid.metrics.contract import Score
from unbraid.metrics.prepare import Floats, Ints


def group_accuracy(
    predicted: NDArray[Any],
    labels: NDArray[Any],
    nuisances: NDArray[Any],
    rng: np.random.Generator,
    *,
    least: int = 50,
    resamplings: int = 200,
) -> Score:
    """The average accuracy; parts hold the worst group's.

    Takes predicted and true classes, [n], and the nuisances of the same rows, [n] or [n, m].

    Args:
        least: rows that a group must have to be the worst
        resamplings: of the rows, for the intervals
    """
    predicted, labels = np.asarray(predicted), np.asarray(labels)
    nuisances = np.asarray(nuisances).reshape(len(labels), -1) if len(labels) else np.asarray(nuisances)
    if predicted.shape != labels.shape or labels.ndim != 1 or not len(labels):
        raise Problem(
            f"predicted {predicted.shape} and labels {labels.shape} must be two equally long lists of classes"
        )
    right = (predicted == labels).astype(np.float64)
    nuisance = np.unique(nuisances, axis=0, return_inverse=True)
    names, groups = np.unique(np.stack([labels, nuisance[1].ravel()], 1), axis=0, return_inverse=True)
    groups = groups.ravel()
    counts = np.bincount(groups)
    kept = np.flatnonzero(counts >= least)
    warnings = [f"{len(counts) - len(kept)} of {len(counts)} groups have fewer than {least} rows and are left out"]
    draws = [rng.integers(len(labels), size=len(labels)) for _ in range(resamplings)]
    average = [float(right[rows].mean()) for rows in draws]
    parts: dict[str, Any] = {"worst": None, "worst_nuisance": float(_means(right, nuisance[1].ravel()).min())}
    if len(kept):
        means = _means(right, groups)
        worst = kept[means[kept].argmin()]
        spread = [float(np.nanmin(_means(right[rows], groups[rows], len(counts))[kept])) for rows in draws]
        parts |= {"worst": float(means[worst]), "worst_group": _group(names[worst], nuisance[0])}
        parts |= {"worst_interval": np.quantile(spread, [0.025, 0.975]).tolist() if spread else None}
        parts |= {"per_group": [{**_group(names[g], nuisance[0]), "accuracy": float(means[g])} for g in kept]}
    return Score(
        float(right.mean()),
        parts=parts,
        low=float(np.quantile(average, 0.025)) if average else None,
        high=float(np.quantile(average, 0.975)) if average else None,
        null=float((rng.permutation(predicted) == labels).mean()),
        n=len(labels),
        params={"least": least, "interval": f"{resamplings} bootstrap samples of the rows"},
        warnings=tuple(warnings) if len(kept) < len(counts) else (),
    )


def _means(right: Floats, groups: Ints, size: int = 0) -> Floats:
    counts = np.bincount(groups, minlength=size)
    sums = np.bincount(groups, weights=right, minlength=size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _group(name: NDArray[Any], nuisances: NDArray[Any]) -> dict[str, Any]:
    return {"class": name[0].item(), "nuisances": nuisances[int(name[1])].tolist()}
