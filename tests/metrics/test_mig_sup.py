"""MIG-sup of small tables, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import grid, rng
from unbraid.metrics.mig_sup import mig_sup


def test_the_gap_is_between_the_two_factors_of_a_latent() -> None:
    """Latent 0 is the second factor, latent 1 the third and half of the first, latent 2 is constant."""
    factors = grid(20, (4, 3, 5))
    both = 2 * factors[:, 2] + factors[:, 0] // 2
    codes = np.stack([factors[:, 1], both, np.full(len(factors), 2)], 1).astype(float)
    found = mig_sup(codes, factors, rng(), bins=30)
    nats = np.array([[0, log(3), 0], [log(2), 0, log(5)], [0, 0, 0]])
    assert found.parts["mutual_information"] == pytest.approx(nats, abs=1e-12)
    assert found.parts["per_latent"] == pytest.approx([1, 0.5, 0], abs=1e-12)
    assert found.parts["best_factor"][:2] == [1, 2]
    assert found.value == pytest.approx(0.5, abs=1e-12) and found.parts["varying"] == pytest.approx(0.75, abs=1e-12)
    assert found.warnings[-1] == "1 of 3 latents are constant and count 0"
    assert found.params == {"bins": 30, "estimator": "equal", "factor_bins": 20, "factors": [0, 1, 2]}


def test_what_cannot_be_compared_is_reported() -> None:
    factors = grid(60, (4, 2))
    whole = mig_sup(factors * 1.0, factors, rng())
    assert whole.value == pytest.approx(1) and whole.warnings == () and whole.parts["varying"] == pytest.approx(1)
    alone = mig_sup(factors[:, :1] * 1.0, factors[:, :1], rng(), bins=2, estimator="quantile")
    assert alone.value == pytest.approx(0.5)
    assert [text.partition(":")[0] for text in alone.warnings] == [
        "factor 0 has 4 values and a latent 2 bins",
        "there is only one factor",
    ]
    dead = mig_sup(np.ones((480, 2)), factors, rng())
    assert dead.value == pytest.approx(0, abs=1e-12) and dead.parts["varying"] is None
    assert dead.warnings == ("2 of 2 latents are constant and count 0",)


def test_a_continuous_factor_is_cut_into_as_many_bins_as_are_asked_for() -> None:
    factors = (np.arange(200) + 0.5)[:, None]
    found = mig_sup(factors, factors, rng(), bins=2, factor_bins=4)
    assert found.parts["mutual_information"] == [pytest.approx([log(2)], abs=1e-12)]
    assert found.value == pytest.approx(0.5) and found.params["factor_bins"] == 4
