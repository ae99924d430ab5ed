"""The mean correlation coefficient by trying every matching."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.metrics.worlds import rng
from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.mcc import best_match, correlations, mcc


def world() -> tuple[Any, Any]:
    """Three latents of few digits far from 0, one of them constant, of three factors, the last a kind of noise."""
    draw = rng(1)
    factors = draw.integers(0, (5, 3, 4), (60, 3))
    noisy = factors[:, :2] @ [[-2.0, 0.3], [0.4, 1.5]] + draw.standard_normal((60, 2))
    return np.insert(noisy + 500, 1, 7.0, axis=1).astype(np.float32), factors


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_the_matching_is_the_best_of_all_and_a_constant_latent_counts_nothing(correlation: Any) -> None:
    codes, factors = world()
    each = np.zeros((3, 3))
    for i, k in ((0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2)):
        x, y = codes[:, i].astype(np.float64), factors[:, k]
        each[i, k] = abs(np.corrcoef(x, y)[0, 1] if correlation == "pearson" else spearmanr(x, y).statistic)
    best = max(permutations(range(3)), key=lambda way: sum(each[i, k] for k, i in enumerate(way)))
    found = mcc(codes, factors, rng(), correlation=correlation)
    assert np.array(found.parts["matrix"]) == pytest.approx(each, abs=1e-12)
    assert found.parts["matched_latent"] == list(best)
    assert found.parts["per_factor"] == pytest.approx([each[i, k] for k, i in enumerate(best)], abs=1e-12)
    assert found.value == pytest.approx(sum(found.parts["per_factor"]) / 3, abs=1e-12)
    assert (found.params["correlation"], found.warnings) == (correlation, ())


def test_factors_without_a_latent_count_0_and_are_reported() -> None:
    codes, factors = world()
    found = mcc(-codes[:, :1], factors, rng())
    matrix = correlations(check_arrays(codes, factors))
    (own,) = (k for k, latent in enumerate(found.parts["matched_latent"]) if latent == 0)
    assert own == matrix[0].argmax() == 0
    assert found.parts["per_factor"] == [pytest.approx(matrix[0, 0]), 0, 0]
    assert found.value == pytest.approx(matrix[0, 0] / 3)
    assert found.warnings == ("2 of 3 factors have no latent to match and count 0",)


def test_the_unit_of_a_latent_does_not_matter() -> None:
    codes, factors = world()
    values = [mcc(unit * codes.astype(np.float64), factors, rng()).value for unit in (1, 2.0**-20)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_a_sum_may_be_larger_without_the_largest() -> None:
    assert best_match(np.array([[0.9, 0.8], [0.8, 0.1], [0.0, 0.0]])) == [1, 0]
