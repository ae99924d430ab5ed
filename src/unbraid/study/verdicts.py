"""How a claim is decided: margins that should be above zero, with one-sided 95 % bounds.

A claim is shown when the lower bound of every margin is above zero (an intersection-union test, which needs no
correction); it is not shown when some margin is below zero beyond chance, with Holm's correction over the margins; else
it is unclear. Seeds are paired: the same seed means the same order of data for every method.

Where claims are unclear and as many fresh seeds are added, all seeds are judged again at the level SECOND_LOOK, so that
the chance of a wrong verdict at either look stays at 5 % (Pocock 1977).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from unbraid.study.claims import Claim, Numbers, Verdict

LEVEL = 0.05  # of each one-sided test
SECOND_LOOK = 0.03  # of each of two looks, the second with twice the seeds: together 0.05
SHARE = 0.25  # of a difference that a paper reports


@dataclass(frozen=True)
class Margin:
    """Something that a claim asks for, as a quantity that should be above zero."""

    what: str
    low: float  # one-sided lower and upper bounds
    high: float
    p: float  # probability of a value this low or lower if the quantity were zero
    ways: tuple[int, int] | None = None  # in how many seeds it goes the paper's way, and of how many


def paired(what: str, values: Numbers, level: float = LEVEL) -> Margin:
    """The mean of one number for each seed, by Student's t; without several seeds nothing is known."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    n, ways = len(values), (int((values > 0).sum()), len(values))
    if n < 2:
        return Margin(what, -math.inf, math.inf, 1.0, ways)
    mean, error = float(values.mean()), float(values.std(ddof=1) / n**0.5)
    if error == 0:
        return Margin(what, mean, mean, 0.0 if mean < 0 else 1.0, ways)
    reach = float(special.stdtrit(n - 1, 1 - level)) * error  # as stats.t has them, a hundred times as fast
    return Margin(what, mean - reach, mean + reach, float(special.stdtr(n - 1, mean / error)), ways)


def by_a_share(what: str, difference: Numbers, of_paper: float, level: float = LEVEL) -> Margin:
    """That a difference is more than a share of the paper's: no number of seeds tells one near zero from zero."""
    least = SHARE * of_paper
    return paired(f"{what}, less {least:.2g}", np.asarray(difference, float) - least, level)


def within(what: str, values: Numbers, tolerance: float, level: float = LEVEL) -> list[Margin]:
    """That the mean lies within a tolerance of zero: two one-sided tests."""
    values = np.asarray(values, float)
    return [
        paired(f"{what}: not above {tolerance:g}", tolerance - values, level),
        paired(f"{what}: not below -{tolerance:g}", tolerance + values, level),
    ]


def same_ratio(what: str, a: Numbers, b: Numbers, tolerance: float, level: float = LEVEL) -> list[Margin]:
    """That two positive quantities have a ratio within 1 / (1 + tolerance) and 1 + tolerance, on the mean log ratio."""
    return within(what, np.log(np.asarray(a, float) / np.asarray(b, float)), math.log1p(tolerance), level)


def keeps(what: str, part: Numbers, of: Numbers, share: float) -> Margin:
    """That the mean of one quantity is at least a share of the mean of another, never by ratios of single seeds."""
    return paired(what, np.asarray(part, float) - share * np.asarray(of, float))


def more_often(what: str, hits: tuple[int, int], others: tuple[int, int]) -> Margin:
    """That something happens more often in one set of runs than in another: counts (how many, of how many).

    The bounds are of the difference of shares (Agresti and Caffo 2000); p is Fisher's exact.
    """
    (a, n), (b, m) = hits, others
    p, q = (a + 1) / (n + 2), (b + 1) / (m + 2)
    reach = float(stats.norm.ppf(1 - LEVEL)) * math.sqrt(p * (1 - p) / (n + 2) + q * (1 - q) / (m + 2))
    table = [[a, n - a], [b, m - b]]
    fewer = float(stats.fisher_exact(table, alternative="less").pvalue)
    more = float(stats.fisher_exact(table, alternative="greater").pvalue)
    low = max(p - q - reach, 1e-9) if more < LEVEL else min(p - q - reach, 0.0)
    return Margin(what, low, p - q + reach, fewer, (a, n))


def wider_spread(what: str, wide: Numbers, narrow: Numbers) -> Margin:
    """That one quantity varies more over seeds than another: the ratio of variances less 1, by the F distribution."""
    a, b = (np.asarray(x, float)[np.isfinite(x)] for x in (wide, narrow))
    if min(len(a), len(b)) < 2 or not b.var() > 0:
        return Margin(what, -math.inf, math.inf, 1.0)
    ratio, freedom = float(a.var(ddof=1) / b.var(ddof=1)), (len(a) - 1, len(b) - 1)
    low, high = (ratio / float(special.fdtri(*freedom, q)) - 1 for q in (1 - LEVEL, LEVEL))
    return Margin(what, low, high, float(special.fdtr(*freedom, ratio)))


def bootstrapped(what: str, draws: NDArray[np.float64], value: float) -> Margin:
    """A quantity of which draws by bootstrap are given, such as a rank correlation over models."""
    draws = np.asarray(draws, float)
    draws = draws[np.isfinite(draws)]
    if len(draws) < 20 or not math.isfinite(value):
        return Margin(what, -math.inf, math.inf, 1.0)
    low, high = np.quantile(draws, [LEVEL, 1 - LEVEL])
    return Margin(what, float(low), float(high), float((draws >= 0).mean()))


def best_in_the_mean(values: Mapping[str, Numbers]) -> str:
    """The baseline to compare with: the best in the mean over seeds, never the best of each seed."""
    means = {name: found[np.isfinite(found)].mean() for name, found in values.items() if np.isfinite(found).any()}
    return max(means or values, key=lambda name: float(means.get(name, 0)))


def decide(margins: Sequence[Margin], level: float = LEVEL) -> tuple[Verdict, Margin]:
    """The verdict and the margin that decides it."""
    if all(margin.low > 0 for margin in margins):
        return "shown", min(margins, key=lambda margin: margin.low)
    least = min(margins, key=lambda margin: margin.p)
    if least.p < level / len(margins) and least.high < 0:
        return "not shown", least
    return "unclear", min((m for m in margins if m.low <= 0), key=lambda margin: margin.p)


def claim(
    id: str,
    paper: str,
    ours: str,
    margins: Sequence[Margin],
    *,
    seeds: int,
    notes: Mapping[str, str] | None = None,
    before: Verdict | None = None,
    level: float = LEVEL,
) -> Claim:
    """A claim decided by its margins.

    Args:
        seeds: the least number in any margin
        notes: what was found when a claim that is not shown was looked into, by claim
        before: the verdict under an earlier rule, where results had been seen before the rule was changed
        level: of each one-sided test, as the margins have it
    """
    verdict, deciding = decide(margins, level)
    ways = deciding.ways if verdict == "unclear" else None
    return Claim(
        id=id,
        paper=paper,
        ours=ours,
        low=deciding.low,
        high=deciding.high,
        seeds=seeds,
        verdict=verdict,
        note="" if verdict == "shown" else (notes or {}).get(id, ""),
        decides=deciding.what,
        count=f"{ways[0]} of {ways[1]} seeds the paper's way" if ways else "",
        before=before,
    )
