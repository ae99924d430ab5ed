"""What a study says, as functions on one table: a row for each run.

Columns: `data`, `objective`, `strength`, `seed`, and a column for each score; `setting` names all arguments of an
objective that vary, and where it is missing the strength takes its place. Intervals come from a bootstrap over seeds:
whole seeds are drawn again with replacement, so that what runs share by their seed stays together. With few seeds all
possible draws are taken, each with its probability. A draw numbers its seeds anew, so that a seed drawn twice counts as
two; the column `origin` holds the seeds that they are copies of. With one seed there is no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

LEVEL = 0.95
REPLICATES = 1000
FEW = 100  # labels, for the numerator of the efficiency

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
    found = intervals(table, lambda t: pd.DataFrame([[value(t)]]), rng, replicates)
    estimate, low, high = (float(each.iloc[0, 0]) for each in found)
    return estimate, low, high


def intervals(
    table: pd.DataFrame,
    values: Callable[[pd.DataFrame], pd.DataFrame],
    rng: np.random.Generator,
    replicates: int = REPLICATES,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """A frame of numbers of the table, and the frames of their low and high ends by bootstrap over seeds."""
    found = values(table)
    ends = np.full((2, *found.shape), np.nan)
    draws = list(_draws(table, rng, replicates))
    if draws:
        drawn = np.stack([values(again).reindex_like(found).to_numpy(float) for again, _ in draws])
        weights = np.array([weight for _, weight in draws])
        for cell in np.ndindex(found.shape):
            ends[:, *cell] = interval_of(drawn[:, *cell], weights)
    low, high = (pd.DataFrame(end, found.index, found.columns) for end in ends)
    return found, low, high


def interval_of(values: Matrix, weights: Matrix) -> Matrix:
    """The two ends of the interval that holds the middle 95 % of the weight; only finite values count."""
    known = np.isfinite(values)
    if not known.any():
        return np.full(2, np.nan)
    order = np.argsort(values[known])
    below = np.cumsum(weights[known][order])
    places = np.searchsorted(below / below[-1], [(1 - LEVEL) / 2 - 1e-12, (1 + LEVEL) / 2 - 1e-12])
    return np.asarray(values[known][order][places])


def _draws(table: pd.DataFrame, rng: np.random.Generator, replicates: int) -> Iterator[tuple[pd.DataFrame, float]]:
    """Tables of as many seeds as this one, drawn with replacement, each with its weight; none of a single seed."""
    seeds = table["seed"].unique()
    rows = [np.flatnonzero(table["seed"] == seed) for seed in seeds]
    for chosen, weight in draws_of_seeds(len(seeds), rng, replicates if len(seeds) > 1 else 0):
        sizes = [len(rows[place]) for place in chosen]
        again = table.take(np.concatenate([rows[place] for place in chosen])).reset_index(drop=True)
        copies = {"seed": np.repeat(np.arange(len(seeds)), sizes), "origin": np.repeat(seeds[chosen], sizes)}
        yield again.assign(**copies), weight


def draws_of_seeds(n: int, rng: np.random.Generator, replicates: int) -> Iterator[tuple[NDArray[np.int64], float]]:
    """Draws of n from n seeds with replacement, with weights: all possible ones if `replicates` allows, else random."""
    if comb(2 * n - 1, n) > replicates:
        yield from ((rng.integers(n, size=n), 1.0) for _ in range(replicates))
        return
    for chosen in combinations_with_replacement(range(n), n):
        orders = factorial(n)
        for count in np.bincount(chosen):
            orders //= factorial(int(count))
        yield np.array(chosen), orders / n**n


def pseudo_values(table: pd.DataFrame, value: Callable[[pd.DataFrame], float]) -> Matrix:
    """What each seed adds to a number of the table: n times that of all seeds, less n - 1 times that without the seed.

    Their mean and standard error are those of the number by the jackknife (Tukey 1958), which with few seeds is more
    honest than a bootstrap; of a mean over seeds they are the seeds' own values.
    """
    seeds, whole = np.unique(table["seed"]), value(table)
    if len(seeds) < 2:
        return np.full(len(seeds), np.nan)
    without = np.array([value(table[table["seed"] != seed]) for seed in seeds])
    return len(seeds) * whole - (len(seeds) - 1) * without


def jackknife(table: pd.DataFrame, values: Callable[[pd.DataFrame], pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A frame of numbers of the table corrected for bias, and the half widths of their 95 % intervals over seeds.

    Both are of the pseudo-values (see there), the second by Student's t. With five seeds such an interval covers what
    it should; one by bootstrap is too narrow.
    """
    seeds, whole = np.unique(table["seed"]), values(table)
    if len(seeds) < 2:
        return whole, whole.map(lambda _: float("nan"))
    without = np.stack([values(table[table["seed"] != seed]).reindex_like(whole).to_numpy(float) for seed in seeds])
    each = len(seeds) * whole.to_numpy(float) - (len(seeds) - 1) * without
    error = student.ppf((1 + LEVEL) / 2, len(seeds) - 1) * each.std(0, ddof=1) / len(seeds) ** 0.5
    mean, error = (pd.DataFrame(found, whole.index, whole.columns) for found in (each.mean(0), error))
    return mean, error


def averages(
    table: pd.DataFrame, scores: Sequence[str], by: Sequence[str], rng: np.random.Generator, **options: Any
) -> pd.DataFrame:
    """Analyses 1 and 3: the mean of each score in each group; columns: those of `by`, score, mean, low, high."""

    def means(t: pd.DataFrame) -> pd.DataFrame:
        return t.groupby(list(by), dropna=False)[list(scores)].mean()

    columns = table[list(dict.fromkeys(["seed", *by, *scores]))]
    mean, low, high = (each.rename_axis("score", axis=1) for each in intervals(columns, means, rng, **options))
    long = [each.stack(future_stack=True).rename(name) for name, each in (("mean", mean), ("low", low), ("high", high))]
    return pd.concat(long, axis=1).reset_index()


def trend_with_strength(table: pd.DataFrame, score: str, rng: np.random.Generator, **options: Any) -> pd.DataFrame:
    """Analysis 1: rank correlation of strength and a score, for each data set and objective."""
    rows = []
    for (data, objective), part in table.groupby(["data", "objective"]):
        if part["strength"].nunique() > 1:
            value, low, high = over_seeds(part, lambda t: spearman(t["strength"], t[score]), rng, **options)
            rows.append({"data": data, "objective": objective, "rho": value, "low": low, "high": high})
    return pd.DataFrame(rows, columns=["data", "objective", "rho", "low", "high"])


def agreement(table: pd.DataFrame, first: Sequence[str], second: Sequence[str] | None = None) -> pd.DataFrame:
    """Analyses 2, 5 and 6: rank correlations over runs, between two lists of scores or within one."""
    second = first if second is None else second
    values = table[list(dict.fromkeys([*first, *second]))].astype(float).replace([np.inf, -np.inf], np.nan)
    return values.corr("spearman", min_periods=3).loc[list(first), list(second)]


def explained(table: pd.DataFrame, score: str, by: Sequence[str]) -> float:
    """Analysis 4: the share of a score's variance that group means explain, as a regression on one-hot codes does."""
    return _share(table[score].to_numpy(float), table.groupby(list(by), dropna=False).ngroup().to_numpy())


def shares_beyond_chance(table: pd.DataFrame, scores: Sequence[str], by: Sequence[str]) -> Matrix:
    """`explained` for many scores, less what as many groups explain by chance: the adjusted share (Wherry 1931)."""
    groups = table.groupby(list(by), dropna=False).ngroup().to_numpy()
    return np.array([_beyond_chance(table[score].to_numpy(float), groups) for score in scores])


def _beyond_chance(values: Matrix, groups: NDArray[Any]) -> float:
    n, count = int(np.isfinite(values).sum()), len(np.unique(groups[np.isfinite(values)]))
    return 1 - (1 - _share(values, groups)) * (n - 1) / (n - count) if n > count else float("nan")


def shares(table: pd.DataFrame, scores: Sequence[str], by: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """`explained` for many scores (rows) and named ways to group the runs (columns)."""
    groups = {name: table.groupby(list(keys), dropna=False).ngroup().to_numpy() for name, keys in by.items()}
    values = {score: table[score].to_numpy(float) for score in scores}
    return pd.DataFrame({name: {s: _share(v, ids) for s, v in values.items()} for name, ids in groups.items()})


def explained_by_chance(
    table: pd.DataFrame, score: str, by: Sequence[str], rng: np.random.Generator, replicates: int = 200
) -> float:
    """The share that as many groups of the same sizes explain when the scores are shuffled over the runs."""
    values, groups = table[score].to_numpy(float), table.groupby(list(by), dropna=False).ngroup().to_numpy()
    return float(np.mean([_share(rng.permutation(values), groups) for _ in range(replicates)]))


def _share(values: Matrix, groups: NDArray[Any]) -> float:
    known = np.isfinite(values)
    values, groups = values[known], groups[known]
    if not len(values) or np.ptp(values) == 0:
        return float("nan")
    counts = np.bincount(groups)
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    return float((counts * (means - values.mean()) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def spread(table: pd.DataFrame, score: str, by: Sequence[str]) -> pd.DataFrame:
    """Analysis 3: quantiles of a score in each group."""
    quantiles = table.groupby(list(by), dropna=False)[score].quantile([0.0, 0.1, 0.5, 0.9, 1.0]).unstack()
    return quantiles.set_axis(["least", "10 %", "median", "90 %", "most"], axis=1).reset_index()


def overlaps(table: pd.DataFrame, score: str) -> float:
    """The share of pairs of objectives whose 10-90 % ranges of a score overlap."""
    table = table[table[score].notna()]
    values = table[score].to_numpy(float)
    ranges = [np.quantile(values[rows], [0.1, 0.9]) for rows in table.groupby("objective").indices.values()]
    overlap = [a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(ranges, 2)]
    return float(np.mean(overlap)) if overlap else float("nan")


def seed_beats_strength(table: pd.DataFrame, score: str) -> float:
    """How often a run of a worse setting of an objective beats a run of its best setting.

    Over all pairs of one run of the setting with the highest mean and one run of another setting of the objective.
    """
    table = table[table[score].notna()]
    values, strength = table[score].to_numpy(float), table["strength"].to_numpy()
    means = table.groupby(["objective", "strength"])[score].transform("mean").to_numpy(float)
    wins, pairs = 0, 0
    for rows in table.groupby("objective").indices.values():
        if np.isnan(means[rows]).all():
            continue
        is_best = strength[rows] == strength[rows[np.nanargmax(means[rows])]]
        beaten = values[rows[~is_best]] > values[rows[is_best]][:, None]
        wins, pairs = wins + int(beaten.sum()), pairs + beaten.size
    return wins / pairs if pairs else float("nan")


def with_efficiency(table: pd.DataFrame, labels: Sequence[str]) -> tuple[pd.DataFrame, dict[str, tuple[int, int]]]:
    """Analysis 6: the table with LABEL.efficiency, and the two numbers of labels whose accuracies it is the ratio of.

    For each downstream score: the accuracy with 100 labels (the fewest, where 100 were not asked for) over that with
    the most. Nothing is added where there are fewer than two numbers of labels.
    """
    sizes: dict[str, tuple[int, int]] = {}
    table = table.copy()
    for label in labels:
        prefix = f"{label}.mean."
        known = sorted(int(c.removeprefix(prefix)) for c in table.columns if c.startswith(prefix))
        if len(known) > 1:
            few, many = FEW if FEW in known[:-1] else known[0], known[-1]
            table[f"{label}.efficiency"] = table[f"{prefix}{few}"] / table[f"{prefix}{many}"]
            sizes[label] = few, many
    return table, sizes


def finite_mean(values: Matrix) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else float("nan")
