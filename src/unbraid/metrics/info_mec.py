"""InfoMEC: modularity, explicitness and compactness in terms of information; the value is the modularity InfoM.

Hsu, Dorrell, Whittington, Wu and Finn, "Disentanglement via latent quantization" (NeurIPS 2023). With N[i, j] the
mutual information of latent i and factor j over the entropy of the factor: InfoM is the mean over active latents of
max_j N / sum_j N and InfoC the mean over factors of max_i N / sum_i N, both scaled so that an even spread is 0; InfoE
is the share of a factor's entropy that a linear model of all latents removes, here on held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.information import entropy, information_matrix
from unbraid.metrics.prepare import Arrays, Bools, Column, Floats, Ints, check, parallel, quiet, split, varies


def info_mec(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    estimator: Literal["equal", "quantile", "knn"] = "knn",
    bins: Size = 20,
    factor_bins: int = 20,
    active: float = 0.02,
    reference: bool = False,
    train: int | None = None,
    units: Sequence[int] | None = None,
    jobs: int = 0,
) -> Score:
    """How exclusively latents and factors know each other, and how linearly.

    Args:
        estimator: of mutual information: nearest neighbours, equal-width bins, or quantile bins
        bins: bins for each latent, where bins are used
        factor_bins: quantile bins for a continuous factor in InfoM and InfoC
        active: least share of some factor's entropy that an active latent knows; other latents are left out
        reference: call a latent active where its range is a twentieth of the widest, whatever it knows
        train: how many leading rows fit the linear models, the others test them; None draws two thirds
        units: the unit that each latent belongs to; None makes each latent a unit
        jobs: threads; 0 uses every core
    """
    arrays = check(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    raw = information_matrix(arrays, columns, estimator=estimator, bins=bins, rng=rng)
    matrix = raw / np.array([entropy(column) for column in columns])  # [units, k]
    alive = arrays.alive & (_wide(arrays) if reference else matrix.max(1) >= active)
    rows = split(arrays.n, train, rng)
    with quiet():
        explicit = parallel(lambda column: _explicit(arrays.codes, column, rows), arrays.factors, jobs)
    params: dict[str, Any] = {"estimator": estimator, "active": "range" if reference else active, "train": len(rows[0])}
    return _score(matrix, alive, explicit, arrays, classifier="logistic regression, lbfgs, C=1e4", **params)


def _score(matrix: Floats, alive: Bools, explicit: list[float], arrays: Arrays, **params: Any) -> Score:
    notes = []
    parts: dict[str, Any] = {"info_m": None, "info_c": None, "info_e": float(np.mean(explicit))}
    if not alive.any():
        notes.append("no latent knows enough of any factor to be active")
    elif matrix.shape[1] < 2:
        notes.append("InfoM needs at least two factors that vary")
    else:
        parts["info_m"] = float(_concentration(matrix[alive]).mean())
    if alive.sum() > 1:
        parts["info_c"] = float(_concentration(matrix[alive].T).mean())
    parts |= {"info_e_per_factor": explicit, "active_latents": np.flatnonzero(alive), "matrix": matrix}
    value = float("nan") if parts["info_m"] is None else parts["info_m"]
    return arrays.score(value, parts, notes, **params)


def _concentration(matrix: Floats) -> Floats:  # [a, b] -> [a]
    """The largest share of each row, from 0 for an even spread to 1; 0 for a row of nothing."""
    shares = matrix.max(1) / np.maximum(matrix.sum(1), np.finfo(float).tiny)
    even = 1 / matrix.shape[1]
    return np.asarray(np.clip((shares - even) / (1 - even), 0, 1))


def _wide(arrays: Arrays) -> Bools:
    ranges = np.array([np.ptp(arrays.codes[:, unit], 0).max() for unit in arrays.units])
    return np.asarray(ranges > ranges.max() / 20)


def _explicit(codes: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    """The share of log loss, or of variance, that a linear model removes on the test rows; not below 0."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    train, test = rows
    moving = varies(codes[train])
    spread = np.where(moving, codes[train].std(0, dtype=np.float64), np.inf)
    scaled = (codes - codes[train].mean(0, dtype=np.float64)) / spread
    if column.continuous:
        fitted = LinearRegression().fit(scaled[train], column.values[train])
        return max(float(fitted.score(scaled[test], column.values[test])), 0.0)
    seen, y = np.unique(column.values[train], return_inverse=True)
    test = test[np.isin(column.values[test], seen)]
    if len(seen) < 2 or not len(test):
        return 0.0
    right = np.searchsorted(seen, column.values[test])
    model = LogisticRegression(C=1e4, solver="lbfgs", tol=1e-4, max_iter=300).fit(scaled[train], y)
    told = model.predict_proba(scaled[test])[np.arange(len(test)), right]
    blind = (np.bincount(y) / len(y))[right]
    return max(1 - float(np.log(np.maximum(told, 1e-15)).mean() / np.log(blind).mean()), 0.0)
