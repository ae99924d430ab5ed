"""Z-max variance against a search for groups of rows and a variance written out."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.suite import score
from unbraid.metrics.z_max_variance import _groups, z_max_variance


def test_groups_are_those_of_a_search_through_all_rows() -> None:
    factors = rng(3).integers(0, [9, 9, 4], (150, 3))
    columns = check_arrays(noise(150, 1), factors).factors
    for k in range(3):
        wanted = defaultdict(set)
        for row, values in enumerate(factors.tolist()):
            wanted[tuple(values[:k] + values[k + 1 :])].add(row)
        kept = {frozenset(rows) for rows in wanted.values() if len({factors[row, k] for row in rows}) > 1}
        rows, groups = _groups(columns, k)
        found = {frozenset(rows[groups.values == g].tolist()) for g in range(groups.size)}
        assert found == kept and 0 < len(rows) < 150


def test_two_factors_in_one_latent() -> None:
    """Latent 0 carries factors 0 and 1, latent 1 factor 2: half of the votes of latent 0 are for the other factor."""
    factors = grid(40, (4, 4, 4))
    x = perfect(factors)
    found = z_max_variance(np.stack([x[:, 0] + x[:, 1], x[:, 2]], 1), factors, rng())
    assert found.value == pytest.approx(2 / 3, abs=0.02)
    assert found.parts["rescaled"] == pytest.approx((found.value - 1 / 3) * 3 / 2)
    assert sorted(np.round(found.parts["per_factor"], 6)) == [0, 1, 1]
    assert np.array(found.parts["votes"]).sum() == 5000 and found.parts["votes"][1][:2] == [0, 0]


def test_variances_are_relative_to_those_over_all_rows() -> None:
    """Latent 0 is dominated by factor 1 at rest, so that factor 0 moves latent 1 more in relation, and less in fact."""
    factors = grid(40, (4, 4))
    x = perfect(factors)
    codes = np.stack([2 * x[:, 0] + 20 * x[:, 1], x[:, 0]], 1)
    found = z_max_variance(codes, factors, rng())
    assert found.value == 1 and np.array(found.parts["votes"]).argmax(1).tolist() == [1, 0]


def test_the_smallest_variance_and_the_largest_disagree() -> None:
    """A latent of noise never varies least, but varies most while a factor without a latent is the one that varies."""
    factors = grid(40, (4, 4))
    codes = np.concatenate([perfect(factors)[:, :1], noise(len(factors), 1)], 1)
    found = z_max_variance(codes, factors, rng())
    held = score(codes, factors, metrics=["factor_vae_score"], bootstrap=0)["factor_vae_score"]
    assert found.parts["per_factor"][1] == 1 and held.parts["per_factor"][0] == 1
    assert found.parts["votes"][0][1] == 0 and found.value > 0.75


def test_rows_without_a_neighbour_are_left_out_and_told() -> None:
    sparse = np.concatenate([np.stack([np.arange(200), np.arange(200)], 1), [[0, 1]]])
    found = z_max_variance(perfect(sparse), sparse, rng())
    assert found.value == 1
    assert found.parts["usable_rows"] == pytest.approx([2 / 201, 2 / 201])
    assert "only 1.0% of the rows have another that differs in factor 1 alone" in found.warnings
    apart = np.stack([np.arange(200), np.arange(200)], 1)
    nothing = z_max_variance(perfect(apart), apart, rng())
    assert np.isnan(nothing.value) and "no two rows differ in factor 0 or factor 1 alone" in nothing.warnings[-1]


def test_units_and_dead_latents() -> None:
    factors = grid(20, (6, 5))
    angle = 2 * np.pi * factors / [6, 5]
    circles = np.stack([np.cos(angle), np.sin(angle), np.ones_like(angle)], 2).reshape(len(factors), 6)
    found = z_max_variance(circles, factors, rng(), units=[0, 0, 0, 1, 1, 1])
    assert found.value == 1 and np.array(found.parts["votes"]).shape == (2, 2)
    dead = z_max_variance(np.ones((len(factors), 2)), factors, rng())
    assert dead.value == 0 and "cast no vote" in dead.warnings[-1]


def test_interval_and_chance_level() -> None:
    factors = grid(20)
    options = {"z_max_variance": {"votes": 500, "test_votes": 500}}
    found = score(perfect(factors), factors, metrics=["z_max_variance"], options=options)["z_max_variance"]
    assert found.null == pytest.approx(1 / 3, abs=0.1)
    assert found.params["interval"].startswith("5 bootstrap samples") and found.low == found.high == 1
