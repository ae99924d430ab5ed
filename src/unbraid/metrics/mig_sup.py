"""MIG-sup: the gap between the best and the second best factor of each latent, the mirror image of MIG.

Li, Murkute, Gyawali and Wang, "Progressive learning and disentanglement of hierarchical representations" (ICLR 2020).
With N[i, k] = I(z_i; v_k) / H(v_k) and k(i) the factor with the largest N[i, k]:

    MIG-sup = 1/d sum_i (N[i, k(i)] - max over k != k(i) of N[i, k])

MIG punishes a factor that lies in two latents, MIG-sup a latent that holds two factors. The mean is over all d latents,
as in the paper, so that latents without information lower it; `varying` is the mean over latents that are not constant.
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
def mig_sup(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile", "knn"] = "equal",
    factor_bins: Size = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """The gap between the two factors that a latent is most informative about, as shares of their entropies.

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
    gaps = gap_to_second(share.T)
    notes = histogram_warnings(arrays, columns, estimator=estimator, bins=bins)
    if len(columns) == 1:
        notes.append("there is only one factor: the gap of a latent is its whole mutual information")
    if not arrays.alive.all():
        notes.append(f"{(~arrays.alive).sum()} of {len(gaps)} latents are constant and count 0")
    parts: dict[str, Any] = {"varying": float(gaps[arrays.alive].mean()) if arrays.alive.any() else None}
    parts |= {"per_latent": gaps, "best_factor": share.argmax(1), "mutual_information": matrix}
    return arrays.score(gaps.mean(), parts, notes, bins=bins, estimator=estimator, factor_bins=factor_bins)
