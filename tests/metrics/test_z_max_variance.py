"""Z-max variance against a search for groups of rows and a variance written out."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.interventions import RowsByValue
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


def test_votes_by_a_loop_over_batches() -> None:
    """Two latents of one unit count by the mean of their shares of variance; of constant ones, one is alone."""
    factors = rng(3).integers(0, [3, 4], (120, 2))
    x = (factors @ [[1, 0.3, 0.2], [0.2, 1, 5]] + noise(120, 3) + 300).astype(np.float32)
    codes = np.concatenate([np.ones((120, 2), np.float32), x], 1)[:, [0, 2, 3, 4, 1]]
    units, wide = [0, 1, 1, 2, 2], codes.astype(np.float64)
    found = z_max_variance(codes, factors, rng(), batch=5, votes=60, test_votes=50, units=units)
    draw = rng()
    varied, cast, usable = draw.integers(2, size=110), np.zeros(110, int), []
    for k in range(2):
        rows, column = _groups(check_arrays(codes, factors).factors, k)
        usable.append(len(rows) / 120)
        for vote, some in zip(
            np.flatnonzero(varied == k), RowsByValue(column).batches(int((varied == k).sum()), 5, draw), strict=True
        ):
            share = [0, *(wide[rows[some], j].var() / wide[:, j].var() for j in (1, 2, 3)), 0]
            cast[vote] = np.argmax([0, (share[1] + share[2]) / 2, (share[3] + share[4]) / 2])
    table = [[int(((cast == unit) & (varied == k))[:60].sum()) for k in range(2)] for unit in range(3)]
    named = np.array([np.argmax(row) for row in table])[cast]
    assert found.parts["votes"] == table and table[0] == [0, 0]
    value = float((named == varied)[60:].mean())
    assert found.value == pytest.approx(value) and 0.5 < value < 1
    assert found.parts["train"] == pytest.approx(float((named == varied)[:60].mean()))
    each = [float((named == varied)[60:][varied[60:] == k].mean()) for k in range(2)]
    assert found.parts["per_factor"] == pytest.approx(each)
    assert found.parts["rescaled"] == pytest.approx(2 * value - 1) and found.parts["usable_rows"] == usable
    assert found.params == {"batch": 5, "votes": 60, "factor_bins": 3, "factors": [0, 1]} and found.warnings == ()


def test_a_constant_latent_never_votes_even_where_no_other_varies() -> None:
    """The code is the first factor: while the second varies, nothing does, and the first latent that is alive votes."""
    factors = grid(10, (3, 3))
    codes = np.stack([np.full(90, 5.0), factors[:, 0]], 1)
    found = z_max_variance(codes, factors, rng(), votes=40, test_votes=40)
    assert found.parts["votes"][0] == [0, 0] and sum(found.parts["votes"][1]) == 40


def test_few_rows_with_a_neighbour_are_reported_below_a_tenth() -> None:
    """Two of twenty rows, and two of twenty-one, differ in one factor alone."""
    for n, told in ((19, False), (20, True)):
        sparse = np.concatenate([np.stack([np.arange(n), np.arange(n)], 1), [[0, 1]]])
        found = z_max_variance(perfect(sparse), sparse, rng(), votes=20, test_votes=20)
        share = 2 / (n + 1)
        notes = [f"only {share:.1%} of the rows have another that differs in factor {k} alone" for k in range(2)]
        assert list(found.warnings) == (notes if told else [])
        assert found.parts["usable_rows"] == pytest.approx([share, share])
    dead = z_max_variance(np.ones((21, 1)), sparse, rng())
    assert (dead.value, list(dead.warnings)) == (0, [*notes, "all latents are constant and cast no vote"])
    assert dead.parts == {"usable_rows": pytest.approx([share, share])} and dead.params["batch"] == 64


def test_a_factor_that_never_varies_alone_is_named() -> None:
    """Rows 0 and 1 differ in factor 2 alone; factor 1 of four has a single value."""
    factors = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 2], [2, 0, 3]])
    found = z_max_variance(noise(4, 2), factors, rng(), batch=2)
    assert np.isnan(found.value) and found.params == {"batch": 2, "votes": 5000, "factor_bins": 3, "factors": [0, 2]}
    assert found.warnings[-1] == "no two rows differ in factor 0 alone: give more rows"
    alone = z_max_variance(noise(4, 2), factors[:, :1], rng())
    assert np.isnan(alone.value) and alone.warnings == ("the Z-max variance needs at least two factors that vary",)


def test_continuous_factors_are_held_within_their_bins() -> None:
    factors = np.stack([np.arange(60) / 59, np.tile([0.5, 1.5], 30)], 1)
    for bins, share in ((2, 1.0), (30, 1.0), (60, 0.0)):
        found = z_max_variance(factors, factors, rng(), factor_bins=bins, votes=50, test_votes=50)
        assert found.parts.get("usable_rows", [1, 0])[1] == share and found.params["factor_bins"] == bins


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
