"""Mutual information between latents: the mean over pairs, in nats. Needs no factors.

Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (ICML
2019): each latent in equal-width bins; 0 for independent latents, apart from the bias of the histogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.contract import Codes, Score, metric
from unbraid.metrics.information import contingency, discretise, table_information


@metric
def mutual_info_score(
    codes: Codes,
    rng: np.random.Generator,
    *,
    bins: Size = 20,
    estimator: Literal["equal", "quantile"] = "equal",
    units: Sequence[int] | None = None,
) -> Score:
    """The mean mutual information of two latents.

    Args:
        bins: bins for each latent; k-means clusters for a unit of several latents
        estimator: equal-width or quantile bins
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, None, units)
    params: dict[str, Any] = {"bins": bins, "estimator": estimator, "range": (0.0, float("inf"))}
    if len(arrays.units) < 2:
        return arrays.undefined("mutual information between latents needs at least two latents", **params)
    cells = discretise(arrays, estimator=estimator, bins=bins, rng=rng)
    matrix = np.zeros((len(cells), len(cells)))
    for i, j in combinations(range(len(cells)), 2):
        matrix[i, j] = matrix[j, i] = table_information(contingency(cells[i], cells[j]))
    pairs = len(cells) * (len(cells) - 1)
    note = f"chance alone gives about {(bins - 1) ** 2 / (2 * arrays.n):.3f} nats at {arrays.n} samples"
    notes = [note] if (bins - 1) ** 2 / (2 * arrays.n) > 0.05 else []
    return arrays.score(matrix.sum() / pairs, {"matrix": matrix}, notes, **params)
