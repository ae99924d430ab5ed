"""Gaussian total correlation: dependence of the latents, taken as jointly normal. Needs no factors.

Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (ICML
2019): half of (sum of log variances - log determinant of the covariance), in nats; 0 if no two latents correlate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.contract import Codes, Score, metric

SINGULAR = 1e-10  # a correlation matrix with a smaller eigenvalue is singular in double precision


@metric
def gaussian_total_correlation(codes: Codes, rng: np.random.Generator) -> Score:
    """Total correlation of a normal distribution with the covariance of the codes; constant latents are left out."""
    arrays = check_arrays(codes, None)
    alive = np.flatnonzero(arrays.alive)
    params: dict[str, Any] = {"latents": alive.tolist(), "range": (0.0, float("inf"))}
    if len(alive) < 2:
        return arrays.undefined("total correlation needs at least two latents that vary", **params)
    correlation = np.corrcoef(arrays.codes[:, alive].astype(np.float64), rowvar=False)
    eigenvalues = np.linalg.eigvalsh(correlation)
    if eigenvalues[0] < SINGULAR:
        note = "some latents are linear functions of others: the total correlation is infinite"
        return arrays.score(float("inf"), {}, [note], **params)
    return arrays.score(-np.log(eigenvalues).sum() / 2, {}, **params)
