"""The mutual information gap of small tables, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, rng
from unbraid.metrics.mig import mig


def test_the_gap_is_a_share_of_the_entropy_of_each_factor() -> None:
    """Latent 1 is the second factor and half of the first, latent 2 the first: log 4 less log 2, and all of log 3."""
    factors = grid(40, (4, 3))
    codes = np.stack([np.ones(480), 2 * factors[:, 1] + factors[:, 0] // 2, 1 + factors[:, 0]], 1)
    found = mig(codes, factors, rng())
    wanted = np.array([[0, 0], [log(2), log(3)], [log(4), 0]])
    assert np.array(found.parts["mutual_information"]) == pytest.approx(wanted, abs=1e-12)
    assert found.parts["per_factor"] == pytest.approx([0.5, 1], abs=1e-12)
    assert found.value == pytest.approx(0.75, abs=1e-12) and found.parts["best_latent"] == [2, 1]
    assert found.params == {"bins": 20, "estimator": "equal", "factor_bins": 20, "factors": [0, 1]}
    assert found.warnings == ()


def test_bins_too_few_and_a_latent_alone_are_reported() -> None:
    """Two bins of four values know log 2 of log 4; a third latent that is a copy leaves no gap."""
    factors = grid(50, (4, 2))[:, :1]
    one = mig(factors * 1.0, factors, rng(), bins=2)
    assert one.value == pytest.approx(0.5, abs=1e-12)
    few = "factor 0 has 4 values and a latent 2 bins: even a perfect latent has at most 50% of its entropy"
    assert one.warnings == (few, "there is only one latent: its gap is its whole mutual information")
    two = mig(np.repeat(factors, 2, 1) * 1.0, factors, rng(), bins=2)
    assert two.value == pytest.approx(0, abs=1e-12) and two.warnings == (few,)


def test_a_continuous_factor_is_cut_into_as_many_bins_as_are_asked_for() -> None:
    """A latent that is the factor, both in four bins of 50 rows: all of log 4; in two and four: half of it."""
    factors = (np.arange(200) + 0.5)[:, None]
    codes = np.concatenate([factors, noise(200, 1)], 1)
    for factor_bins, share in ((4, 1.0), (2, 1.0), (16, 0.5)):
        found = mig(codes, factors, rng(), bins=4, factor_bins=factor_bins, estimator="quantile")
        assert found.parts["mutual_information"][0] == pytest.approx([share * log(factor_bins)], abs=2e-2)
        assert (found.params["bins"], found.params["factor_bins"]) == (4, factor_bins)
        assert found.params["estimator"] == "quantile"
