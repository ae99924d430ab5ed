"""How many seeds a comparison needs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

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
    if metric not in table:
        raise unknown("score of this study", metric, [c for c in table.columns if table[c].dtype.kind == "f"])
    for column, wanted in (("data", data), ("objective", objective)):
        if wanted is not None:
            if wanted not in set(table[column]):
                raise unknown(f"{column} of this study", wanted, map(str, table[column].unique()))
            table = table[table[column] == wanted]
    keys = [key for key in SETTING if key in table]
    groups = table.groupby(keys, dropna=False)[metric]
    freedom = (groups.count() - 1).clip(lower=0)
    if not freedom.sum():
        raise UserError(f"no setting of this study has two seeds with '{metric}': its spread over seeds is not known")
    return float(np.sqrt((groups.var().fillna(0) * freedom).sum() / freedom.sum()))


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
