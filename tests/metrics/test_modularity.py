"""Modularity of small tables, by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import chi2

from tests.metrics.worlds import grid, rng
from unbraid.metrics.information import table_information
from unbraid.metrics.modularity import _beyond_chance, _empty_rows_and_columns, modularity

FACTORS = grid(20, (4, 3, 5))


def test_information_beside_the_best_counts_by_its_square() -> None:
    """Latent 1 has log 5 of the third factor and log 2 of the first; the third latent is constant."""
    both = 2 * FACTORS[:, 2] + FACTORS[:, 0] // 2
    codes = np.stack([FACTORS[:, 1], both, np.full(len(FACTORS), 2)], 1).astype(float)
    found = modularity(codes, FACTORS, rng())
    share = 1 - (log(2) / log(5)) ** 2 / 2
    assert found.parts["per_latent"] == pytest.approx([1, share, 0], abs=1e-12)
    assert found.parts["mutual_information"][1] == pytest.approx([log(2), 0, log(5)], abs=1e-12)
    assert found.value == found.parts["all"] == pytest.approx((1 + share) / 3, abs=1e-12)
    assert found.parts["active"] == pytest.approx((1 + share) / 2, abs=1e-12)
    assert found.parts["active_latents"] == [0, 1]
    assert found.warnings == (
        "1 of 3 latents are not informative about any factor beyond chance: "
        f"the mean over the others is {(1 + share) / 2:.3f}",
    )
    assert found.params == {"bins": 20, "estimator": "equal", "factor_bins": 20, "factors": [0, 1, 2]}


def test_nothing_is_reported_of_latents_that_are_all_active() -> None:
    found = modularity(FACTORS * 1.0, FACTORS, rng(), bins=10, estimator="quantile", factor_bins=7)
    assert found.value == found.parts["active"] == pytest.approx(1, abs=1e-12) and found.warnings == ()
    assert (found.params["bins"], found.params["estimator"], found.params["factor_bins"]) == (10, "quantile", 7)


def test_without_an_active_latent_there_is_no_mean_over_them() -> None:
    """The second latent has the same share of each value in each bin: exactly no information."""
    codes = np.stack([np.ones(len(FACTORS)), grid(5, (4, 3, 5, 4))[:, 3]], 1)
    found = modularity(codes, grid(5, (4, 3, 5, 4))[:, :3], rng(), bins=5)
    assert found.parts["active"] is None and found.parts["active_latents"] == []
    assert found.warnings == ("2 of 2 latents are not informative about any factor beyond chance: there are no others",)
    assert found.parts["per_latent"][0] == 0 and found.value == found.parts["per_latent"][1] / 2


def test_a_single_factor_has_no_modularity() -> None:
    found = modularity(FACTORS * 1.0, FACTORS[:, :1], rng(), bins=5)
    assert np.isnan(found.value) and found.warnings == ("modularity needs at least two factors that vary",)
    assert (found.params["bins"], found.params["factors"]) == (5, [0])
    assert np.isfinite(modularity(FACTORS * 1.0, FACTORS[:, :2], rng()).value)


def test_degrees_of_freedom_are_those_of_rows_and_columns_that_occur() -> None:
    assert _empty_rows_and_columns(np.array([[0, 2, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]])).tolist() == [2, 1]
    assert _empty_rows_and_columns(np.array([[1, 0], [0, 3]])).tolist() == [0, 0]


@pytest.mark.parametrize("extra", [17, 57])
def test_empty_bins_do_not_make_a_latent_harder_to_be_active(extra: int) -> None:
    """Three values in 120 rows: 2 n I on four degrees of freedom, however many bins are empty."""
    labels = np.repeat([0, 1, 2], 40)
    for hits in range(14, 30, 2):
        code = (labels + (np.arange(120) % 40 >= hits) * (1 + np.arange(120) % 2)) % 3
        table = hits * np.eye(3, dtype=int) + (40 - hits) // 2 * (1 - np.eye(3, dtype=int))
        other = np.tile([0, 1], 60)
        found = modularity(code[:, None] * 1.0, np.stack([labels, other], 1), rng(), bins=3 + extra)
        wanted = 240 * table_information(table) > chi2.ppf(1 - 1e-3 / 2, 4)
        assert (found.parts["active_latents"] == [0]) == wanted


def test_no_information_of_no_freedom_is_not_beyond_chance() -> None:
    assert _beyond_chance(np.zeros((2, 1)), np.zeros((2, 1)), 10).tolist() == [False, False]
    limit = chi2.ppf(1 - 1e-3 / 2, 1) / 20
    found = _beyond_chance(np.array([[0.99 * limit], [1.01 * limit]]), np.zeros((2, 1)), 10)
    assert found.tolist() == [False, True]


def test_a_continuous_factor_is_cut_into_as_many_bins_as_are_asked_for() -> None:
    factors = np.stack([np.arange(240) + 0.5, np.tile([0.5, 1.5], 120)], 1)
    found = modularity(factors, factors, rng(), bins=4, factor_bins=3, estimator="quantile")
    assert found.parts["mutual_information"][0][0] == pytest.approx(
        log(4) + log(3) - sum(-p * log(p) for p in (1 / 4, 1 / 12, 1 / 6, 1 / 6, 1 / 12, 1 / 4)), abs=1e-9
    )
