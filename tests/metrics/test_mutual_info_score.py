"""Mutual information between latents, by hand."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from tests.metrics.worlds import grid, rng
from unbraid.metrics.mutual_info_score import mutual_info_score


def test_the_mean_is_over_pairs_of_different_latents() -> None:
    """The third latent is the first and half of the second: 0, log 4 and log 2 nats, with three samples in a cell."""
    a, b = grid(60, (4, 4)).T
    found = mutual_info_score(np.stack([a, b, 2 * a + b // 2], 1) * 1.0, rng(), bins=8)
    wanted = np.array([[0, 0, log(4)], [0, 0, log(2)], [log(4), log(2), 0]])
    assert np.array(found.parts["matrix"]) == pytest.approx(wanted, abs=1e-12)
    assert found.value == pytest.approx((log(4) + log(2)) / 3, abs=1e-12)
    assert found.params == {"bins": 8, "estimator": "equal", "range": (0.0, inf)}
    assert (found.n, found.warnings) == (960, ())


def test_chance_is_reported_where_it_is_more_than_a_twentieth_of_a_nat() -> None:
    """(bins - 1)^2 / 2n: at 5 bins 16 / 320 is the limit, one sample less is above it."""
    codes = np.stack([np.arange(160), np.arange(160) % 7], 1) * 1.0
    assert mutual_info_score(codes, rng(), bins=5).warnings == ()
    found = mutual_info_score(codes[:80], rng(), bins=5)
    assert found.warnings == ("chance alone gives about 0.100 nats at 80 samples",)
    assert mutual_info_score(codes[:159], rng(), bins=5).warnings == (
        "chance alone gives about 0.050 nats at 159 samples",
    )


def test_quantile_bins_and_units_are_those_asked_for() -> None:
    """The exponential of a ladder has all its rungs in quantile bins, and most of them in one bin of equal width."""
    ladder = np.arange(400) % 4
    codes = np.stack([10.0**ladder, ladder], 1)
    found = mutual_info_score(codes, rng(), bins=4, estimator="quantile")
    assert found.value == pytest.approx(log(4), abs=1e-12) and found.params["estimator"] == "quantile"
    assert mutual_info_score(codes, rng(), bins=4).value < log(4) - 0.3
    circle = np.stack([np.cos(ladder * np.pi / 2), np.sin(ladder * np.pi / 2), ladder], 1)
    units = mutual_info_score(circle, rng(), bins=4, units=[0, 0, 1])
    assert units.value == pytest.approx(log(4), abs=1e-9) and np.shape(units.parts["matrix"]) == (2, 2)


def test_one_latent_has_no_pair() -> None:
    found = mutual_info_score(np.arange(30.0)[:, None], rng(), bins=3)
    assert np.isnan(found.value)
    assert found.warnings == ("mutual information between latents needs at least two latents",)
    assert found.params == {"bins": 3, "estimator": "equal", "range": (0.0, inf)}
