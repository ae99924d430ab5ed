"""Mutual information by naive neighbours, by clusters that are known, and what is said of histograms."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from scipy.special import digamma

from tests.metrics.worlds import Array, noise, rng
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.information import (
    bin_labels,
    contingency,
    discretise,
    histogram_warnings,
    information_matrix,
    neighbour_information,
)

LABELS = np.array([0] * 14 + [1] * 9 + [2] * 3 + [3] + [4] * 2)  # one label has a single row, two have few


def naive_information(x: Array, labels: Array, k: int) -> float:
    """Ross, over pairs of rows: distances are the largest of the coordinates'."""
    rows = [i for i in range(len(x)) if (labels == labels[i]).sum() > 1]
    terms = []
    for i in rows:
        apart = {j: max(abs(x[i] - x[j])) for j in rows if j != i}
        own = sorted(apart[j] for j in apart if labels[j] == labels[i])
        least = min(k, len(own))
        near = 1 + sum(d < own[least - 1] for d in apart.values())
        terms.append(digamma(least) - digamma(len(own) + 1) - digamma(near))
    return max(float(digamma(len(rows)) + sum(terms) / len(terms)), 0.0)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("width", [1, 2])
def test_neighbours_by_loops_over_pairs(width: int, k: int) -> None:
    x = noise(len(LABELS), width) + 0.8 * LABELS[:, None]
    expected = naive_information(x, LABELS, k)
    assert neighbour_information(x, Column(LABELS, 6), rng(), k) == pytest.approx(expected, abs=1e-9)
    assert expected > 0.1


def test_three_neighbours_are_usual_and_information_is_not_below_zero() -> None:
    x = noise(len(LABELS), 1)
    assert neighbour_information(x + LABELS[:, None], Column(LABELS, 5), rng()) == pytest.approx(
        naive_information(x + LABELS[:, None], LABELS, 3), abs=1e-9
    )
    pairs = np.arange(30) % 2
    assert neighbour_information(np.arange(30.0)[:, None], Column(pairs, 2), rng()) == 0


def test_labels_of_single_rows_and_constant_latents_tell_nothing() -> None:
    assert neighbour_information(noise(4, 1), Column(np.arange(4), 4), rng()) == 0
    assert neighbour_information(np.full((4, 1), 2.0), Column(np.array([0, 0, 1, 1]), 2), rng()) == 0
    half = np.stack([np.full(20, 3.0), np.arange(20) // 10 * 5.0 + noise(20, 1)[:, 0]], 1)  # one of two varies
    assert neighbour_information(half, Column(np.arange(20) // 10, 2), rng()) > 0.5


def test_ties_are_broken_by_noise_that_is_far_below_any_distance() -> None:
    """Rows of a label lie on one point, two labels on the same: its neighbours are of either label."""
    labels = np.repeat([0, 1, 2], 40)
    apart = neighbour_information(labels[:, None] * 1e-6 + 0.5, Column(labels, 3), rng())
    assert apart == pytest.approx(digamma(120) - digamma(40), abs=1e-9)
    together = neighbour_information((labels[:, None] > 1) * 1.0, Column(labels, 3), rng())
    assert together == pytest.approx(log(3) - 2 / 3 * log(2), abs=0.15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_latents_of_a_unit_are_standardised_before_distances_are_taken(dtype: Any) -> None:
    labels = np.arange(40) % 4
    plain = (noise(40, 3) + labels[:, None]) / [1, 1, 2]
    codes = (plain * [1000, 0.01, 1] + [3000, 0, 7]).astype(dtype)
    arrays = check_arrays(np.concatenate([codes, np.ones((40, 1), dtype)], 1), labels, units=[0, 0, 1, 2])
    found = information_matrix(arrays, arrays.factors, estimator="knn", bins=1, rng=rng(), neighbours=4)
    scaled = (codes.astype(float) - codes.astype(float).mean(0)) / codes.astype(float).std(0)
    naive = [naive_information(scaled[:, :2], labels, 4), naive_information(scaled[:, 2:], labels, 4), 0]
    assert found[:, 0] == pytest.approx(naive, abs=1e-6) and found.shape == (3, 1)


def test_units_of_several_latents_are_clustered_in_units_of_their_spread() -> None:
    """Four corners of a long rectangle, and a latent that is constant beside them."""
    corners = np.array([[x, y, 5.0] for x in (0, 1000) for y in (0, 1) for _ in range(5)])
    arrays = check_arrays(np.concatenate([corners, noise(20, 1)], 1), np.arange(20) % 2, units=[0, 0, 0, 1])
    four, single = discretise(arrays, estimator="quantile", bins=4, rng=rng())
    names = four.values.reshape(4, 5)
    assert (names == names[:, :1]).all() and len(set(names[:, 0])) == 4 and four.size == 4
    assert np.bincount(single.values).tolist() == [5, 5, 5, 5]
    more = discretise(arrays, estimator="equal", bins=6, rng=rng())[0]  # there are but four points
    assert len(set(more.values.tolist())) == 4 and more.size == 6


def test_a_wide_latent_is_no_more_to_a_cluster_than_a_narrow_one() -> None:
    """Three latents of two values, far apart in units of their spread, beside even steps that are far wider."""
    codes = np.array([[50.0 * i, 0.1 * side, side, 3 - side] for side in (0, 1) for i in range(20)])
    (cells,) = discretise(check_arrays(codes, np.arange(40) % 2, units=[0] * 4), estimator="equal", bins=2, rng=rng())
    assert len(set(cells.values[:20])) == len(set(cells.values[20:])) == 1 and cells.values[0] != cells.values[39]


def test_bins_are_two_or_more_and_no_more_than_rows() -> None:
    arrays = check_arrays(noise(6, 1), np.arange(6) % 2)
    for bins in (2, 6):
        (cells,) = discretise(arrays, estimator="equal", bins=bins, rng=rng())
        assert cells.size == bins and cells.values.max() == bins - 1 and cells.values.min() == 0
    for bins in (1, 7):
        with pytest.raises(UserError, match=f"at least 2 and at most the 6 samples, not {bins}"):
            discretise(arrays, estimator="equal", bins=bins, rng=rng())


def test_labels_beyond_those_that_occur_have_rows_and_columns() -> None:
    table = contingency(Column(np.array([0, 2, 0]), 4), Column(np.array([1, 0, 1]), 3))
    assert table.tolist() == [[0, 2, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_bins_of_constants_and_of_values_on_an_edge() -> None:
    assert bin_labels(np.full(4, 3.0), "equal", 5).tolist() == [0] * 4
    assert bin_labels(np.full(4, 3.0), "quantile", 5).tolist() == [0] * 4
    assert bin_labels(np.array([0.0, 1, 2, 3, 4, 5, 6, 7]), "quantile", 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert bin_labels(np.array([0.0, 1, 2, 3, 4]), "quantile", 2).tolist() == [0, 0, 1, 1, 1]


def warned(n: int, values: int, bins: int, estimator: Any = "equal") -> list[str]:
    labels = np.stack([np.arange(n) % values, np.full(n, 3)], 1)[:, ::-1]
    arrays = check_arrays(np.arange(n)[:, None] / n, labels)
    return histogram_warnings(arrays, arrays.factors, estimator=estimator, bins=bins)


def test_few_rows_are_told_from_a_twentieth_of_the_entropy_on() -> None:
    """Chance has about (bins - 1) (values - 1) / 2n nats: of two values and 3 bins 1 / n, log 2 / 20 at n = 28.9."""
    assert warned(30, 2, 3) == []
    assert warned(28, 2, 3) == [
        "28 samples are few for 3 bins by 2 values of factor 1: chance alone gives about 0.04 of its 0.69 nats"
    ]
    assert warned(39, 3, 3) == [] and len(warned(36, 3, 3)) == 1  # 2 / n of log 3
    assert warned(28, 2, 3, "quantile") != [] and warned(28, 2, 3, "knn") == []


def test_fewer_bins_than_values_are_told() -> None:
    text = "factor 1 has 10 values and a latent 4 bins: even a perfect latent has at most 60% of its entropy"
    assert warned(1000, 10, 4) == [text] and warned(1000, 10, 10) == []
    assert warned(100_000, 100, 96) == []  # log 96 is 99.1 % of log 100
    assert len(warned(100_000, 100, 95)) == 1


@pytest.mark.parametrize(("rows", "told"), [(398, False), (404, True)])
def test_outliers_are_told_from_twenty_standard_deviations_on(rows: int, told: bool) -> None:
    """One row of n at -1, the others at 0: the range is n / (n - 1)^1/2 standard deviations, 19.97 or 20.12."""
    codes = np.zeros((rows, 3))
    codes[0, 1] = -1
    codes[: rows // 2, 2] = 1
    arrays = check_arrays(codes, np.arange(rows) % 2)
    text = "outliers of latent 1 leave most rows in a few bins: estimator 'quantile' is not affected"
    assert histogram_warnings(arrays, arrays.factors, estimator="equal", bins=2) == ([text] if told else [])
    assert histogram_warnings(arrays, arrays.factors, estimator="quantile", bins=2) == []
