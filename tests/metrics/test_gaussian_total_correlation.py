"""Total correlation of latents whose correlations are known."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import rng
from unbraid.metrics.gaussian_total_correlation import gaussian_total_correlation

X, Y, Z = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], float)  # uncorrelated, of variance 1


def test_three_latents_of_which_two_correlate() -> None:
    """The correlation is 0.6, so that the determinant is 1 - 0.36."""
    codes = np.stack([X, np.full(4, 9.0), 5 * (0.6 * X + 0.8 * Y) - 3, Z], 1)
    found = gaussian_total_correlation(codes, rng())
    assert found.value == pytest.approx(-log(0.64) / 2, rel=1e-12) and found.warnings == ()
    assert found.params == {"latents": [0, 2, 3], "range": (0.0, float("inf"))} and found.n == 4


def test_a_latent_that_nearly_is_another_has_much_and_one_that_is_has_infinitely_much() -> None:
    """With noise of size e the correlation is (1 + e^2)^-1/2, and the smaller eigenvalue e^2 / 2."""
    near = gaussian_total_correlation(np.stack([X, X + 1e-4 * Y], 1), rng())
    assert near.value == pytest.approx(log(1e4), abs=1e-6) and not near.warnings
    same = gaussian_total_correlation(np.stack([X, X + 1e-5 * Y], 1), rng())
    assert same.value == float("inf") and same.params["latents"] == [0, 1]
    assert same.warnings == ("some latents are linear functions of others: the total correlation is infinite",)


def test_one_latent_that_varies_has_no_total_correlation() -> None:
    found = gaussian_total_correlation(np.stack([np.ones(4), X], 1), rng())
    assert np.isnan(found.value) and found.params["latents"] == [1]
    assert found.warnings == ("total correlation needs at least two latents that vary",)
