"""Rows that share a value: which are drawn, how often, and which values have few."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import noise, rng
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.interventions import RowsByValue, chunk_of, rare_value_warnings, sorted_by_value


@pytest.mark.parametrize("size", [3, 300])
def test_rows_of_a_value_keep_their_order(size: int) -> None:
    values = rng().integers(0, size, 1000)
    order, starts, counts = sorted_by_value(Column(values, size))
    assert order.tolist() == sorted(range(1000), key=lambda row: (values[row], row))
    for value in range(size):
        assert counts[value] == (values == value).sum() and starts[value] == (values < value).sum()


def test_a_piece_of_work_has_128_mb_at_most() -> None:
    assert chunk_of(64 * 10) == chunk_of(64 * 128) == 2048
    assert 8 * chunk_of(64 * 2048) * 64 * 2048 <= 128 * 2**20
    assert chunk_of(10**9) == 1


def test_a_value_without_rows_has_a_place_and_none_in_it() -> None:
    order, starts, counts = sorted_by_value(Column(np.array([2, 0, 2]), 4))
    assert (order.tolist(), starts.tolist(), counts.tolist()) == ([1, 0, 2], [0, 1, 1, 3], [1, 0, 2, 0])


def uneven() -> Any:
    """Rows 0 to 6 have value 0, rows 7 to 11 value 1, row 12 value 2, each put somewhere."""
    return rng(3).permutation(np.repeat([0, 1, 2], [7, 5, 1]))


def test_a_batch_shares_a_value_and_has_no_row_twice_unless_there_are_too_few() -> None:
    values = uneven()
    batches = RowsByValue(Column(values, 3)).batches(6000, 5, rng())
    assert batches.shape == (6000, 5)
    assert (values[batches] == values[batches[:, :1]]).all()
    for batch in batches:
        assert len(set(batch.tolist())) == (1 if values[batch[0]] == 2 else 5)
    shares = Counter(values[batches[:, 0]].tolist())  # a value is as frequent as its rows
    assert [shares[v] / 6000 for v in range(3)] == pytest.approx([7 / 13, 5 / 13, 1 / 13], abs=0.03)
    used = np.bincount(batches.ravel(), minlength=13) / batches.size
    assert used == pytest.approx(np.full(13, 1 / 13), abs=0.01)
    places = np.bincount(batches[values[batches[:, 0]] == 0][:, 4], minlength=13)  # and in each place
    assert places[values == 0] / places.sum() == pytest.approx(np.full(7, 1 / 7), abs=0.03)


def test_a_deck_is_dealt_out_before_it_is_shuffled_again() -> None:
    batches = RowsByValue(Column(np.zeros(7, np.int64), 1)).batches(20, 3, rng())
    for first, second in batches.reshape(10, 2, 3):  # two batches of three from seven rows
        assert not set(first.tolist()) & set(second.tolist())
    assert len({tuple(sorted(batch.tolist())) for batch in batches}) > 10


def test_values_with_fewer_rows_than_a_batch_are_drawn_with_replacement() -> None:
    batches = RowsByValue(Column(np.zeros(3, np.int64), 1)).batches(4000, 4, rng())
    patterns = Counter(len(set(batch.tolist())) for batch in batches)
    assert [patterns[k] / 4000 for k in (1, 2, 3)] == pytest.approx([3 / 81, 42 / 81, 36 / 81], abs=0.03)


def test_the_partner_of_a_row_is_each_other_row_of_its_value_equally_often() -> None:
    values = uneven()
    first, second = RowsByValue(Column(values, 3)).pairs(5000, 8, rng())
    assert first.shape == second.shape == (5000, 8)
    table = np.zeros((13, 13))
    np.add.at(table, (first.ravel(), second.ravel()), 1)
    expected = np.array([[float(v == w) for w in values] for v in values])
    np.fill_diagonal(expected, 0)
    alone = int(np.flatnonzero(values == 2)[0])
    expected[alone, alone] = 1
    expected /= 13 * expected.sum(1, keepdims=True)
    assert table / table.sum() == pytest.approx(expected, abs=0.0035)
    assert not table[expected == 0].any()


def test_values_with_fewer_than_twenty_rows_are_counted() -> None:
    factors = np.stack([np.full(80, 4), np.repeat([0, 1, 2], [20, 20, 40]), np.repeat([0, 1, 2], [1, 19, 60])], 1)
    arrays = check_arrays(noise(80, 1), factors)
    assert rare_value_warnings(arrays, arrays.factors) == ["2 of 3 values of factor 2 have fewer than 20 rows"]
    missing = [Column(factors[:, 1], 4), arrays.factors[1]]
    assert rare_value_warnings(arrays, missing)[0] == "1 of 4 values of factor 1 have fewer than 20 rows"
