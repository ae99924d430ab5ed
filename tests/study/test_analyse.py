"""The analyses on tables whose answers are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from unbraid.study import analyse


def runs(effect: float, noise: float, seeds: int = 6, seed: int = 0) -> pd.DataFrame:
    """Two data sets, three objectives, four strengths; the score is effect * setting + noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for data, objective, strength, run in product(["a", "b"], ["x", "y", "z"], [1, 2, 4, 8], range(seeds)):
        setting = 4 * "xyz".index(objective) + [1, 2, 4, 8].index(strength)
        base = effect * setting
        rows.append(
            {
                "data": data, "objective": objective, "strength": strength, "seed": run, "setting": setting,
                "score": base + noise * rng.standard_normal(), "other": base + noise * rng.standard_normal(),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def test_spearman_against_scipy_and_where_it_is_undefined() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 30), rng.integers(0, 5, 30)
    assert analyse.spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert np.isnan(analyse.spearman(a, np.ones(30)))
    assert analyse.spearman([1, 2, 3, np.nan], [1, 4, 9, 0]) == pytest.approx(1)


def test_variance_explained_equals_a_regression_on_one_hot_codes() -> None:
    table = runs(0.3, 1.0)
    for by in (["objective"], ["objective", "strength"]):
        groups = table.groupby(by).ngroup().to_numpy()
        design = np.eye(groups.max() + 1)[groups]
        fit = design @ np.linalg.lstsq(design, table["score"], rcond=None)[0]
        expected = 1 - ((table["score"] - fit) ** 2).sum() / ((table["score"] - table["score"].mean()) ** 2).sum()
        assert analyse.explained(table, "score", by) == pytest.approx(expected)
    assert analyse.explained(runs(1.0, 0.0), "score", ["objective", "strength"]) == pytest.approx(1)


def test_groups_explain_some_variance_by_chance() -> None:
    """g groups over n runs explain (g - 1) / (n - 1) of pure noise."""
    table = runs(0.0, 1.0)
    found = analyse.explained_by_chance(table, "score", ["objective", "strength"], np.random.default_rng(0))
    assert found == pytest.approx(11 / 143, abs=0.01)


def test_a_trend_is_found_and_its_interval_excludes_zero() -> None:
    found = analyse.trend_with_strength(runs(1.0, 0.5), "score", np.random.default_rng(0), replicates=100)
    assert len(found) == 6
    assert (found["rho"] > 0.8).all()
    assert (found["low"] > 0).all()
    flat = analyse.trend_with_strength(runs(0.0, 1.0), "score", np.random.default_rng(0), replicates=100)
    assert ((flat["low"] < 0) & (flat["high"] > 0)).sum() >= 5


def test_intervals_are_over_seeds_not_over_runs() -> None:
    """A score that its seed alone decides has the spread of six numbers, however many runs share them."""
    table = runs(0.0, 0.0)
    by_seed = np.random.default_rng(1).standard_normal(6)
    table["score"] = by_seed[table["seed"]]
    value, low, high = analyse.over_seeds(table, lambda t: float(t["score"].mean()), np.random.default_rng(0), 400)
    assert value == pytest.approx(by_seed.mean())
    expected = 2 * 1.96 * by_seed.std() / np.sqrt(6)
    assert high - low == pytest.approx(expected, rel=0.15)


def test_transfer_is_sure_where_settings_decide_and_a_coin_where_seeds_do() -> None:
    for other_data, other_score in product([False, True], repeat=2):
        kind = {"other_data": other_data, "other_score": other_score}
        assert analyse.transfer(runs(1.0, 0.0), ["score", "other"], **kind) == pytest.approx(1)
        chance = [analyse.transfer(runs(0.0, 1.0, seed=s), ["score", "other"], **kind) for s in range(8)]
        assert np.mean(chance) == pytest.approx(0.5, abs=0.06)


def test_transfer_never_compares_a_seed_with_itself() -> None:
    """A setting that is best by the luck of one seed would win if its own seed were the target."""
    table = runs(0.0, 1.0)
    grid = table[table["data"] == "a"].pivot(index="seed", columns=["objective", "strength"], values="score")
    wins = []
    for s, row in grid.iterrows():
        best = row.idxmax()
        for t, other in grid.iterrows():
            if t != s:
                wins.append(np.mean([float(other[best] > other[c]) for c in grid.columns if c != best]))
    only = table[table["data"] == "a"]
    assert analyse.transfer(only, ["score"], other_data=False, other_score=False) == pytest.approx(np.mean(wins))


def test_overlap_and_luck() -> None:
    assert analyse.overlaps(runs(10.0, 0.1), "score") == 0
    assert analyse.overlaps(runs(0.0, 1.0), "score") == 1
    assert analyse.seed_beats_strength(runs(10.0, 0.1), "score") == 0
    assert 0.2 < analyse.seed_beats_strength(runs(0.0, 1.0), "score") < 0.5


def test_a_guide_that_knows_chooses_the_best_run() -> None:
    table = runs(1.0, 1.0)
    assert analyse.choice_by(table.assign(guide=table["score"]), "guide", "score") == pytest.approx(1)
    assert analyse.choice_by(table.assign(guide=-table["score"]), "guide", "score") == pytest.approx(0)


def test_agreement_is_a_matrix_of_rank_correlations() -> None:
    table = runs(1.0, 2.0)
    found = analyse.agreement(table, ["score", "other"])
    assert found.loc["score", "other"] == pytest.approx(spearmanr(table["score"], table["other"]).statistic)
    assert found.loc["score", "score"] == pytest.approx(1)


def test_spread_gives_quantiles_of_each_group() -> None:
    table = runs(1.0, 1.0)
    found = analyse.spread(table, "score", ["objective"]).set_index("objective")
    assert found.loc["y", "median"] == pytest.approx(table.loc[table["objective"] == "y", "score"].median())
