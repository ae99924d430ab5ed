"""Seeds needed, against simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unbraid.errors import UserError
from unbraid.study.power import power_of, seeds_for, seeds_needed, spread_over_seeds

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
