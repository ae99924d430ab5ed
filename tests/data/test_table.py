from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError


class Tiny(Grid):
    """Each image is one pixel for each factor, with its value."""

    name = "tiny"
    gives = ("Images", "Pairs")

    def __init__(self, *sizes: int) -> None:
        self.factors = tuple(Factor(f"f{i}", size) for i, size in enumerate(sizes))
        self.shape = (1, 1, len(sizes))

    def render(self, values: Values) -> Bytes:
        return values[:, None, None].astype(np.uint8)


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(sizes)
def test_rows_count_with_the_last_factor_fastest(sizes: list[int]) -> None:
    table = Tiny(*sizes)
    expected = np.array(list(np.ndindex(*sizes)))
    assert len(table) == len(expected)
    np.testing.assert_array_equal(table.values(np.arange(len(table))), expected)
    np.testing.assert_array_equal(table.images(np.arange(len(table)))[:, 0, 0], expected)
    np.testing.assert_array_equal(table.rows(expected), np.arange(len(table)))


@given(sizes, st.data())
def test_pairs_differ_in_exactly_k_factors(sizes: list[int], data: st.DataObject) -> None:
    table = Tiny(*sizes)
    varying = sum(size > 1 for size in sizes)
    assert table.changeable == varying
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    rows = rng.integers(0, len(table), 30)
    k = rng.integers(0, varying + 1, 30)
    changed = table.values(rows) != table.values(table.change(rows, k, rng))
    np.testing.assert_array_equal(changed.sum(1), k)


def test_all_factors_and_all_new_values_are_equally_likely() -> None:
    table, n = Tiny(3, 4, 1, 5), 60_000
    rng = np.random.default_rng(0)
    others = table.values(table.change(np.zeros(n, np.int64), np.full(n, 2), rng))
    assert (others > 0).mean(0) == pytest.approx([2 / 3, 2 / 3, 0, 2 / 3], abs=0.01)
    for column, size in ((0, 3), (1, 4), (3, 5)):
        counts = np.bincount(others[:, column], minlength=size)[1:]
        assert counts / counts.sum() == pytest.approx([1 / (size - 1)] * (size - 1), abs=0.01)


@given(st.integers(0, 10_000))
def test_chosen_rows_are_addressed_in_their_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = Tiny(3, 4, 2)
    chosen = rng.integers(0, 24, 10)
    part = table.with_rows(chosen)
    assert len(part) == 10
    np.testing.assert_array_equal(part.values(np.arange(10)), table.values(chosen))
    found = part.rows(table.values(np.arange(24)))
    np.testing.assert_array_equal(found >= 0, np.isin(np.arange(24), chosen))
    inside = np.flatnonzero(found >= 0)
    np.testing.assert_array_equal(part.values(found[inside]), table.values(inside))
    again = part.with_rows(np.array([3, 1]))
    np.testing.assert_array_equal(again.values(np.arange(2)), table.values(chosen[[3, 1]]))


def test_pairs_of_chosen_rows_stay_among_them() -> None:
    table = Tiny(4, 4, 4)
    part = table.with_rows(np.flatnonzero(table.values(np.arange(64))[:, 0] < 2))
    rng = np.random.default_rng(0)
    rows, k = rng.integers(0, len(part), 500), rng.integers(1, 4, 500)
    others = part.change(rows, k, rng)
    assert others.min() >= 0
    np.testing.assert_array_equal((part.values(rows) != part.values(others)).sum(1), k)
    assert part.values(others)[:, 0].max() == 1


def test_a_row_without_a_fellow_is_named() -> None:
    part = Tiny(5, 5).with_rows(np.array([0, 6]))
    with pytest.raises(UserError, match="too sparse: no matching row was found for row 1"):
        part.change(np.array([1]), np.array([1]), np.random.default_rng(0))


def test_a_part_forgets_what_was_worked_out_for_the_whole() -> None:
    table = Tiny(5, 5).with_rows(np.arange(10))
    np.testing.assert_array_equal(table.rows(np.array([[1, 4]])), [9])
    np.testing.assert_array_equal(table.with_rows(np.arange(5, 10)).rows(np.array([[1, 4], [0, 1]])), [4, -1])


class Needy(Tiny):
    def __init__(self, *, needed: int) -> None:
        super().__init__(needed, 2)


def test_a_part_is_a_table_of_its_own() -> None:
    table = Needy(needed=3)
    part = table.with_rows(np.array([5, 4]))
    part.label = "f0"
    assert (len(table), table.label, table.chosen) == (6, None, None)
    assert set(part.arguments) == {"needed", "chosen_rows"} and part.arguments["needed"] == 3
    np.testing.assert_array_equal(part.images(np.arange(2)), table.images(np.array([5, 4])))


def test_unknown_factors_are_named() -> None:
    with pytest.raises(UserError, match="no factor of 'tiny' is called 'f9'"):
        Tiny(2, 2).column("f9")
