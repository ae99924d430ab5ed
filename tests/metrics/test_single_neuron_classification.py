"""Single-neuron classification in a world small enough to count."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from tests.metrics.worlds import grid, rng
from unbraid.metrics.arrays import Column
from unbraid.metrics.single_neuron_classification import (
    above_chance,
    equal_cells,
    matched_latents,
    most_common_accuracy,
    single_neuron_classification,
)

ROWS = np.arange(6), np.arange(6, 10)


def test_the_most_common_value_is_that_of_the_training_rows() -> None:
    """2 is there thrice, 0 twice and 1 once; of the test rows two are 2, one is 1 and one 0."""
    column = Column(np.array([2, 0, 2, 1, 0, 2, 2, 2, 1, 0]), 3)
    assert most_common_accuracy(column, ROWS) == 0.5
    assert most_common_accuracy(column, (ROWS[1], ROWS[0])) == 0.5
    assert most_common_accuracy(Column(np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 1]), 2), ROWS) == 0.25


def test_above_chance_is_the_share_of_the_way_to_one() -> None:
    found = above_chance(np.array([0.9, 0.5, 0.2, 1.0, 0.3]), np.array([0.6, 0.5, 0.4, 1.0, 0.0]))
    assert found == pytest.approx([0.75, 0, 0, 0, 0.3])


def test_cells_are_fitted_to_some_values_and_given_to_others() -> None:
    fitted = np.array([3.0, 1.0, 2.0, 4.0])
    assert equal_cells(fitted, np.array([0.0, 2.5, 3.0, 9.0]), 2).tolist() == [0, 1, 1, 1]
    assert equal_cells(fitted, np.array([1.0, 1.5, 2.0, 2.1]), 4).tolist() == [0, 1, 1, 2]


def test_latents_are_matched_by_the_information_of_the_training_rows_alone() -> None:
    """Of 40 training rows latent 0 is the second factor, of the others the first: the others are not looked at."""
    labels = grid(20, (2, 2))
    codes = np.where(np.arange(80)[:, None] < 40, labels[:, ::-1], labels) * 1.0
    columns = [Column(labels[:, k], 2) for k in range(2)]
    matched, matrix = matched_latents(codes, columns, np.arange(40))
    assert matched == [1, 0] and matrix == pytest.approx(np.array([[0, log(2)], [log(2), 0]]), abs=1e-12)
    found = single_neuron_classification(codes, labels, rng(), train=40)
    assert found.parts["mutual_information"] == matrix.tolist()
    assert found.parts["accuracy"] == [0.5, 0.5]  # and so they do not name the others
    assert found.parts["most_common"] == [0.5, 0.5] and found.value == 0


def test_a_score_by_counting() -> None:
    """Of 60 test rows the first latent names 48 right, of three values as common; the second factor has no latent."""
    labels = np.stack([np.arange(150) % 3, np.arange(150) // 3 % 2], 1)
    code = labels[:, 0].copy()
    code[90:102] = (code[90:102] + 1) % 3
    found = single_neuron_classification((code[:, None] + 1.0) % 3, labels, rng(), train=90)
    assert found.parts["accuracy"] == pytest.approx([0.8, 0.5]) and found.parts["matched_latent"] == [0, None]
    assert found.parts["most_common"] == pytest.approx([1 / 3, 0.5])
    assert found.parts["per_factor"] == pytest.approx([0.7, 0]) and found.value == pytest.approx(0.35)
    assert found.params == {"factor_bins": 20, "train": 90, "factors": [0, 1]}
    assert found.warnings == ("1 of 2 factors have no latent to match and count 0",)


def test_a_continuous_factor_is_cut_into_as_many_bins_as_are_asked_for() -> None:
    """The training rows are 60 values, the test rows the same: bins of 15 are named without fault."""
    factors = np.tile(np.stack([np.arange(60), rng(1).permutation(60)], 1), (2, 1)) + 0.5
    found = single_neuron_classification(factors, factors, rng(), factor_bins=4, train=60)
    assert np.diag(found.parts["mutual_information"]) == pytest.approx([log(4)] * 2, abs=1e-12)
    assert (found.value, found.parts["most_common"], found.params["factor_bins"]) == (1, [0.25, 0.25], 4)
    assert found.warnings == ()
    assert single_neuron_classification(factors, factors, rng()).params["train"] == 80
