"""Verdicts against closed forms, simulations and numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from unbraid.study.verdicts import (
    LEVEL,
    SECOND_LOOK,
    Margin,
    best_in_the_mean,
    bootstrapped,
    by_a_share,
    claim,
    decide,
    keeps,
    more_often,
    paired,
    same_ratio,
    wider_spread,
    within,
)


def test_bounds_are_one_sided_student_bounds() -> None:
    """t of 0.95 with two degrees of freedom is 2.9200, and the standard error of 1, 2, 3 is 1 / sqrt(3)."""
    margin = paired("m", np.array([1.0, 2.0, 3.0]))
    assert (margin.low, margin.high) == pytest.approx((2 - 2.92 / 3**0.5, 2 + 2.92 / 3**0.5), abs=1e-3)
    assert margin.p == pytest.approx(1 - stats.ttest_1samp([1, 2, 3], 0, alternative="greater").pvalue)
    assert margin.ways == (3, 3)


@pytest.mark.parametrize("mean", [0.0, -0.3])
def test_a_false_margin_is_shown_at_most_as_often_as_the_level(mean: float) -> None:
    rng = np.random.default_rng(0)
    rate = np.mean([paired("m", mean + rng.standard_normal(6)).low > 0 for _ in range(4000)])
    assert rate <= 0.05 + 0.011
    if mean == 0:
        assert rate >= 0.05 - 0.011


def test_all_margins_must_be_above_zero_for_shown() -> None:
    good, poor = Margin("good", 0.5, 1.0, 0.9), Margin("poor", -0.1, 0.4, 0.3)
    assert decide([good, Margin("less", 0.1, 2.0, 0.99)])[0] == "shown"
    assert decide([good, Margin("less", 0.1, 2.0, 0.99)])[1].what == "less"
    assert decide([good, poor]) == ("unclear", poor)


def test_not_shown_needs_holms_level() -> None:
    """A p of 0.03 is enough alone and not enough beside another margin, where 0.025 is asked for."""
    below = Margin("below", -1.0, -0.01, 0.03)
    good = Margin("good", 0.5, 1.0, 0.9)
    assert decide([below]) == ("not shown", below)
    assert decide([good, below])[0] == "unclear"
    surely = Margin("surely", -1.0, -0.1, 0.024)
    assert decide([good, surely]) == ("not shown", surely)


def test_the_chance_of_a_false_not_shown_is_held_over_many_margins() -> None:
    rng = np.random.default_rng(2)
    rate = np.mean(
        [decide([paired("m", rng.standard_normal(6)) for _ in range(8)])[0] == "not shown" for _ in range(1500)]
    )
    assert rate <= 0.05 + 0.017


def test_two_looks_together_are_wrong_as_rarely_as_one() -> None:
    rng = np.random.default_rng(5)

    def shown_at_either_look(level: float) -> float:
        draws = rng.standard_normal((3000, 16))
        return float(np.mean([max(paired("m", v[:8], level).low, paired("m", v, level).low) > 0 for v in draws]))

    assert shown_at_either_look(SECOND_LOOK) == pytest.approx(0.05, abs=0.012)
    assert shown_at_either_look(LEVEL) > 0.065
    below = Margin("below", -1.0, -0.01, 0.04)
    assert decide([below])[0] == "not shown" and decide([below], SECOND_LOOK)[0] == "unclear"
    assert claim("000-0", "p", "o", [below], seeds=3, level=SECOND_LOOK).verdict == "unclear"
    values = np.array([0.01, 0.02, 0.015, 0.03])
    assert within("m", values, 0.1, 0.01)[0].low < within("m", values, 0.1)[0].low
    assert same_ratio("m", values, values[::-1], 0.1, 0.01)[0].low < same_ratio("m", values, values[::-1], 0.1)[0].low


def test_a_difference_near_zero_is_not_the_papers() -> None:
    """The paper has a gap of 8: a quarter is asked for, so that no gap at all is decided."""
    none, half = np.array([0.2, -0.3, 0.1, -0.1, 0.2]), np.array([4.0, 3.5, 4.5, 4.2, 3.9])
    assert decide([paired("m", none)])[0] == "unclear"
    assert decide([by_a_share("m", none, 8.0)])[0] == "not shown"
    assert decide([by_a_share("m", half, 8.0)])[0] == "shown"
    assert by_a_share("m", half, 8.0).low == pytest.approx(paired("m", half).low - 2)
    assert by_a_share("gap", half, 8.0, SECOND_LOOK) == paired("gap, less 2", half - 2, SECOND_LOOK)


def test_equivalence_is_two_one_sided_tests() -> None:
    """The classical form: the 90 % interval lies inside the tolerance."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = rng.normal(0.1, 0.2, 8)
        low, high = stats.t.interval(0.90, 7, values.mean(), stats.sem(values))
        inside = low > -0.25 and high < 0.25
        assert (decide(within("m", values, 0.25))[0] == "shown") == inside
    same = np.array([1.0, 1.02, 0.99, 1.01, 1.0])
    assert decide(same_ratio("m", same * 3, np.full(5, 3.0), 0.1))[0] == "shown"
    assert decide(same_ratio("m", same * 4, np.full(5, 3.0), 0.1))[0] == "not shown"


def test_a_share_is_of_the_means_and_bears_small_denominators() -> None:
    part, of = np.array([0.5, 0.6, 0.4, 0.5, 0.55]), np.array([0.6, 0.9, 0.01, 0.8, 0.7])
    assert keeps("m", part, of, 0.5).low > 0
    assert keeps("m", part, of, 0.5).high == pytest.approx(paired("m", part - 0.5 * of).high)


def test_counts_are_compared_by_fishers_test() -> None:
    assert more_often("m", (8, 8), (1, 8)).low > 0  # p = 0.0007
    assert more_often("m", (4, 5), (1, 5)).low <= 0  # p = 0.10: five runs cannot show this
    assert more_often("m", (1, 8), (8, 8)).p < 0.01
    assert decide([more_often("m", (1, 8), (8, 8))])[0] == "not shown"
    assert decide([more_often("m", (3, 8), (3, 8))])[0] == "unclear"


def test_the_ratio_of_variances_follows_f() -> None:
    rng = np.random.default_rng(4)
    rate = np.mean([wider_spread("m", rng.normal(size=6), rng.normal(size=9)).low > 0 for _ in range(3000)])
    assert rate == pytest.approx(0.05, abs=0.013)
    assert wider_spread("m", 10 * rng.normal(size=8), rng.normal(size=8)).low > 0


def test_a_bootstrap_gives_one_sided_bounds() -> None:
    draws = np.linspace(-0.1, 0.9, 101)
    margin = bootstrapped("m", draws, 0.4)
    assert (margin.low, margin.high) == pytest.approx((-0.05, 0.85))
    assert bootstrapped("m", np.array([0.1]), 0.1).low == -math.inf


def test_the_best_baseline_is_the_best_in_the_mean() -> None:
    values = {"a": np.array([0.9, 0.1, 0.1]), "b": np.array([0.4, 0.5, 0.4])}
    assert best_in_the_mean(values) == "b"


def test_an_unclear_claim_tells_direction_and_count_and_what_decides() -> None:
    margins = [paired("large", np.array([5.0, 5.1, 5.2])), paired("small", np.array([1.0, 1.5, -0.9]))]
    found = claim("000-0", "p", "o", margins, seeds=3, notes={"000-0": "why"}, before="not shown")
    assert (found.verdict, found.decides, found.count) == ("unclear", "small", "2 of 3 seeds the paper's way")
    assert (found.note, found.before) == ("why", "not shown")
    one = claim("000-0", "p", "o", [paired("m", np.array([1.0]))], seeds=1)
    assert one.verdict == "unclear"
