"""JEMMIG: joint entropy minus mutual information gap, as a share of its largest value, so that 1 is best.

Do and Tran, "Theory and evaluation metrics for learning disentangled representations" (ICLR 2020). With z_1 and z_2 the
latents that are most and second most informative about factor v_k:

    JEMMIG_k = H(z_1, v_k) - I(z_1; v_k) + I(z_2; v_k)
    value    = 1/K sum_k (1 - JEMMIG_k / (H(v_k) + log bins))

Beyond MIG, the joint entropy punishes what z_1 holds besides v_k, be it another factor or noise. JEMMIG_k is 0 for a
latent that is the factor, and at most H(v_k) + log bins; the second line is the paper's normalisation, under which
higher is better. `per_factor` has the normalised scores and `jemmig` the first line in nats, where lower is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import check_arrays, gap_to_second
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.information import contingency, discretise, entropy, histogram_warnings, table_information


@metric
def jemmig(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile"] = "equal",
    factor_bins: Size = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """How far each factor lies in a latent of its own that holds nothing else.

    Args:
        bins: bins for each latent; k-means clusters for a unit of several latents
        estimator: equal-width or quantile bins
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns = tuple(factor.binned(factor_bins) for factor in arrays.factors)
    cells = discretise(arrays, estimator=estimator, bins=bins, rng=rng)
    matrix = np.array([[table_information(contingency(cell, column)) for column in columns] for cell in cells])
    best = matrix.argmax(0)
    entropies = np.array([entropy(column) for column in columns])
    of_best = np.array([entropy(cells[i]) for i in best])
    joint = of_best + entropies - matrix.max(0)  # H(z_1, v_k)
    nats = joint - gap_to_second(matrix)
    each = np.clip(1 - nats / (entropies + np.log(bins)), 0, 1)
    notes = histogram_warnings(arrays, columns, estimator=estimator, bins=bins)
    if len(matrix) == 1:
        notes.append("there is only one latent: its gap is its whole mutual information")
    if not arrays.alive.any():
        notes.append("all latents are constant: they have no joint entropy to be punished for, and score above noise")
    parts: dict[str, Any] = {"per_factor": each, "jemmig": nats, "best_latent": best, "mutual_information": matrix}
    return arrays.score(each.mean(), parts, notes, bins=bins, estimator=estimator, factor_bins=factor_bins)
