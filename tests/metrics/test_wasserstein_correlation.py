"""The Wasserstein correlation of covariances that are known exactly."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy.linalg import sqrtm

from tests.metrics.worlds import Array, noise, rng
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation


def exact(covariance: Array, n: int = 50) -> Array:
    """Samples whose covariance is exactly this."""
    x = noise(n, len(covariance), 2)
    x -= x.mean(0)
    white = x @ np.linalg.inv(np.linalg.cholesky(np.cov(x, rowvar=False))).T
    return np.asarray(white @ np.linalg.cholesky(covariance).T)


def test_the_distance_of_two_normals_by_a_matrix_root() -> None:
    """Bures: |C|_tr + |D|_tr - 2 tr (C^(1/2) D C^(1/2))^(1/2), the other way round than it is computed."""
    c = np.array([[4.0, 1.0, 0.5], [1.0, 2.0, -0.6], [0.5, -0.6, 1.0]])
    root = np.real(sqrtm(c))
    distance = np.trace(c) + 7 - 2 * np.trace(np.real(sqrtm(root @ np.diag(np.diag(c)) @ root)))
    found = wasserstein_correlation(exact(c), rng())
    assert found.value == pytest.approx(distance, abs=1e-9)
    assert found.parts == pytest.approx({"normalised": distance / 7, "variance": 7}, abs=1e-9)
    assert (found.params, found.n, found.warnings) == ({"range": (0.0, inf)}, 50, ())


def test_single_precision_is_computed_in_double() -> None:
    codes = (exact(np.array([[1.0, 0.3], [0.3, 2.0]])) + 100).astype(np.float32)
    wanted = wasserstein_correlation(codes.astype(np.float64), rng()).value
    assert wasserstein_correlation(codes, rng()).value == wanted


def test_copies_are_all_dependence_and_independent_latents_none() -> None:
    """Of m equal latents of variance v: 2 m v - 2 sqrt(m) v, though all eigenvalues but one are 0 up to rounding."""
    x = exact(np.eye(2) * 3)
    for m in range(2, 9):
        copies = wasserstein_correlation(np.repeat(x[:, :1], m, 1), rng())
        assert copies.value == pytest.approx(6 * m - 6 * m**0.5, abs=1e-5)
    for turn in range(20):  # rounding alone must not make it negative, nor a root of less than 0
        again = wasserstein_correlation(x * (1 + turn), rng())
        assert 0 <= again.value < 1e-9 and again.parts["normalised"] < 1e-12


def test_it_needs_two_latents_of_which_one_varies() -> None:
    x = noise(30, 2)
    for codes in (x[:, :1], np.ones((30, 2))):
        found = wasserstein_correlation(codes, rng())
        assert np.isnan(found.value) and found.params == {"range": (0.0, inf)}
        assert found.warnings == ("Wasserstein correlation needs two latents, one of which varies",)
    half = wasserstein_correlation(x * [1, 0], rng())
    assert half.value == pytest.approx(0, abs=1e-12) and half.parts["variance"] == pytest.approx(x[:, 0].var(ddof=1))
