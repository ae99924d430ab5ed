"""How many seeds a comparison needs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from unbraid.errors import UserError, unknown
from unbraid.study.records import load_study

MOST = 1 << 20  # seeds; a difference that takes more is too small to be seen
SETTING = ["data", "condition", "objective", "setting"]


def seeds_needed(
    difference: float,
    table: pd.DataFrame | str | Path,
    *,
    metric: str,
    data: str | None = None,
    objective: str | None = None,
    power: float = 0.9,
    level: float = 0.05,
    sides: Literal[1, 2] = 2,
) -> int:
    """Seeds of each of two methods that detect a difference in a metric, by the spread over seeds that a study found.

    Args:
        difference: of the means of the metric, that one wants to be able to see
        table: a study's runs, a row for each; or the name or folder of a study, as `load_study` takes it
        metric: name of a score
        data: name of a data set; all of the study unless given
        objective: name of an objective; all of the study unless given
        power: probability to detect it
        level: probability of finding a difference where there is none
        sides: 2 if either method could be better, 1 if only one direction counts
    """
    table = table if isinstance(table, pd.DataFrame) else load_study(table)
    return seeds_for(
        difference, spread_over_seeds(table, metric, data, objective), power=power, level=level, sides=sides
    )


def spread_over_seeds(table: pd.DataFrame, metric: str, data: str | None = None, objective: str | None = None) -> float:
    """Standard deviation of a score over the seeds of one setting, pooled over settings."""
    return float(np.sqrt(_within(_settings(table, metric, data, objective), metric)))


def spread_over_settings(
    table: pd.DataFrame, metric: str, data: str | None = None, objective: str | None = None
) -> float:
    """Standard deviation of the settings' true means of a score, within a data set and pooled over data sets.

    The means that a study finds lie further apart than the true ones, since each still has the noise of its seeds. The
    variance of that noise is subtracted (a one-way analysis of variance with random effects); 0 if nothing is left.
    """
    settings = _settings(table, metric, data, objective)
    found, _ = _between(settings, metric)
    return math.sqrt(max(0.0, found - _within(settings, metric) * float((1 / settings["count"]).mean())))


def _between(settings: pd.DataFrame, metric: str) -> tuple[float, int]:
    """Variance of the means found of the settings of a data set, pooled over data sets, and its degrees of freedom."""
    sets = settings.groupby([key for key in SETTING[:2] if key in settings] or (lambda _: 0), dropna=False)["mean"]
    freedom = sets.count() - 1
    if not freedom.sum():
        raise UserError(f"this study has a single setting with '{metric}': there is nothing to compare it with")
    return float((sets.var().fillna(0) * freedom).sum() / freedom.sum()), int(freedom.sum())


def _settings(table: pd.DataFrame, metric: str, data: str | None, objective: str | None) -> pd.DataFrame:
    """Mean, variance and number of seeds with the score for each setting, and its data set."""
    if metric not in table:
        raise unknown("score of this study", metric, [c for c in table.columns if table[c].dtype.kind == "f"])
    for column, wanted in (("data", data), ("objective", objective)):
        if wanted is not None:
            if wanted not in set(table[column]):
                raise unknown(f"{column} of this study", wanted, map(str, table[column].unique()))
            table = table[table[column] == wanted]
    keys = [key for key in SETTING if key in table]
    found = table.groupby(keys, dropna=False)[metric].agg(["mean", "var", "count"]).reset_index()
    return found[found["count"] > 0]


def _within(settings: pd.DataFrame, metric: str) -> float:
    """Variance over the seeds of one setting, pooled over settings."""
    freedom = settings["count"] - 1
    if not freedom.sum():
        raise UserError(f"no setting of this study has two seeds with '{metric}': its spread over seeds is not known")
    return float((settings["var"].fillna(0) * freedom).sum() / freedom.sum())


class Seeds(NamedTuple):
    """A number of seeds, with its interval; infinite if no number is enough."""

    needed: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.needed:.0f} ({self.low:.0f} to {self.high:.0f})"


def seeds_to_rank(
    table: pd.DataFrame | str | Path,
    *,
    metric: str,
    data: str | None = None,
    objective: str | None = None,
    right: float = 0.9,
    level: float = 0.95,
) -> Seeds:
    """Seeds of each of two settings, picked at random from a study, with which the better one has the higher mean.

    The settings' true means and the scores over seeds are taken as normal, with the spreads that the study found. The
    interval is that of the ratio of the two variances by the F distribution: exact for normal scores and as many seeds
    in each setting.

    Args:
        table: a study's runs, a row for each; or the name or folder of a study, as `load_study` takes it
        metric: name of a score
        data: name of a data set; all of the study unless given
        objective: name of an objective; all of the study unless given
        right: probability that the two are ranked as their true means are
        level: of the interval
    """
    table = table if isinstance(table, pd.DataFrame) else load_study(table)
    if not (0.5 < right < 1 and 0 < level < 1):
        raise UserError(f"right must lie between 0.5 (a coin) and 1, level between 0 and 1, not {right} and {level}")
    settings = _settings(table, metric, data, objective)
    (between, freedom), noise = _between(settings, metric), _within(settings, metric)
    n = len(settings) / float((1 / settings["count"]).sum())  # seeds of a setting
    quantiles = stats.f.ppf([(1 + level) / 2, (1 - level) / 2], freedom, (settings["count"] - 1).sum())
    chance = math.tan(math.pi * (right - 0.5)) ** 2  # n (true variance between / noise) at which rank_right is `right`
    needed, high, low = (
        chance * n / (ratio - 1) if ratio > 1 else math.inf for ratio in n * between / noise / np.array([1, *quantiles])
    )
    return Seeds(*(max(1.0, float(np.ceil(value * (1 - 1e-12)))) for value in (needed, low, high)))


def rank_right(n: int, over_seeds: float, between: float) -> float:
    """The probability that the means over n seeds rank two settings as their true means do (Sheppard 1899).

    The difference of two true means and that of the means found are jointly normal.
    """
    return 0.5 + math.atan2(between * math.sqrt(n), over_seeds) / math.pi


def seeds_for(
    difference: float,
    sd: float,
    *,
    power: float = 0.9,
    level: float = 0.05,
    sides: Literal[1, 2] = 2,
    correlation: float = 0.0,
) -> int:
    """Seeds of each of two methods that detect a difference of their means, by Student's t test.

    Args:
        difference: of the means, that one wants to be able to see
        sd: standard deviation of the score over seeds, of either method
        power: probability to detect it
        level: probability of finding a difference where there is none
        sides: 2 if either method could be better, 1 if only one direction counts
        correlation: of the two scores over seeds, where both methods are run with the same seeds and compared in pairs;
            0: two independent samples
    """
    _check(difference, sd, power, level, correlation)
    few, many = 1, 2
    while power_of(many, difference, sd, level, sides, correlation) < power:
        few, many = many, 2 * many
        if many > MOST:
            raise UserError(
                f"a difference of {difference:g} is too small to be seen: it takes more than {MOST:,} seeds"
            )
    while many - few > 1:
        middle = (few + many) // 2
        enough = power_of(middle, difference, sd, level, sides, correlation) >= power
        few, many = (few, middle) if enough else (middle, many)
    return many


def power_of(
    n: int, difference: float, sd: float, level: float = 0.05, sides: Literal[1, 2] = 2, correlation: float = 0.0
) -> float:
    """The probability that n seeds of each method detect the difference."""
    freedom = n - 1 if correlation else 2 * (n - 1)
    error = sd * math.sqrt(2 * (1 - correlation) / n)
    shift, critical = abs(difference) / error, float(stats.t.ppf(1 - level / sides, freedom))
    above = float(stats.nct.sf(critical, freedom, shift))
    below = float(stats.nct.cdf(-critical, freedom, shift)) if sides == 2 else 0.0
    return above + (below if math.isfinite(below) else 0.0)


def _check(difference: float, sd: float, power: float, level: float, correlation: float) -> None:
    if not (math.isfinite(difference) and difference):
        raise UserError(f"a difference that can be seen must be a number other than 0, not {difference}")
    if not (math.isfinite(sd) and sd > 0):
        raise UserError(f"the standard deviation over seeds must be more than 0, not {sd}")
    if not (0 < power < 1 and 0 < level < 1):
        raise UserError(f"power and level must lie between 0 and 1, not {power} and {level}")
    if not -1 < correlation < 1:
        raise UserError(f"a correlation over seeds must lie between -1 and 1, not {correlation}")
