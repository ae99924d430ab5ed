"""JEMMIG of latents whose entropies are known, and what it says of them."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import grid, rng
from unbraid.metrics.jemmig import jemmig

FACTORS = grid(40, (4, 3))
FIRST, SECOND = FACTORS.T.astype(float)
HALF = log(3) - 2 / 3 * log(2)  # the entropy of one third against two


def test_best_and_second_latents_and_their_entropies() -> None:
    """The first factor lies in two latents, wholly and by half; the second in one that tells 0 from 1 and 2."""
    codes = np.stack([FIRST > 1, FIRST, SECOND > 0], 1)
    found = jemmig(codes, FACTORS, rng(), bins=6)
    nats = [log(4) - log(4) + log(2), HALF + log(3) - HALF - HALF]
    assert found.parts["jemmig"] == pytest.approx(nats, abs=1e-9)
    each = [1 - nats[0] / (log(4) + log(6)), 1 - nats[1] / (log(3) + log(6))]
    assert found.parts["per_factor"] == pytest.approx(each, abs=1e-9)
    assert found.value == pytest.approx(sum(each) / 2, abs=1e-9)
    assert found.parts["best_latent"] == [1, 2]
    table = [[log(2), 0], [log(4), 0], [0, HALF]]
    assert np.array(found.parts["mutual_information"]) == pytest.approx(np.array(table), abs=1e-9)
    assert found.params == {"bins": 6, "estimator": "equal", "factor_bins": 20, "factors": [0, 1]}
    assert found.warnings == ()


def test_one_latent_that_holds_both_digits() -> None:
    """H(z, v) is log 12 for either factor."""
    found = jemmig((3 * FIRST + SECOND)[:, None], FACTORS, rng(), bins=12)
    assert found.parts["jemmig"] == pytest.approx([log(12) - log(4), log(12) - log(3)], abs=1e-9)
    assert found.warnings == ("there is only one latent: its gap is its whole mutual information",)


def test_latents_that_are_constant_are_told_only_if_all_are() -> None:
    told = "all latents are constant: they have no joint entropy to be punished for, and score above noise"
    assert jemmig(np.ones((480, 2)), FACTORS, rng()).warnings == (told,)
    assert jemmig(np.stack([FIRST, 0 * FIRST], 1), FACTORS, rng()).warnings == ()


def test_continuous_factors_are_cut_units_are_clustered_and_few_rows_are_told() -> None:
    numbers = FACTORS + np.array([0.0, 0.5])
    found = jemmig(np.stack([FIRST, SECOND > 0], 1), numbers, rng(), factor_bins=2)
    assert found.value == pytest.approx(1) and found.params["factor_bins"] == 2
    both = np.stack([FIRST, FIRST % 2, SECOND], 1)
    assert jemmig(both, FACTORS, rng(), bins=12, units=[0, 0, 1]).parts["jemmig"] == pytest.approx([0, 0], abs=1e-9)
    few = jemmig(np.stack([FIRST, SECOND], 1)[:96], FACTORS[:96], rng(), estimator="quantile")
    assert [text[:22] for text in few.warnings] == ["96 samples are few for"] * 2
    assert few.params["estimator"] == "quantile"
