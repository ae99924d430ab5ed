"""InfoMEC: modularity, explicitness and compactness in terms of information; the value is the modularity InfoM.

Hsu, Dorrell, Whittington, Wu and Finn, "Disentanglement via latent quantization" (NeurIPS 2023). With N[i, j] the
mutual information of latent i and factor j over the entropy of the factor: InfoM is the mean over active latents of
max_j N / sum_j N and InfoC the mean over factors of max_i N / sum_i N, both scaled so that a uniform row is 0; InfoE is
the share of a factor's entropy that a linear model of all latents explains, here on held-out rows.

Noise has no InfoM: a latent is active if it is more informative about some factor than permuted codes ever are. The
chance level is the InfoM that the active latents have when their rows are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Share, Size
from unbraid.metrics.arrays import Arrays, Bools, Column, Floats, Ints, check_arrays, standardised
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows
from unbraid.metrics.information import NEIGHBOURS, entropy, information_matrix

MARGIN = 1.5  # over the largest information of permuted codes


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
    permutations: Count = 20,
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
        permutations: of the rows, whose information an active latent must exceed; 0: no test and no chance level
        reference: as the authors: active by range (a twentieth of the largest), ten neighbours, InfoE in training
        train: number of leading rows that train the linear models, the others test; None draws two thirds
        units: the unit that each latent belongs to; None: each latent is a unit
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    settings: dict[str, Any] = {"estimator": estimator, "bins": bins, "neighbours": 10 if reference else NEIGHBOURS}
    matrix = _shares(arrays, columns, rng, settings)
    rows = split_rows(arrays.n, train, rng)
    each = parallel(lambda g: _shares(_permuted(arrays, g), columns, g, settings), rng.spawn(permutations), jobs)
    shuffled = np.array(each).reshape(permutations, *matrix.shape)
    informative = _wide_range(arrays) if reference else (matrix.max(1) >= active) & _beyond_chance(matrix, shuffled)
    alive = arrays.alive & informative
    explicit = _explicitness(arrays, rows, reference, jobs)
    params = {"estimator": estimator, "active": "range" if reference else active, "permutations": permutations}
    found = _score(matrix, alive, explicit, arrays, train=len(rows[0]), reference=reference, **params)
    return _with_chance(found, shuffled[:, alive])


def _shares(
    arrays: Arrays, columns: tuple[Column, ...], rng: np.random.Generator, settings: dict[str, Any]
) -> Floats:  # [units, k]
    """Mutual information as a share of each factor's entropy."""
    entropies = np.array([entropy(column) for column in columns])
    return np.asarray(information_matrix(arrays, columns, rng=rng, **settings) / entropies)


def _explicitness(arrays: Arrays, rows: tuple[Ints, Ints], reference: bool, jobs: int) -> list[float]:
    """InfoE of each factor."""
    explain = _explained_in_training if reference else _explained
    with no_convergence_warnings():
        return parallel(lambda column: explain(arrays.codes, column, rows), arrays.factors, jobs)


def _permuted(arrays: Arrays, rng: np.random.Generator) -> Arrays:
    return replace(arrays, codes=rng.permutation(arrays.codes))


def _score(matrix: Floats, alive: Bools, explicit: list[float], arrays: Arrays, **params: Any) -> Score:
    notes = []
    parts: dict[str, Any] = {"info_m": None, "info_c": None, "info_e": float(np.mean(explicit))}
    if not alive.any():
        notes.append("no latent is informative enough about any factor to be active")
    elif matrix.shape[1] < 2:
        notes.append("InfoM needs at least two factors that vary")
    else:
        parts["info_m"] = float(_concentration(matrix[alive]).mean())
    if 0 < alive.sum() < len(alive):
        notes.append(f"{(~alive).sum()} of {len(alive)} latents are not active and are left out")
    if alive.sum() > 1:
        parts["info_c"] = float(_concentration(matrix[alive].T).mean())
    parts |= {"info_e_per_factor": explicit, "active": int(alive.sum()), "active_latents": np.flatnonzero(alive)}
    value = float("nan") if parts["info_m"] is None else parts["info_m"]
    return arrays.score(value, parts | {"matrix": matrix}, notes, **params)


def _with_chance(found: Score, shuffled: Floats) -> Score:  # [permutations, active latents, k]
    """The score with its chance level: the mean InfoM of the active latents over permutations, and its spread."""
    if not len(shuffled) or not np.isfinite(found.value):
        return found
    chance = [float(_concentration(one).mean()) for one in shuffled]
    spread = {"shuffles": len(chance), "chance_spread": float(np.std(chance, ddof=1)) if len(chance) > 1 else None}
    return replace(found, null=float(np.mean(chance)), params=found.params | spread)


def _beyond_chance(matrix: Floats, shuffled: Floats) -> Bools:  # [units, k], [permutations, units, k] -> [units]
    """Which units have, with some factor, far more information than any unit has in any permutation.

    Informations are taken in units of each factor's spread over permutations. Noise latents have the largest of all
    values once in (permutations + 1) times; the margin makes that rare.
    """
    if not len(shuffled):
        return np.ones(len(matrix), np.bool_)
    spread = np.maximum(np.sqrt((shuffled**2).mean((0, 1))), np.finfo(float).tiny)
    return np.asarray((matrix / spread > MARGIN * (shuffled / spread).max()).any(1))


def _concentration(matrix: Floats) -> Floats:  # [a, b] -> [a]
    """The largest share of each row, scaled to be 0 for a uniform row and 1 for a single entry; 0 for a row of 0."""
    shares = matrix.max(1) / np.maximum(matrix.sum(1), np.finfo(float).tiny)
    even = 1 / matrix.shape[1]
    return np.asarray(np.clip((shares - even) / (1 - even), 0, 1))


def _wide_range(arrays: Arrays) -> Bools:
    ranges = np.array([np.ptp(arrays.codes[:, unit], 0).max() for unit in arrays.units])
    return np.asarray(ranges > ranges.max() / 20)


def _explained(codes: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    """The share of log loss, or of variance, that a linear model explains on the test rows; not below 0."""
    from sklearn.linear_model import LogisticRegression

    train, test = rows
    scaled = standardised(codes, train)
    if column.continuous:
        return _linear(scaled, column, train, test)
    seen, y = np.unique(column.values[train], return_inverse=True)
    test = test[np.isin(column.values[test], seen)]
    if len(seen) < 2 or not len(test):
        return 0.0
    right = np.searchsorted(seen, column.values[test])
    model = LogisticRegression(C=1e4, solver="lbfgs", tol=1e-4, max_iter=300).fit(scaled[train], y)
    probability = model.predict_proba(scaled[test])[np.arange(len(test)), right]
    prior = (np.bincount(y) / len(y))[right]
    return max(1 - float(np.log(np.maximum(probability, 1e-15)).mean() / np.log(prior).mean()), 0.0)


def _explained_in_training(codes: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    """The authors' InfoE: classes are balanced, so that a model of nothing predicts all values alike."""
    from sklearn.linear_model import LogisticRegression

    train = rows[0]
    scaled = standardised(codes, train)
    if column.continuous:
        return _linear(scaled, column, train, train)
    seen, y = np.unique(column.values[train], return_inverse=True)
    if len(seen) < 2:
        return 0.0
    model = LogisticRegression(C=np.inf, solver="lbfgs", tol=1e-4, max_iter=100, class_weight="balanced")
    probability = model.fit(scaled[train], y).predict_proba(scaled[train])[np.arange(len(y)), y]
    return 1 + float(np.log(np.maximum(probability, np.finfo(float).eps)).mean() / np.log(len(seen)))


def _linear(scaled: Floats, column: Column, train: Ints, test: Ints) -> float:
    from sklearn.linear_model import LinearRegression

    fitted = LinearRegression().fit(scaled[train], column.values[train])
    return max(float(fitted.score(scaled[test], column.values[test])), 0.0)
