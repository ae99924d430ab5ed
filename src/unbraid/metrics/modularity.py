"""Modularity: whether each latent is informative about one factor only.

Ridgeway and Mozer, "Learning deep disentangled embeddings with the F-statistic loss" (NeurIPS 2018). With m[k] the
mutual information of a latent with factor k and t the largest, its modularity is 1 - sum of the other m[k]^2 over
t^2 (K - 1). The value is the mean over all latents, a constant one counting 0; `active` is the mean over those that
have more information about some factor than chance explains, so that noise latents do not change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.stats import chi2

from unbraid.config import Size
from unbraid.metrics.arrays import Bools, Floats, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.information import contingency, discretise, histogram_warnings, table_information


@metric
def modularity(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile"] = "equal",
    factor_bins: Size = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """How far the information in each latent concerns a single factor.

    Args:
        bins: bins for each latent; k-means clusters for a unit of several latents
        estimator: equal-width or quantile bins
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    params: dict[str, Any] = {"bins": bins, "estimator": estimator, "factor_bins": factor_bins}
    if len(arrays.factors) < 2:
        return arrays.undefined("modularity needs at least two factors that vary", **params)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    cells = discretise(arrays, estimator=estimator, bins=bins, rng=rng)
    tables = [[contingency(cell, column) for column in columns] for cell in cells]
    matrix = np.array([[table_information(table) for table in row] for row in tables])  # [units, k]
    sizes = np.array(
        [[(np.array(table.shape) - 1 - _empty_rows_and_columns(table)).prod() for table in row] for row in tables]
    )
    active = arrays.alive & _beyond_chance(matrix, sizes, arrays.n)
    each = np.where(arrays.alive, _modularity(matrix), 0.0)
    notes = histogram_warnings(arrays, columns, estimator=estimator, bins=bins)
    if not active.all():
        over = f"the mean over the others is {each[active].mean():.3f}" if active.any() else "there are no others"
        notes.append(
            f"{(~active).sum()} of {len(active)} latents are not informative about any factor beyond chance: {over}"
        )
    parts: dict[str, Any] = {"all": float(each.mean()), "active": float(each[active].mean()) if active.any() else None}
    parts |= {"active_latents": np.flatnonzero(active), "per_latent": each, "mutual_information": matrix}
    return arrays.score(each.mean(), parts, notes, **params)


def _modularity(matrix: Floats) -> Floats:  # [units, k] -> [units]
    squares = matrix**2
    top = np.maximum(squares.max(1), np.finfo(float).tiny)
    return np.asarray(1 - (squares.sum(1) - squares.max(1)) / (top * (matrix.shape[1] - 1)))


def _empty_rows_and_columns(table: Floats) -> Floats:
    return np.array([(table.sum(1) == 0).sum(), (table.sum(0) == 0).sum()])


def _beyond_chance(matrix: Floats, freedom: Floats, n: int) -> Bools:  # [units, k] -> [units]
    """Which units pass the G-test at 1/1000 for all pairs together and have twice the information due to chance."""
    limit = np.maximum(chi2.isf(1e-3 / matrix.size, np.maximum(freedom, 1)), 2 * freedom)
    return np.asarray((2 * n * matrix > limit).any(1))
