from __future__ import annotations

import math

import numpy as np
import pytest

from unbraid.metrics.linear_probe import explained_variance, probe_accuracy

N = 600


def test_r2_is_one_for_a_linear_image_and_zero_by_chance() -> None:
    rng = np.random.default_rng(1)
    s = rng.normal(size=(N, 3))
    found = explained_variance(s, s @ rng.normal(size=(3, 5)) + 7, rng)
    assert found.value == pytest.approx(1, abs=1e-4)
    assert found.null is not None
    assert found.null < 0.05


def test_the_probe_finds_what_a_least_squares_classifier_finds() -> None:
    """Two Gaussian classes at distance 2: no classifier does better than Phi(1), and this one gets there."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 6000)
    codes = rng.normal(size=(6000, 1)) * 3 + 6 * labels[:, None]
    assert probe_accuracy(codes, labels, rng).value == pytest.approx(0.5 * (1 + math.erf(1 / math.sqrt(2))), abs=0.02)


def test_a_latent_that_is_constant_up_to_rounding_is_not_probed() -> None:
    """As in all metrics: what is left of it must not be blown up to variance 1."""
    rng = np.random.default_rng(3)
    signal = rng.normal(size=(N, 1))
    sign = (signal[:, 0] > 0).astype(np.int64)
    assert explained_variance(1000 + 1e-5 * signal, signal, rng).value < 0.01
    assert probe_accuracy(1000 + 1e-5 * signal, sign, rng).value < 0.6
    assert probe_accuracy(1 + 1e-3 * signal, sign, rng).value > 0.95
