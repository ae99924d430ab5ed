"""Mutual information gap: how far the best latent of a factor is ahead of the second best.

Chen, Li, Grosse and Duvenaud, "Isolating sources of disentanglement in VAEs" (NeurIPS 2018), on the codes themselves
and with equal-width bins as in Locatello et al. (ICML 2019): the mean over factors of (I_1 - I_2) / H(factor).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.information import cautions, entropy, information_matrix
from unbraid.metrics.prepare import check, mean_of_best_gap


def mig(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile", "knn"] = "equal",
    factor_bins: int = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """The gap between the two latents that know most of a factor, as a share of its entropy.

    Args:
        bins: bins for each latent; cells for a unit of several latents
        estimator: equal-width bins, quantile bins, or no bins but nearest neighbours
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None makes each latent a unit
    """
    arrays = check(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    matrix = information_matrix(arrays, columns, estimator=estimator, bins=bins, rng=rng)  # [units, k]
    share = matrix / np.array([entropy(column) for column in columns])
    gaps = mean_of_best_gap(share)
    notes = cautions(arrays, columns, estimator=estimator, bins=bins)
    if len(matrix) == 1:
        notes.append("there is one latent only: its gap is taken to a latent that knows nothing")
    parts = {"per_factor": gaps, "best_latent": share.argmax(0), "mutual_information": matrix}
    return arrays.score(gaps.mean(), parts, notes, bins=bins, estimator=estimator, factor_bins=factor_bins)
