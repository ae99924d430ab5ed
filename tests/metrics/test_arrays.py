"""What metrics are given, checked: labels, units, scales, and what is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import noise, rng
from unbraid.errors import UserError
from unbraid.metrics.arrays import (
    Arrays,
    Column,
    as_column,
    check_arrays,
    check_codes,
    extremes,
    gap_to_second,
    labelled,
    quantities,
    standardised,
    varies,
    vary_between,
)


def test_a_continuous_factor_is_cut_at_its_quantiles_and_an_edge_belongs_above() -> None:
    assert Column(np.arange(12) + 0.5, 0).binned(4).values.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert Column(np.array([0.5, 1.5, 2.5, 3.5, 4.5]), 0).binned(2).values.tolist() == [0, 0, 1, 1, 1]
    skewed = Column(np.array([0.5] * 8 + [1.5, 2.5]), 0).binned(10)  # most edges are the same
    assert skewed.values.tolist() == [0] * 8 + [1, 2] and skewed.size == 3
    labels = Column(np.array([0, 2, 1, 3]), 4)
    assert labels.binned(2) is labels and not labels.continuous


def test_a_unit_is_alive_if_one_of_its_latents_varies() -> None:
    codes = np.stack([np.ones(4), np.arange(4.0), np.ones(4)], 1)
    assert check_arrays(codes, None, units=[7, 7, 2]).alive.tolist() == [False, True]
    assert [unit.tolist() for unit in check_arrays(codes, None, units=[7, 2, 7]).units] == [[1], [0, 2]]
    assert [unit.tolist() for unit in check_arrays(codes, None).units] == [[0], [1], [2]]


def test_a_score_has_plain_parts_the_factors_that_vary_and_all_warnings() -> None:
    arrays = check_arrays(noise(4, 2), np.array([[0, 5, 1], [1, 5, 0], [0, 5, 1], [1, 5, 1]]))
    found = arrays.score(np.float32(0.5), {"a": np.arange(2), "b": np.float64(2), "c": [None]}, ["late"], bins=3)
    assert type(found.value) is float and found.parts == {"a": [0, 1], "b": 2.0, "c": [None]}
    assert type(found.parts["a"]) is list and type(found.parts["b"]) is float
    assert found.params == {"bins": 3, "factors": [0, 2]} and found.n == 4
    assert found.warnings == ("factor 1 has a single value and is left out", "late")
    nothing = check_arrays(noise(4, 2), None).undefined("why", bins=3)
    assert np.isnan(nothing.value) and nothing.parts == {}
    assert nothing.warnings == ("why",) and nothing.params == {"bins": 3}


def test_codes_and_factors_of_one_column_need_no_second_axis() -> None:
    arrays = check_arrays(np.array([False, True, True]).astype(float).cumsum(), np.array([4, 5, 4]))
    assert arrays.codes.shape == (3, 1) and arrays.codes.dtype == np.float64
    assert arrays.factors[0].values.tolist() == [0, 1, 0] and arrays.kept == (0,)


def test_codes_keep_single_and_double_precision_and_others_become_double() -> None:
    kinds = [np.float32, np.float64, np.float16, np.int8, np.bool_]
    found = [check_codes(np.ones((2, 1), kind)).dtype for kind in kinds]
    assert found == [np.float32, np.float64, np.float64, np.float64, np.float64]


def test_the_first_eight_latents_that_are_not_finite_are_named() -> None:
    codes = np.zeros((20, 12))
    codes[np.arange(10), np.arange(2, 12)] = np.nan
    with pytest.raises(UserError, match=r"^mine contain 10 values .* in latents 2, 3, 4, 5, 6, 7, 8, 9$"):
        check_codes(codes, "mine")


@pytest.mark.parametrize(
    ("codes", "factors", "sentence"),
    [
        (np.zeros((2, 2, 2)), None, r"codes must have the shape .* not \[2, 2, 2\]"),
        (np.zeros((0, 2)), None, r"codes must have the shape .* not \[0, 2\]"),
        (np.array([["a"]]), None, "codes must be real numbers"),
        (np.ones((2, 1)), np.zeros((2, 0)), r"factors must have the shape .* not \[2, 0\]"),
        (np.ones((2, 1)), np.zeros((2, 1, 1)), r"factors must have the shape .* not \[2, 1, 1\]"),
        (np.ones((2, 1)), np.zeros(3), "codes have 2 samples and factors 3"),
        (np.ones((2, 1)), np.array([0, 1j]), "factor 0 must be numbers or labels"),
        (np.ones((2, 1)), np.array([0.5, np.nan]), "factor 0 contains values that are NaN"),
        (np.ones((2, 1)), np.zeros((2, 3)), "every factor has a single value"),
    ],
)
def test_arrays_that_cannot_be_scored_are_refused(codes: Any, factors: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        check_arrays(codes, factors)


def test_each_latent_needs_a_unit() -> None:
    with pytest.raises(UserError, match=r"each of the 3 latents, not \[2\] of them"):
        check_arrays(noise(4, 3), None, units=[0, 1])


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e100), (np.float32, 1e15)])
def test_columns_too_large_or_small_to_be_squared_are_divided_by_a_power_of_two(dtype: Any, limit: float) -> None:
    """Limits themselves, ordinary numbers and zeros stay as they are."""
    large, small = 4 * limit, 0.25 / limit
    given = np.array([[1, -large, limit, small, -1 / limit, 0, 3], [large, 1, 0, -small / 2, 0, 0, -5]], dtype)
    found = check_arrays(given, None).codes
    assert found.dtype == dtype and found[:, [2, 4, 5, 6]].tolist() == given[:, [2, 4, 5, 6]].tolist()
    for column in (0, 1, 3):
        assert 0.5 <= np.abs(found[:, column]).max() < 1
        power = np.log2(np.abs(given[:, column].astype(float)).max() / np.abs(found[:, column].astype(float)).max())
        assert power == round(power) and (found[:, column].astype(float) * 2**power == given[:, column]).all()
    assert np.abs(check_arrays(np.array([[large], [large / 2]], dtype), None).codes).max() < 1


def test_a_factor_with_one_fraction_is_continuous_whatever_its_unit() -> None:
    found = as_column(np.array([0.0, 1.0, 2.5]), "f")
    assert found.continuous and found.values.tolist() == [0.0, 1.0, 2.5]
    tiny = as_column(np.array([1e-200, 2e-200, 4e-200]), "f")
    assert tiny.continuous and (tiny.values / tiny.values[0]).tolist() == [1, 2, 4] and tiny.values[2] >= 0.5


@pytest.mark.parametrize(
    "values",
    [
        np.array(["b", "c", "a"]),
        np.array([1, 7, -4]),
        np.array([1.0, 7.0, -4.0]),
        np.array([0.0, 2e20, -1e20]),
        np.array([1e300, 2e300, 0]),
        np.array([-2e300, 0, -3e300]),
        np.array([2**63 + 1, 2**64 - 1, 0], np.uint64),
        np.array([-(10**15), 10**15, -(10**15) - 1]),
        np.array([-(10**15), 0, -(10**15) - 1]),
    ],
)
def test_labels_are_numbered_in_their_order_without_gaps(values: Any) -> None:
    found = as_column(values, "f")
    assert found.values.tolist() == [1, 2, 0] and found.values.dtype == np.int64
    assert found.size == 3 and not found.continuous


def test_labels_have_their_gaps_closed() -> None:
    found = labelled(np.array([9, 3, 3, 5]))
    assert found.values.tolist() == [2, 0, 0, 1] and found.size == 3
    assert as_column(np.array([True, False, True]), "f").values.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("low", "high", "does"),
    [
        (1 - 1.01e-6, 1.0, True),
        (1 - 0.99e-6, 1.0, False),
        (-1.0, -1 + 1.01e-6, True),
        (-1.0, -1 + 0.9999995e-6, False),  # a share of the largest value, not of the other end
        (-1e-7, 1e-7, True),
        (0.0, 1e-150, False),
        (0.0, 1.1e-150, True),
        (1e9, 1e9 + 1e4, True),
        (1e9, 1e9 + 900, False),
    ],
)
def test_what_varies_by_less_than_a_millionth_is_constant(low: float, high: float, does: bool) -> None:
    assert vary_between(low, high) == does
    assert varies(np.array([[low, 1], [high, 2]])).tolist() == [does, True]


@pytest.mark.parametrize("n", [1, 2, 30, 64, 129, 200])
def test_extremes_of_rows_that_are_compared_together(n: int) -> None:
    x = noise(n, 3)
    low, high = extremes(x)
    assert low.tolist() == [min(column) for column in x.T.tolist()]
    assert high.tolist() == [max(column) for column in x.T.tolist()]


def test_codes_are_standardised_over_the_given_rows() -> None:
    codes = np.concatenate([noise(9, 2) * [3, 0.1] + 5, np.full((9, 1), 4.0), np.arange(9)[:, None] == 8], 1)
    rows = np.arange(6)
    for used, found in ((rows, standardised(codes, rows)), (np.arange(9), standardised(codes))):
        for j in range(2):
            kept = [codes[i, j] for i in used]
            mean = sum(kept) / len(kept)
            spread = (sum((x - mean) ** 2 for x in kept) / len(kept)) ** 0.5
            assert found[:, j] == pytest.approx([(x - mean) / spread for x in codes[:, j]], rel=1e-12)
        assert not found[:, 2].any()
    assert not standardised(codes, rows)[:, 3].any()  # constant in these rows
    huge = standardised(1e200 * codes[:, :2])
    assert huge == pytest.approx(standardised(codes[:, :2]), rel=1e-12)
    assert standardised(np.array([[1], [3]])).tolist() == [[-1], [1]]


def test_single_precision_is_standardised_in_double() -> None:
    codes = (1e4 + rng().standard_normal((4000, 2))).astype(np.float32)
    assert standardised(codes) == pytest.approx(standardised(codes.astype(np.float64)), abs=1e-9)


def test_gaps_are_to_the_second_best_or_to_nothing() -> None:
    assert gap_to_second(np.array([[1.0, 4], [5, 9], [3, 2]])).tolist() == [2, 5]
    assert gap_to_second(np.array([[1.0, 4], [5, 9]])).tolist() == [4, 5]
    assert gap_to_second(np.array([[1.0, 4]])).tolist() == [1, 4]


def test_quantities_are_numbers_with_more_than_two_values_that_are_not_named_as_kinds() -> None:
    factors = np.array([[5, 0, 0, 0, 0.5], [5, 1, 1, 1, 1.5], [5, 0, 2, 2, 0.5]])
    arrays = check_arrays(noise(3, 1), factors)
    assert quantities(arrays, factors, ()) == [False, True, True, True]
    assert quantities(arrays, factors, (3,)) == [False, True, False, True]
    names = factors.astype(str)
    assert quantities(check_arrays(noise(3, 1), names), names, ()) == [False] * 4
    assert quantities(check_arrays(noise(3, 1), factors[:, 2]), factors[:, 2], ()) == [True]
    for place in (-1, 5):
        with pytest.raises(UserError, match=f"kinds names factor {place}, and there are the factors 0 to 4"):
            quantities(arrays, factors, (place,))


def test_arrays_know_their_rows() -> None:
    assert Arrays(noise(5, 2), (), (), (), ()).n == 5
