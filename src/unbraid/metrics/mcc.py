"""Mean correlation coefficient: latents matched one to one with factors so that they correlate most.

Hyvärinen and Morioka, "Unsupervised feature extraction by time-contrastive learning and nonlinear ICA" (NeurIPS 2016):
the mean absolute correlation under the best assignment. A factor without a latent counts 0. Labels enter as numbers, so
a factor whose values have no order has no meaningful correlation.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from unbraid.metrics.arrays import Arrays, Floats, check_arrays, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric


@metric
def mcc(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    correlation: Literal["pearson", "spearman"] = "pearson",
) -> Score:
    """The mean absolute correlation of factors with the latents that are matched to them.

    Args:
        correlation: of values (Pearson) or of ranks (Spearman)
    """
    arrays = check_arrays(codes, factors)
    matrix = correlations(arrays, ranks=correlation == "spearman")  # [d, k]
    matched = best_match(matrix)
    each = [0.0 if latent is None else float(matrix[latent, k]) for k, latent in enumerate(matched)]
    notes = []
    if missing := matched.count(None):
        notes.append(f"{missing} of {len(matched)} factors have no latent to match and count 0")
    parts = {"per_factor": each, "matched_latent": matched, "matrix": matrix}
    return arrays.score(np.mean(each), parts, notes, correlation=correlation)


def correlations(arrays: Arrays, *, ranks: bool = False) -> Floats:  # [d, k]
    """Absolute correlations of latents with factors; 0 for constant latents."""
    codes, factors = arrays.codes, np.stack([column.values for column in arrays.factors], 1).astype(np.float64)
    varying = varies(codes)
    if ranks:
        codes, factors = rankdata(codes, axis=0), rankdata(factors, axis=0)
    return np.abs(np.where(varying, _unit(codes), 0.0).T @ _unit(factors))


def best_match(matrix: Floats) -> list[int | None]:  # [d, k]
    """The latent of each factor under the one-to-one matching with the largest sum."""
    found: list[int | None] = [None] * matrix.shape[1]
    for latent, factor in zip(*linear_sum_assignment(matrix, maximize=True), strict=True):
        found[factor] = int(latent)
    return found


def _unit(x: Floats) -> Floats:
    centred = x - x.mean(0, dtype=np.float64)
    lengths = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(lengths > 0, lengths, 1.0))
