"""Seeds needed, against simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unbraid.errors import UserError
from unbraid.study.power import (
    power_of,
    rank_right,
    seeds_for,
    seeds_needed,
    seeds_to_rank,
    spread_over_seeds,
    spread_over_settings,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("difference", "sd", "correlation"), [(0.05, 0.05, 0.0), (0.1, 0.06, 0.0), (0.03, 0.05, 0.7)])
def test_so_many_seeds_detect_the_difference_as_often_as_asked_for(
    difference: float, sd: float, correlation: float
) -> None:
    n = seeds_for(difference, sd, power=0.8, correlation=correlation)
    shared = correlation**0.5 * RNG.standard_normal((20_000, n, 1))
    both = sd * (shared + (1 - correlation) ** 0.5 * RNG.standard_normal((20_000, n, 2)))
    a, b = both[..., 0] + difference, both[..., 1]
    p = (stats.ttest_rel(a, b, axis=1) if correlation else stats.ttest_ind(a, b, axis=1)).pvalue
    assert (p < 0.05).mean() == pytest.approx(power_of(n, difference, sd, correlation=correlation), abs=0.01)
    assert (p < 0.05).mean() > 0.79
    assert power_of(n - 1, difference, sd, correlation=correlation) < 0.8


def test_the_table_of_students_test() -> None:
    """Values of standard tables: an effect of one standard deviation needs 17 a side at 80 %, 23 at 90 %."""
    assert seeds_for(1.0, 1.0, power=0.8) == 17
    assert seeds_for(1.0, 1.0, power=0.9) == 23
    assert seeds_for(-1.0, 1.0, power=0.8) == 17
    assert seeds_for(1.0, 1.0, power=0.8, sides=1) == 14
    assert seeds_for(0.01, 1.0, power=0.8) == pytest.approx(2 * (1.95996 + 0.84162) ** 2 * 1e4, rel=1e-3)


def study(seeds: int = 5) -> pd.DataFrame:
    rows = [
        {"data": data, "objective": o, "setting": k, "seed": s, "mig": level + width * RNG.standard_normal()}
        for data, width in (("dsprites", 0.03), ("shapes3d", 0.12))
        for o, level in (("beta_vae", 0.1), ("dip_vae", 0.5))
        for k in range(50)
        for s in range(seeds)
    ]
    return pd.DataFrame(rows)


def test_the_spread_is_that_within_settings_not_between_them() -> None:
    table = study(seeds=100)
    assert spread_over_seeds(table, "mig", "dsprites") == pytest.approx(0.03, rel=0.02)
    assert spread_over_seeds(table, "mig", "shapes3d", "dip_vae") == pytest.approx(0.12, rel=0.03)
    assert spread_over_seeds(table, "mig") == pytest.approx(((0.03**2 + 0.12**2) / 2) ** 0.5, rel=0.02)
    assert seeds_needed(0.05, table, metric="mig", data="dsprites") in (8, 9, 10)
    assert seeds_needed(0.05, table, metric="mig", data="shapes3d") > 100


def settings(between: float, over_seeds: float, seeds: int = 5, sets: int = 2, count: int = 400) -> pd.DataFrame:
    """Data sets whose levels differ much, with settings whose means differ less."""
    means = 10.0 * np.arange(sets)[:, None] + between * RNG.standard_normal((sets, count))
    mig = means[..., None] + over_seeds * RNG.standard_normal((sets, count, seeds))
    names = [f"set {i}" for i in range(sets)], [f"k = {i}" for i in range(count)], range(seeds)
    index = pd.MultiIndex.from_product(names, names=["data", "setting", "seed"])
    return pd.DataFrame({"mig": mig.ravel()}, index).reset_index().assign(objective="beta_vae")


def test_the_spread_of_settings_is_that_of_their_true_means_within_a_data_set() -> None:
    table = settings(between=0.05, over_seeds=0.1)
    assert spread_over_settings(table, "mig") == pytest.approx(0.05, rel=0.08)  # of the means found: 0.067
    uneven = table.drop(table.index[(table["seed"] > 0) & (table["setting"].str[-1] < "5")])
    assert spread_over_settings(uneven, "mig") == pytest.approx(0.05, rel=0.15)
    assert spread_over_settings(settings(between=0.0, over_seeds=0.1), "mig") < 0.02


@pytest.mark.parametrize(("n", "over_seeds", "between"), [(1, 0.1, 0.05), (3, 0.1, 0.05), (8, 0.02, 0.1)])
def test_so_often_are_two_settings_ranked_right(n: int, over_seeds: float, between: float) -> None:
    true = between * RNG.standard_normal((100_000, 2))
    found = true + over_seeds * RNG.standard_normal((100_000, n, 2)).mean(1)
    right = np.sign(true[:, 0] - true[:, 1]) == np.sign(found[:, 0] - found[:, 1])
    assert right.mean() == pytest.approx(rank_right(n, over_seeds, between), abs=0.005)


@pytest.mark.parametrize("right", [0.7, 0.9])
def test_so_many_seeds_are_the_fewest_that_rank_right(right: float) -> None:
    table = settings(between=0.05, over_seeds=0.1)
    spreads = spread_over_seeds(table, "mig"), spread_over_settings(table, "mig")
    n, low, high = seeds_to_rank(table, metric="mig", right=right)
    assert 1 < low <= n <= high < 2 * n
    assert rank_right(int(n), *spreads) >= right > rank_right(int(n) - 1, *spreads)


def test_what_cannot_be_ranked_is_said() -> None:
    table = settings(between=0.05, over_seeds=0.1)
    with pytest.raises(UserError, match=r"right must lie between 0.5"):
        seeds_to_rank(table, metric="mig", right=0.5)
    with pytest.raises(UserError, match="a single setting with 'mig'"):
        seeds_to_rank(table[table["setting"] == "k = 0"], metric="mig")
    same = seeds_to_rank(table.assign(mig=table["seed"] + 0.0), metric="mig")
    assert same == (np.inf, np.inf, np.inf) and str(same) == "inf (inf to inf)"


def test_the_interval_of_seeds_that_rank_holds_the_right_number_as_often_as_it_says() -> None:
    right = (0.1 / 0.05 * np.tan(0.4 * np.pi)) ** 2  # 37.9
    found = [seeds_to_rank(settings(0.05, 0.1, count=12), metric="mig", level=0.8) for _ in range(300)]
    assert np.mean([low <= np.ceil(right) <= high for _, low, high in found]) == pytest.approx(0.8, abs=0.06)
    assert np.mean([high < right for _, _, high in found]) == pytest.approx(0.1, abs=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"difference": 0.0}, "other than 0"),
        ({"metric": "mog"}, "no score of this study is called 'mog': did you mean 'mig'"),
        ({"data": "dsprite"}, "no data of this study is called 'dsprite': did you mean 'dsprites'"),
        ({"objective": "vae"}, "no objective of this study"),
        ({"power": 1.0}, "between 0 and 1"),
        ({"table": study(seeds=1)}, "no setting of this study has two seeds"),
    ],
)
def test_what_cannot_be_answered_is_said(arguments: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"difference": 0.1, "table": study(), "metric": "mig"}
    with pytest.raises(UserError, match=message):
        seeds_needed(**{**given, **arguments})  # type: ignore[arg-type]
    with pytest.raises(UserError, match="more than 0"):
        seeds_for(0.1, 0.0)
    with pytest.raises(UserError, match="too small to be seen: it takes more than 1,048,576 seeds"):
        seeds_for(1e-5, 1.0)
