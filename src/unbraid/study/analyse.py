"""What a study says, as functions on one table: a row for each run.

Columns: `objective`, `strength`, `seed`, `data`, and a column for each score. Settings are pairs of objective and
strength. Intervals come from a bootstrap over seeds: whole seeds are drawn again with replacement, so that what runs
share by their seed stays together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

LEVEL = 0.95
REPLICATES = 1000

Estimate = tuple[float, float, float]  # value, low, high
Matrix = NDArray[np.float64]


def spearman(a: Any, b: Any) -> float:
    """Rank correlation; NaN where one of the two does not vary."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    known = np.isfinite(a) & np.isfinite(b)
    a, b = rankdata(a[known]), rankdata(b[known])
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def over_seeds(
    table: pd.DataFrame, value: Callable[[pd.DataFrame], float], rng: np.random.Generator, replicates: int = REPLICATES
) -> Estimate:
    """A number of the table with its interval by bootstrap over seeds."""
    seeds = table["seed"].unique()
    parts = dict(iter(table.groupby("seed")))
    drawn = []
    for _ in range(replicates):
        chosen = rng.choice(seeds, len(seeds))
        again = pd.concat([parts[s].assign(seed=i) for i, s in enumerate(chosen)], ignore_index=True)
        drawn.append(value(again))
    finite = np.array([v for v in drawn if np.isfinite(v)])
    low, high = np.quantile(finite, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(finite) else (np.nan, np.nan)
    return value(table), float(low), float(high)


def trend_with_strength(table: pd.DataFrame, score: str, rng: np.random.Generator, **options: Any) -> pd.DataFrame:
    """Analysis 1: rank correlation of strength and a score, for each data set and objective."""
    rows = []
    for (data, objective), part in table.groupby(["data", "objective"]):
        if part["strength"].nunique() > 1:
            value, low, high = over_seeds(part, lambda t: spearman(t["strength"], t[score]), rng, **options)
            rows.append({"data": data, "objective": objective, "rho": value, "low": low, "high": high})
    return pd.DataFrame(rows)


def agreement(table: pd.DataFrame, first: Sequence[str], second: Sequence[str] | None = None) -> pd.DataFrame:
    """Analyses 2, 5 and 6: rank correlations over runs, between two lists of scores or within one."""
    second = first if second is None else second
    return pd.DataFrame([[spearman(table[a], table[b]) for b in second] for a in first], list(first), list(second))


def explained(table: pd.DataFrame, score: str, by: Sequence[str]) -> float:
    """Analysis 4: the share of a score's variance that group means explain, as a regression on one-hot codes does."""
    values = table[score].to_numpy(float)
    means = table.groupby(list(by))[score].transform("mean").to_numpy(float)
    total = float(((values - values.mean()) ** 2).sum())
    return float(((means - values.mean()) ** 2).sum()) / total if total else float("nan")


def explained_by_chance(
    table: pd.DataFrame, score: str, by: Sequence[str], rng: np.random.Generator, replicates: int = 200
) -> float:
    """The share that as many groups of the same sizes explain when the scores are shuffled over the runs."""
    shuffled = table.copy()
    found = []
    for _ in range(replicates):
        shuffled[score] = rng.permutation(table[score].to_numpy(float))
        found.append(explained(shuffled, score, by))
    return float(np.mean(found))


def spread(table: pd.DataFrame, score: str, by: Sequence[str]) -> pd.DataFrame:
    """Analysis 3: quantiles of a score in each group."""
    quantiles = table.groupby(list(by))[score].quantile([0.0, 0.1, 0.5, 0.9, 1.0]).unstack()
    return quantiles.set_axis(["least", "10 %", "median", "90 %", "most"], axis=1).reset_index()


def overlaps(table: pd.DataFrame, score: str) -> float:
    """The share of pairs of objectives whose 10-90 % ranges of a score overlap."""
    ranges = spread(table, score, ["objective"])
    low, high = ranges["10 %"].to_numpy(), ranges["90 %"].to_numpy()
    pairs = [(i, j) for i in range(len(low)) for j in range(i)]
    return float(np.mean([low[i] <= high[j] and low[j] <= high[i] for i, j in pairs]))


def seed_beats_strength(table: pd.DataFrame, score: str) -> float:
    """How often a run of a worse setting of an objective beats a run of its best setting.

    Over all pairs of one run of the setting with the highest mean and one run of another setting of the objective.
    """
    wins: list[bool] = []
    for _, part in table.groupby("objective"):
        means = part.groupby("strength")[score].mean()
        best = part.loc[part["strength"] == means.idxmax(), score]
        rest = part.loc[part["strength"] != means.idxmax(), score]
        wins += [bool(other > good) for good, other in product(best, rest)]
    return float(np.mean(wins)) if wins else float("nan")


def transfer(table: pd.DataFrame, scores: Sequence[str], *, other_data: bool, other_score: bool) -> float:
    """Analysis 5: how often a setting chosen by one score on one data set beats a random setting elsewhere.

    For each score, data set and seed the best setting is taken, and compared with every setting on the target: the
    same or another data set, the same or another score, and another seed. Ties count a half.
    """
    grids = {(data, score): _grid(part, score) for data, part in table.groupby("data") for score in scores}
    rates = []
    for (data, score), source in grids.items():
        for (target_data, target_score), target in grids.items():
            if (data != target_data) != other_data or (score != target_score) != other_score:
                continue
            shared = source.columns.intersection(target.columns)
            for seed, row in source[shared].iterrows():
                rest = target.loc[target.index != seed, shared].to_numpy()  # [seeds, settings]
                chosen = rest[:, [shared.get_loc(row.idxmax())]]
                beaten = (chosen > rest).sum(1) + 0.5 * ((chosen == rest).sum(1) - 1)
                rates += (beaten / (rest.shape[1] - 1)).tolist()
    return float(np.mean(rates)) if rates else float("nan")


def choice_by(table: pd.DataFrame, guide: str, score: str) -> float:
    """Analysis 7: how often the run that a guide likes best beats a random run on a score, within a data set."""
    rates = []
    for _, part in table.groupby("data"):
        values = part[score].to_numpy(float)
        chosen = values[int(np.nanargmax(part[guide].to_numpy(float)))]
        rates.append(((chosen > values).sum() + 0.5 * ((chosen == values).sum() - 1)) / (len(values) - 1))
    return float(np.mean(rates))


def _grid(part: pd.DataFrame, score: str) -> pd.DataFrame:
    """Seeds by settings; a setting that lacks a seed is left out."""
    grid = part.pivot_table(index="seed", columns=["objective", "strength"], values=score)
    return grid.dropna(axis=1)
