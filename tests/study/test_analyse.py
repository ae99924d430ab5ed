"""The analyses on tables whose answers are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from unbraid.study import analyse, choosing


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


def test_few_seeds_are_drawn_in_all_ways_that_there_are() -> None:
    """Three seeds have ten draws; the ends stand where the sum of their probabilities passes 2.5 and 97.5 %."""
    table = runs(0.0, 0.0, seeds=3)
    table["score"] = np.array([0.0, 1.0, 5.0])[table["seed"]]

    asked = []

    def cubed(t: pd.DataFrame) -> float:
        asked.append(t)
        return float(t.groupby("seed")["score"].mean().mean() ** 3)

    _, low, high = analyse.over_seeds(table, cubed, np.random.default_rng(0), 10)
    assert len(asked) == 1 + 10
    every = sorted(float(np.mean(drawn)) ** 3 for drawn in product([0.0, 1.0, 5.0], repeat=3))  # all alike probable
    assert [low, high] == [every[0], every[26]]
    _, low, high = analyse.over_seeds(table, cubed, np.random.default_rng(0), 9)  # too few to ask for: at random
    assert {low, high} <= set(every)


def test_the_weights_of_draws_are_their_probabilities() -> None:
    for n in (2, 3, 5):
        found = {tuple(c): w for c, w in analyse.draws_of_seeds(n, np.random.default_rng(0), 1000)}
        counted: dict[tuple[int, ...], float] = {}
        for drawn in product(range(n), repeat=n):
            key = tuple(sorted(drawn))
            counted[key] = counted.get(key, 0) + n**-n
        assert found.keys() == counted.keys()
        assert [found[key] for key in counted] == pytest.approx(list(counted.values()))


def test_pseudo_values_of_a_mean_are_the_values_and_their_error_that_of_the_number() -> None:
    table = runs(0.0, 0.0)
    by_seed = np.random.default_rng(1).standard_normal(6)
    table["score"] = by_seed[table["seed"]]
    found = analyse.pseudo_values(table, lambda t: float(t["score"].mean()))
    np.testing.assert_allclose(found, by_seed)
    errors, truth = [], []
    for seed in range(300):  # the square of a mean: the delta method has the error 2 |mean| sd / root n
        values = np.random.default_rng(seed).normal(3, 1, 6)
        table["score"] = values[table["seed"]]
        drawn = analyse.pseudo_values(table, lambda t: float(t.groupby("seed")["score"].mean().mean() ** 2))
        errors.append(drawn.std(ddof=1) / 6**0.5)
        truth.append(drawn.mean())
    assert np.mean(errors) == pytest.approx(np.std(truth), rel=0.1)
    assert np.mean(truth) == pytest.approx(9, abs=0.3)  # without the bias of 1/6
    assert np.isnan(analyse.pseudo_values(runs(1.0, 1.0, seeds=1), lambda t: 0.0)).all()


def test_what_is_explained_beyond_chance_is_nothing_for_noise() -> None:
    drawn = [runs(0.0, 1.0, seed=seed) for seed in range(40)]
    raw = np.mean([analyse.explained(t, "score", ["objective", "strength"]) for t in drawn])
    adjusted = np.mean([analyse.shares_beyond_chance(t, ["score"], ["objective", "strength"]) for t in drawn])
    assert raw > 0.05
    assert adjusted == pytest.approx(0, abs=0.02)
    sure = runs(1.0, 0.0)
    (share,) = analyse.shares_beyond_chance(sure, ["score"], ["objective", "strength"])
    assert share == pytest.approx(analyse.explained(sure, "score", ["objective", "strength"]), abs=0.05)


def test_transfer_is_sure_where_settings_decide_and_a_coin_where_seeds_do() -> None:
    for other_data, other_score in product([False, True], repeat=2):
        kind = {"other_data": other_data, "other_score": other_score}
        assert choosing.transfer(runs(1.0, 0.0), ["score", "other"], **kind) == pytest.approx(1)
        chance = [choosing.transfer(runs(0.0, 1.0, seed=s), ["score", "other"], **kind) for s in range(8)]
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
    assert choosing.transfer(only, ["score"], other_data=False, other_score=False) == pytest.approx(np.mean(wins))


def test_overlap_and_luck() -> None:
    assert analyse.overlaps(runs(10.0, 0.1), "score") == 0
    assert analyse.overlaps(runs(0.0, 1.0), "score") == 1
    assert analyse.seed_beats_strength(runs(10.0, 0.1), "score") == 0
    assert 0.2 < analyse.seed_beats_strength(runs(0.0, 1.0), "score") < 0.5


def test_runs_without_a_score_are_as_if_they_were_not_there() -> None:
    table = runs(0.0, 1.0)
    one = table.assign(score=table["score"].where(table["objective"] != "z"))
    assert analyse.overlaps(one, "score") == 1
    some = table.assign(score=table["score"].where(table["seed"] < 4))
    known = table[table["seed"] < 4]
    assert analyse.seed_beats_strength(some, "score") == analyse.seed_beats_strength(known, "score")
    assert np.isnan(analyse.overlaps(table.assign(score=np.nan), "score"))


def test_a_guide_that_knows_chooses_the_best_run() -> None:
    table = runs(1.0, 1.0)
    assert choosing.choice_by(table.assign(guide=table["score"]), "guide", "score") == pytest.approx(1)
    assert choosing.choice_by(table.assign(guide=-table["score"]), "guide", "score") == pytest.approx(0)


def test_agreement_is_a_matrix_of_rank_correlations() -> None:
    table = runs(1.0, 2.0)
    found = analyse.agreement(table, ["score", "other"])
    assert found.loc["score", "other"] == pytest.approx(spearmanr(table["score"], table["other"]).statistic)
    assert found.loc["score", "score"] == pytest.approx(1)


def test_spread_gives_quantiles_of_each_group() -> None:
    table = runs(1.0, 1.0)
    found = analyse.spread(table, "score", ["objective"]).set_index("objective")
    assert found.loc["y", "median"] == pytest.approx(table.loc[table["objective"] == "y", "score"].median())


def test_many_shares_are_the_single_ones_and_unknown_scores_do_not_count() -> None:
    table = runs(0.3, 1.0)
    ways = {"o": ["objective"], "both": ["objective", "strength"]}
    found = analyse.shares(table, ["score", "other"], ways)
    assert found.loc["other", "both"] == pytest.approx(analyse.explained(table, "other", ["objective", "strength"]))
    holes = pd.concat([table, table.head(5).assign(score=np.nan)], ignore_index=True)
    assert analyse.explained(holes, "score", ["objective"]) == pytest.approx(found.loc["score", "o"])


def test_one_seed_has_no_interval() -> None:
    table = runs(1.0, 1.0, seeds=1)
    value, low, high = analyse.over_seeds(table, lambda t: float(t["score"].mean()), np.random.default_rng(0), 10)
    assert value == pytest.approx(table["score"].mean())
    assert np.isnan(low) and np.isnan(high)
    found = choosing.transfer_over_seeds(
        table, ["score"], np.random.default_rng(0), other_data=True, other_score=False, replicates=10
    )
    assert np.isnan(found).all()


def test_averages_have_the_interval_of_a_mean_over_seeds() -> None:
    """Six seeds of noise 1: the bootstrap's standard error is their spread over the root of six."""
    table = runs(1.0, 1.0)
    found = analyse.averages(table, ["score", "other"], ["data", "objective"], np.random.default_rng(0), replicates=400)
    assert len(found) == 2 * 2 * 3
    one = found[(found["data"] == "b") & (found["objective"] == "y") & (found["score"] == "other")].iloc[0]
    part = table[(table["data"] == "b") & (table["objective"] == "y")]
    assert one["mean"] == pytest.approx(part["other"].mean())
    by_seed = part.groupby("seed")["other"].mean()
    assert one["high"] - one["low"] == pytest.approx(2 * 1.96 * by_seed.std(ddof=0) / np.sqrt(6), rel=0.2)


def test_a_repeated_seed_is_no_other_seed() -> None:
    """Scores of pure luck: were a seed compared with its own copy, the choice would seem to transfer."""
    rates = [
        choosing.transfer_over_seeds(
            runs(0.0, 1.0, seed=s), ["score"], np.random.default_rng(s), other_data=False, other_score=False,
            replicates=50,
        )
        for s in range(6)
    ]  # fmt: skip
    assert np.mean([(low + high) / 2 for _, low, high in rates]) == pytest.approx(0.5, abs=0.06)
    drawn = [
        analyse.over_seeds(
            runs(0.0, 1.0, seeds=3, seed=s),
            lambda t: choosing.transfer(t, ["score"], other_data=False, other_score=False),
            np.random.default_rng(0),
            30,
        )
        for s in range(6)
    ]
    assert np.mean([high for _, _, high in drawn]) < 0.75


def test_transfer_uses_settings_that_all_seeds_have() -> None:
    """The best setting of all lacks a seed: it cannot be compared, and the second best is chosen."""
    table = runs(1.0, 0.0)
    lacking = table[~((table["setting"] == 11) & (table["seed"] == 3))]
    kind = {"other_data": True, "other_score": False}
    assert choosing.transfer(lacking, ["score"], **kind) == pytest.approx(1)
    between = choosing.transfer_between_seeds(lacking, ["score"], **kind)
    assert np.isnan(np.diag(between)).all()
    assert between.notna().to_numpy().sum() == 6 * 5


def test_choices_follow_the_sign_of_the_guide_and_skip_unknown_values() -> None:
    table = runs(1.0, 1.0).assign(bad=np.nan)
    table["cost"] = -table["score"]
    table.loc[table["score"].idxmax(), "cost"] = np.nan
    found = choosing.choices(table, {"score": 1, "cost": -1, "bad": 1}, ["score", "other"])
    beaten = []
    for _, part in table.groupby("data"):
        chosen = part["other"][part["score"].idxmax()]
        beaten.append((chosen > part["other"]).sum() / (len(part) - 1))
    assert found.loc["score", "other"] == pytest.approx(np.mean(beaten))
    assert found.loc["cost", "score"] == pytest.approx((1 + 70 / 71) / 2)  # on one data set the second best
    assert found.loc["bad"].isna().all()


def test_efficiency_is_the_accuracy_of_few_labels_over_that_of_many() -> None:
    table = pd.DataFrame({"d.mean.10": [0.1], "d.mean.100": [0.3], "d.mean.1000": [0.6], "e.mean.50": [1.0]})
    found, sizes = analyse.with_efficiency(table, ["d", "e"])
    assert sizes == {"d": (100, 1000)}
    assert found["d.efficiency"].item() == pytest.approx(0.5)
    found, sizes = analyse.with_efficiency(table.drop(columns="d.mean.1000"), ["d"])
    assert sizes == {"d": (10, 100)}
    assert found["d.efficiency"].item() == pytest.approx(1 / 3)


def test_the_error_of_a_mean_is_students() -> None:
    """What the jackknife finds for a mean is the standard error of the seeds' own values."""
    table = pd.DataFrame({"seed": np.repeat(range(5), 3), "x": np.random.default_rng(0).standard_normal(15)})
    own = table.groupby("seed")["x"].mean()
    found, error = analyse.jackknife(table, lambda t: pd.DataFrame({"mean": {"x": t["x"].mean()}}))
    assert found["mean"]["x"] == pytest.approx(own.mean(), abs=1e-12)
    assert error["mean"]["x"] == pytest.approx(2.7764451 * own.std() / 5**0.5, rel=1e-6)


def test_the_jackknife_corrects_the_bias_of_a_variance_and_covers_it() -> None:
    """Of five seeds the plug-in variance is a fifth too low; the jackknife's is not."""
    rng, found, covered = np.random.default_rng(0), [], 0
    for _ in range(400):
        table = pd.DataFrame({"seed": range(5), "x": rng.standard_normal(5)})
        value, error = analyse.jackknife(table, lambda t: pd.DataFrame([[t["x"].var(ddof=0)]]))
        found.append(float(value.iloc[0, 0]))
        covered += abs(found[-1] - 1) < float(error.iloc[0, 0])
    assert np.mean(found) == pytest.approx(1, abs=0.08)
    assert covered > 0.75 * 400
    value, error = analyse.jackknife(
        pd.DataFrame({"seed": [1, 1], "x": [2.0, 4.0]}), lambda t: t[["x"]].mean().to_frame()
    )
    assert value.iloc[0, 0] == 3 and np.isnan(error.iloc[0, 0])
