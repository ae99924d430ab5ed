"""DCIMIG of latents whose informations are known, and what it says of them."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import grid, perfect, rng
from unbraid.metrics.dcimig import dcimig

FACTORS = grid(40, (4, 3))
FIRST, SECOND = FACTORS.T.astype(float)


def test_latents_by_the_factor_they_know_best() -> None:
    """Gaps: both digits log 4 - log 3, half of the first log 2, the first log 4, nothing 0; none is the second's."""
    codes = np.stack([3 * FIRST + SECOND, FIRST > 1, FIRST, 0 * FIRST, SECOND > 0], 1)
    third = log(3) - 2 / 3 * log(2)
    found = dcimig(codes, FACTORS, rng())
    assert found.parts["per_latent"] == pytest.approx([log(4 / 3), log(2), log(4), 0, third], abs=1e-9)
    assert found.parts["best_factor"][:3] == [0, 0, 0] and found.parts["best_factor"][4] == 1
    assert found.parts["best_latent"] == [2, 4]
    assert found.parts["per_factor"] == pytest.approx([1, third / log(3)], abs=1e-9)
    assert found.value == pytest.approx((log(4) + third) / log(12), abs=1e-9)
    expected = [[log(4), log(3)], [log(2), 0], [log(4), 0], [0, 0], [0, third]]
    assert np.array(found.parts["mutual_information"]) == pytest.approx(np.array(expected), abs=1e-9)
    assert found.params == {"bins": 20, "estimator": "equal", "factor_bins": 20, "factors": [0, 1]}
    assert found.warnings == ()


def test_what_neighbours_estimate_above_the_entropy_is_cut() -> None:
    codes = perfect(grid(3, (4, 3)))
    found = dcimig(codes, grid(3, (4, 3)), rng(), estimator="knn")
    assert found.value == 1 and min(found.parts["per_factor"]) > 1 and found.params["estimator"] == "knn"


def test_a_single_factor_and_few_rows_are_told() -> None:
    found = dcimig(FIRST[:100, None], FIRST[:100], rng(), bins=10)
    assert found.warnings == (
        "100 samples are few for 10 bins by 4 values of factor 0: chance alone gives about 0.14 of its 1.39 nats",
        "there is only one factor: the gap of a latent is its whole mutual information",
    )
    assert found.params["bins"] == 10


def test_continuous_factors_are_cut_and_units_are_clustered() -> None:
    numbers = FACTORS + np.array([0.0, 0.5])  # the second is continuous: two bins are 0 1 against 2, or 0 against 1 2
    found = dcimig(np.stack([FIRST, SECOND > 0], 1), numbers, rng(), factor_bins=2)
    assert found.value == pytest.approx(1) and found.params["factor_bins"] == 2
    both = np.stack([FIRST, FIRST % 2, SECOND], 1)
    together = dcimig(both, FACTORS, rng(), bins=12, units=[0, 0, 1])
    assert together.parts["per_latent"] == pytest.approx([log(4), log(3)], abs=1e-9)
