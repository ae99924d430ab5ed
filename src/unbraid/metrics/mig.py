"""Mutual information gap between the best and the second best latent of each factor.

Chen, Li, Grosse and Duvenaud, "Isolating sources of disentanglement in VAEs" (NeurIPS 2018), on the codes themselves
and with equal-width bins as in Locatello et al. (ICML 2019): the mean over factors of (I_1 - I_2) / H(factor).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import check_arrays, gap_to_second
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.information import entropy, histogram_warnings, information_matrix


@metric
def mig(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile", "knn"] = "equal",
    factor_bins: Size = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """The gap between the two latents most informative about a factor, as a share of its entropy.

    Args:
        bins: bins for each latent; k-means clusters for a unit of several latents
        estimator: equal-width bins, quantile bins, or nearest neighbours without bins
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    matrix = information_matrix(arrays, columns, estimator=estimator, bins=bins, rng=rng)  # [units, k]
    share = matrix / np.array([entropy(column) for column in columns])
    gaps = gap_to_second(share)
    notes = histogram_warnings(arrays, columns, estimator=estimator, bins=bins)
    if len(matrix) == 1:
        notes.append("there is only one latent: its gap is its whole mutual information")
    parts = {"per_factor": gaps, "best_latent": share.argmax(0), "mutual_information": matrix}
    return arrays.score(gaps.mean(), parts, notes, bins=bins, estimator=estimator, factor_bins=factor_bins)
