"""Gaussian Wasserstein correlation: the squared distance from the covariance of the codes to its diagonal.

Watanabe (1960) for the idea of total correlation, Locatello et al. (ICML 2019) for this form: the squared 2-Wasserstein
distance between N(0, C) and N(0, diag C), 2 tr C - 2 tr (D^(1/2) C D^(1/2))^(1/2) with D = diag C. Needs no factors.
"""

from __future__ import annotations

import numpy as np

from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.contract import Codes, Score, metric


@metric
def wasserstein_correlation(codes: Codes, rng: np.random.Generator) -> Score:
    """The squared distance, in squared units of the codes; the part `normalised` divides it by the total variance."""
    arrays = check_arrays(codes, None)
    infinite = (0.0, float("inf"))
    if arrays.codes.shape[1] < 2 or not arrays.alive.any():
        return arrays.undefined("Wasserstein correlation needs two latents, one of which varies", range=infinite)
    covariance = np.cov(arrays.codes.astype(np.float64), rowvar=False)
    scale = np.sqrt(np.diag(covariance))
    roots = np.sqrt(np.clip(np.linalg.eigvalsh(covariance * np.outer(scale, scale)), 0, None))
    total = float(np.trace(covariance))
    value = max(2 * total - 2 * float(roots.sum()), 0.0)
    return arrays.score(value, {"normalised": value / total, "variance": total}, range=infinite)
