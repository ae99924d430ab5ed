"""DCIMIG: for each factor the best latent that is informative about this factor alone.

Sepliarskaia, Kiseleva and de Rijke, "How to not measure disentanglement" (2019, also "Evaluating disentangled
representations"; the score is also called 3CharM). The gap of a latent is the information about its best factor less
that about its second best, and belongs to its best factor k(i):

    R_i    = I(z_i; v_k(i)) - max over k != k(i) of I(z_i; v_k)
    S_k    = max over latents i with k(i) = k of R_i, 0 if there is none
    DCIMIG = sum_k S_k / sum_k H(v_k)

1 if and only if each factor has a latent that knows it entirely and nothing else; copies of a latent do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import check_arrays, gap_to_second
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.information import entropy, histogram_warnings, information_matrix


@metric
def dcimig(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile", "knn"] = "equal",
    factor_bins: Size = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """The information that single latents have about one factor alone, as a share of all factors' entropy.

    Args:
        bins: bins for each latent; k-means clusters for a unit of several latents
        estimator: equal-width bins, quantile bins, or nearest neighbours without bins
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    matrix = information_matrix(arrays, columns, estimator=estimator, bins=bins, rng=rng)  # [units, k]
    gaps, owner = gap_to_second(matrix.T), matrix.argmax(1)
    owned = np.where(owner[:, None] == np.arange(len(columns)), gaps[:, None], 0.0)  # [units, k]
    entropies = np.array([entropy(column) for column in columns])
    notes = histogram_warnings(arrays, columns, estimator=estimator, bins=bins)
    if len(columns) == 1:
        notes.append("there is only one factor: the gap of a latent is its whole mutual information")
    best = [int(owned[:, k].argmax()) if owned[:, k].any() else None for k in range(len(columns))]
    parts: dict[str, Any] = {"per_factor": owned.max(0) / entropies, "best_latent": best}
    parts |= {"per_latent": gaps, "best_factor": owner, "mutual_information": matrix}
    value = min(owned.max(0).sum() / entropies.sum(), 1.0)
    return arrays.score(value, parts, notes, bins=bins, estimator=estimator, factor_bins=factor_bins)
