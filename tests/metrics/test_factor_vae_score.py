"""Votes of the FactorVAE score: who may vote, who wins, and what the table predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.metrics import factor_vae_score as module
from unbraid.metrics.arrays import Column
from unbraid.metrics.factor_vae_score import batch_variances, factor_vae_score, majority
from unbraid.metrics.interventions import RowsByValue

FACTORS = grid(20, (2, 3, 2))
N = len(FACTORS)
CODES = perfect(FACTORS) * [1, 5, 0.2] + noise(N, 3) * [0.5, 4, 0.1] + 3


def test_the_table_of_majorities_by_hand() -> None:
    """Unit 0 votes for factor 1 twice of three times, unit 1 for factor 0; unit 2 votes in the test only."""
    cast, held = np.array([0, 0, 0, 1, 0, 1, 2, 1]), np.array([1, 0, 1, 0, 1, 1, 0, 0])
    right, parts = majority(cast, held, 4, (3, 2))
    assert parts["votes"].tolist() == [[1, 2], [1, 0], [0, 0]]
    assert right.tolist() == [True, False, True, True]
    assert parts["train"] == 3 / 4 and parts["per_factor"].tolist() == [1, 1 / 2]


def naive_votes(codes: Any, units: list[list[int]], active: list[int], held: Any, batch: int, draw: Any) -> Any:
    cast = np.empty(len(held), int)
    for k in range(3):
        here = np.flatnonzero(held == k)
        values = np.unique(FACTORS[:, k], return_inverse=True)[1]
        batches = RowsByValue(Column(values, int(values.max()) + 1)).batches(len(here), batch, draw)
        for vote, rows in zip(here, batches, strict=True):
            shares = [np.mean([codes[rows, j].var() / (codes[:, j].var() or 1) for j in units[u]]) for u in active]
            cast[vote] = active[int(np.argmin(shares))]
    return cast


@pytest.mark.parametrize("units", [None, [0, 1, 1]])
def test_votes_by_a_loop_over_batches(units: list[int] | None) -> None:
    groups = [[0], [1], [2]] if units is None else [[0], [1, 2]]
    found = factor_vae_score(CODES, FACTORS, rng(8), batch=5, votes=60, test_votes=40, units=units)
    draw = rng(8)
    held = draw.integers(3, size=100)
    cast = naive_votes(CODES, groups, list(range(len(groups))), held, 5, draw)
    table = [[sum((cast[:60] == u) & (held[:60] == k)) for k in range(3)] for u in range(len(groups))]
    best = [row.index(max(row)) for row in table]
    hits = [best[u] == k for u, k in zip(cast, held, strict=True)]
    assert found.parts["votes"] == table and found.value == pytest.approx(sum(hits[60:]) / 40)
    assert found.parts["train"] == pytest.approx(sum(hits[:60]) / 60)
    assert found.parts["active_latents"] == list(range(len(groups))) and not found.warnings
    assert found.params == {"batch": 5, "votes": 60, "prune": 0.0, "factor_bins": 20, "factors": [0, 1, 2]}


def test_a_unit_that_is_pruned_casts_no_vote() -> None:
    codes = np.concatenate([np.full((N, 1), 7.0), CODES], 1)
    found = factor_vae_score(codes, FACTORS, rng(), batch=5, votes=60, test_votes=40, prune=0.5)
    assert found.parts["active_latents"] == [1, 2] and not np.array(found.parts["votes"])[[0, 3]].any()
    assert found.warnings == ("latents [0, 3] do not vary by more than 0.5 and cast no vote",)
    published = factor_vae_score(0.1 * codes, FACTORS, rng(), batch=5, votes=60, test_votes=40, reference=True)
    assert published.params["prune"] == 0.05 and published.parts["active_latents"] == [1, 2]
    dead = factor_vae_score(codes, FACTORS, rng(), batch=5, votes=60, test_votes=40)
    assert dead.warnings == ("latents [0] do not vary by more than 0.0 and cast no vote",)
    assert dead.parts["active_latents"] == [1, 2, 3]


def test_a_dead_latent_of_a_unit_has_no_variance() -> None:
    codes = np.concatenate([np.full((N, 1), 7.0), CODES], 1)
    found = factor_vae_score(codes, FACTORS, rng(), batch=5, votes=60, test_votes=40, units=[0, 0, 1, 1])
    draw = rng()
    held = draw.integers(3, size=100)
    cast = naive_votes(codes, [[0, 1], [2, 3]], [0, 1], held, 5, draw)
    table = [[sum((cast[:60] == u) & (held[:60] == k)) for k in range(3)] for u in range(2)]
    assert found.parts["votes"] == table and found.parts["active_latents"] == [0, 1] and not found.warnings


def test_latents_are_centred_before_they_are_squared(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def keep(scaled: Any, columns: Any, held: Any, *more: Any) -> Any:
        seen.append(scaled)
        return 0 * held

    monkeypatch.setattr(module, "_all_votes", keep)
    factor_vae_score(CODES + 1e5, FACTORS, rng(), votes=9, test_votes=30)
    assert seen[0].mean(0) == pytest.approx([0, 0, 0], abs=1e-9)
    assert seen[0].std(0, ddof=1) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(("prune", "active"), [(1.15, [0]), (1.16, [])])
def test_spreads_are_of_n_less_one(prune: float, active: list[int]) -> None:
    """The standard deviation of -1, 1, -1, 1 is (4 / 3)^1/2 = 1.1547."""
    codes = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    found = factor_vae_score(
        codes, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), rng(), batch=1, votes=2, test_votes=20, prune=prune
    )
    assert found.parts["active_latents"] == active
    assert found.warnings[:2] == tuple(f"2 of 2 values of factor {k} have fewer than 20 rows" for k in (0, 1))
    if not active:
        assert found.value == 0 and found.parts == {"active_latents": []} and found.params["votes"] == 2


def test_spreads_of_single_precision_are_taken_in_double() -> None:
    codes = (3e4 + noise(N, 2)).astype(np.float32)
    spread = float(codes.astype(np.float64).std(0, ddof=1).min())
    for prune, count in ((spread * (1 - 1e-6), 2), (spread * (1 + 1e-6), 1)):
        found = factor_vae_score(codes, FACTORS, rng(), batch=2, votes=9, test_votes=30, prune=prune)
        assert len(found.parts["active_latents"]) == count


def test_a_single_factor_has_no_score() -> None:
    found = factor_vae_score(CODES, FACTORS[:, :1], rng(), batch=3)
    assert np.isnan(found.value) and found.params["batch"] == 3
    assert found.warnings == ("the FactorVAE score needs at least two factors that vary",)


def test_continuous_factors_are_cut_into_bins() -> None:
    factors = np.stack([np.arange(N) / N + 1e-3, FACTORS[:, 0]], 1)
    found = factor_vae_score(CODES, factors, rng(), batch=2, votes=9, test_votes=30, factor_bins=15)
    assert found.warnings == ("15 of 15 values of factor 0 have fewer than 20 rows",)


def test_variances_of_batches_a_chunk_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variance times the number of rows, averaged over the latents of a unit."""
    monkeypatch.setattr(module, "chunk_of", lambda numbers: 3)
    lookup, units = RowsByValue(Column(np.arange(20) % 2, 2)), [np.array([0, 2]), np.array([1])]
    codes, draw = noise(20, 3), rng(5)
    found = batch_variances(codes, lookup, 7, 4, units, rng(5))
    batches = [rows for m in (3, 3, 1) for rows in lookup.batches(m, 4, draw)]
    naive = [[np.mean([4 * codes[rows, j].var() for j in unit]) for unit in units] for rows in batches]
    assert found == pytest.approx(np.array(naive), rel=1e-9)
    assert batch_variances(codes, lookup, 0, 4, units, rng()).shape == (0, 2)
