"""How good a setting or a run is that was chosen by scores from elsewhere, or without labels. Tables: analyse.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from unbraid.study.analyse import REPLICATES, Estimate, Matrix, draws_of_seeds, finite_mean, interval_of


def transfer(table: pd.DataFrame, scores: Sequence[str], *, other_data: bool, other_score: bool) -> float:
    """Analysis 5: how often a setting chosen by one score on one data set beats a random setting elsewhere.

    For each score, data set and seed the best setting is taken, and compared with every setting on the target: the
    same or another data set, the same or another score, and another seed. Ties count a half.
    """
    return finite_mean(transfer_between_seeds(table, scores, other_data=other_data, other_score=other_score).to_numpy())


def transfer_over_seeds(
    table: pd.DataFrame,
    scores: Sequence[str],
    rng: np.random.Generator,
    *,
    other_data: bool,
    other_score: bool,
    replicates: int = REPLICATES,
) -> Estimate:
    """The same with its interval; seeds are drawn again as sources and as targets, never one against its copy."""
    rates = transfer_between_seeds(table, scores, other_data=other_data, other_score=other_score).to_numpy()
    draws = list(draws_of_seeds(len(rates), rng, replicates if len(rates) > 1 else 0))
    drawn = np.array([finite_mean(rates[np.ix_(chosen, chosen)]) for chosen, _ in draws])
    low, high = interval_of(drawn, np.array([weight for _, weight in draws]))
    return finite_mean(rates), float(low), float(high)


def transfer_between_seeds(
    table: pd.DataFrame, scores: Sequence[str], *, other_data: bool, other_score: bool
) -> pd.DataFrame:
    """The rate of `transfer` from each seed (rows) to each other seed (columns); NaN from a seed to itself."""
    seeds, place = np.unique(table["seed"], return_inverse=True)
    origin = table.groupby("seed")["origin"].first().to_numpy() if "origin" in table else seeds
    setting = table.groupby(["objective", "setting" if "setting" in table else "strength"], dropna=False).ngroup()
    cells = (place, setting.to_numpy())
    grids = [(d, s, _grid(table, cells, d, s)) for d in table["data"].unique() for s in scores]
    total, count = np.zeros((2, len(seeds), len(seeds)))
    beaten: dict[tuple[Any, ...], Matrix] = {}  # ranking takes longest, and most sources share their settings
    for (data, score, source), (target_data, target_score, target) in product(grids, repeat=2):
        if (data != target_data) != other_data or (score != target_score) != other_score:
            continue
        shared = np.isfinite(source).any(0) & np.isfinite(target).any(0)
        known = np.ix_(np.isfinite(source).any(1), np.isfinite(target).any(1))
        if shared.sum() > 1 and known[0].size and known[1].size:
            chosen = source[known[0].ravel()][:, shared].argmax(1)
            ranked = (target_data, target_score, shared.tobytes())
            if ranked not in beaten:
                beaten[ranked] = _beaten(target[known[1].ravel()][:, shared], 1)
            total[known] += beaten[ranked][:, chosen].T
            count[known] += 1
    allowed = (count > 0) & (origin[:, None] != origin[None])
    return pd.DataFrame(np.where(allowed, total / np.maximum(count, 1), np.nan), seeds, seeds)


def choice_by(table: pd.DataFrame, guide: str, score: str) -> float:
    """Analysis 7: how often the run that a guide likes best beats a random run on a score, within a data set."""
    return float(choices(table, {guide: 1}, [score]).iloc[0, 0])


def choices(table: pd.DataFrame, guides: Mapping[str, int], scores: Sequence[str]) -> pd.DataFrame:
    """Analyses 5 and 7: `choice_by` for all guides and scores; the sign of a guide is -1 where less is better."""
    found = []
    for _, part in table.groupby("data"):
        beaten = _beaten(part[list(scores)].to_numpy(float), 0)  # [runs, scores]
        liked = part[list(guides)].to_numpy(float) * np.array(list(guides.values()))  # [runs, guides]
        best = np.where(np.isfinite(liked), liked, -np.inf).argmax(0)
        found.append(np.where(np.isfinite(liked).any(0)[:, None], beaten[best], np.nan))
    stack = np.stack(found)  # [data, guides, scores]
    known = np.isfinite(stack).sum(0)
    means = np.where(known > 0, np.nansum(stack, 0) / np.maximum(known, 1), np.nan)
    return pd.DataFrame(means, list(guides), list(scores))


def _grid(table: pd.DataFrame, cells: tuple[NDArray[Any], NDArray[Any]], data: str, score: str) -> Matrix:
    """Seeds by settings on one data set; a setting that lacks one of its seeds is left out (NaN)."""
    here = (table["data"] == data).to_numpy() & np.isfinite(table[score].to_numpy(float))
    total, count = np.zeros((2, cells[0].max() + 1, cells[1].max() + 1))
    place = (cells[0][here], cells[1][here])
    np.add.at(total, place, table[score].to_numpy(float)[here])
    np.add.at(count, place, 1)
    whole = (count > 0) & ((count > 0) == (count > 0).any(1, keepdims=True)).all(0)
    return np.where(whole, total / np.maximum(count, 1), np.nan)


def _beaten(values: Matrix, axis: int) -> Matrix:
    """The share of the others along the axis that each value beats; ties count a half, unknown values not at all."""
    ranks = rankdata(values, axis=axis, nan_policy="omit")
    others = np.isfinite(values).sum(axis, keepdims=True) - 1
    return np.asarray(np.where(others > 0, (ranks - 1) / np.maximum(others, 1), np.nan))
