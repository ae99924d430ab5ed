"""InfoMEC: modularity, explicitness and compactness in terms of information; the value is the modularity InfoM.

Hsu, Dorrell, Whittington, Wu and Finn, "Disentanglement via latent quantization" (NeurIPS 2023). With N[i, j] the
mutual information of latent i and factor j over the entropy of the factor: InfoM is the mean over active latents of
max_j N / sum_j N and InfoC the mean over factors of max_i N / sum_i N, both scaled so that a uniform row is 0; InfoE is
the share of a factor's entropy that a linear model of all latents explains, here on held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Share, Size
from unbraid.metrics.arrays import Arrays, Bools, Column, Floats, Ints, check_arrays, standardised
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows
from unbraid.metrics.information import entropy, information_matrix


@metric
def info_mec(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    estimator: Literal["equal", "quantile", "knn"] = "knn",
    bins: Size = 20,
    factor_bins: Size = 20,
    active: Share = 0.02,
    reference: bool = False,
    train: Size | None = None,
    units: Sequence[int] | None = None,
    jobs: Count = 0,
) -> Score:
    """How exclusively latents and factors are related, and how linearly.

    Args:
        estimator: of mutual information: nearest neighbours, equal-width bins or quantile bins
        bins: bins for each latent, for estimators with bins
        factor_bins: quantile bins for a continuous factor in InfoM and InfoC
        active: share of some factor's entropy that a latent needs to be active; the others are left out
        reference: a latent is active if its range is a twentieth of the largest range, whatever its information
        train: number of leading rows that train the linear models, the others test; None draws two thirds
        units: the unit that each latent belongs to; None: each latent is a unit
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    raw = information_matrix(arrays, columns, estimator=estimator, bins=bins, rng=rng)
    matrix = raw / np.array([entropy(column) for column in columns])  # [units, k]
    alive = arrays.alive & (_wide_range(arrays) if reference else matrix.max(1) >= active)
    rows = split_rows(arrays.n, train, rng)
    with no_convergence_warnings():
        explicit = parallel(lambda column: _explicit(arrays.codes, column, rows), arrays.factors, jobs)
    params: dict[str, Any] = {"estimator": estimator, "active": "range" if reference else active, "train": len(rows[0])}
    return _score(matrix, alive, explicit, arrays, classifier="logistic regression, lbfgs, C=1e4", **params)


def _score(matrix: Floats, alive: Bools, explicit: list[float], arrays: Arrays, **params: Any) -> Score:
    notes = []
    parts: dict[str, Any] = {"info_m": None, "info_c": None, "info_e": float(np.mean(explicit))}
    if not alive.any():
        notes.append("no latent is informative enough about any factor to be active")
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
    """The largest share of each row, scaled to be 0 for a uniform row and 1 for a single entry; 0 for a row of 0."""
    shares = matrix.max(1) / np.maximum(matrix.sum(1), np.finfo(float).tiny)
    even = 1 / matrix.shape[1]
    return np.asarray(np.clip((shares - even) / (1 - even), 0, 1))


def _wide_range(arrays: Arrays) -> Bools:
    ranges = np.array([np.ptp(arrays.codes[:, unit], 0).max() for unit in arrays.units])
    return np.asarray(ranges > ranges.max() / 20)


def _explicit(codes: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    """The share of log loss, or of variance, that a linear model explains on the test rows; not below 0."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    train, test = rows
    scaled = standardised(codes, train)
    if column.continuous:
        fitted = LinearRegression().fit(scaled[train], column.values[train])
        return max(float(fitted.score(scaled[test], column.values[test])), 0.0)
    seen, y = np.unique(column.values[train], return_inverse=True)
    test = test[np.isin(column.values[test], seen)]
    if len(seen) < 2 or not len(test):
        return 0.0
    right = np.searchsorted(seen, column.values[test])
    model = LogisticRegression(C=1e4, solver="lbfgs", tol=1e-4, max_iter=300).fit(scaled[train], y)
    probability = model.predict_proba(scaled[test])[np.arange(len(test)), right]
    prior = (np.bincount(y) / len(y))[right]
    return max(1 - float(np.log(np.maximum(probability, 1e-15)).mean() / np.log(prior).mean()), 0.0)
