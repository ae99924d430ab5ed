"""The points that the BetaVAE score classifies, and its classifier, against loops and another minimiser."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.metrics.worlds import Array, grid, noise, perfect, rng
from unbraid.metrics import beta_vae_score as module
from unbraid.metrics.arrays import Column, as_column
from unbraid.metrics.beta_vae_score import beta_vae_score, classify
from unbraid.metrics.interventions import RowsByValue

FACTORS = grid(20, (2, 3, 2))
CODES = np.concatenate([3 * perfect(FACTORS) + noise(len(FACTORS), 3), np.full((len(FACTORS), 1), 2.0)], 1)


class Taken:
    """Stands in for the classifier: keeps what it is given; the test points 0, 3, 6, ... are right."""

    def __call__(self, *given: Array) -> tuple[float, Array]:
        self.given = given
        return 0.75, (np.arange(len(given[3])) % 3 == 0).astype(float)


def stand_in(monkeypatch: pytest.MonkeyPatch) -> Taken:
    taken = Taken()
    monkeypatch.setattr(module, "classify", taken)
    return taken


def naive_points(codes: Array, columns: list[Column], held: Array, batch: int, draw: Any) -> Array:
    points = np.empty((len(held), codes.shape[1]))
    for k, column in enumerate(columns):
        here = np.flatnonzero(held == k)
        first, second = RowsByValue(column).pairs(len(here), batch, draw)
        for point, a, b in zip(here, first, second, strict=True):
            points[point] = sum(np.abs(codes[i] - codes[j]) for i, j in zip(a, b, strict=True)) / batch
    return points


@pytest.mark.parametrize("reference", [False, True])
def test_points_are_mean_distances_of_pairs_in_units_of_each_latent(
    monkeypatch: pytest.MonkeyPatch, reference: bool
) -> None:
    taken = stand_in(monkeypatch)
    factors = FACTORS + np.array([0, 0.25, 0])  # the second is continuous
    found = beta_vae_score(
        CODES, factors, rng(2), batch=4, points=30, test_points=20, factor_bins=2, reference=reference
    )
    draw = rng(2)
    held = draw.integers(3, size=50)
    live = CODES[:, :3] if reference else CODES[:, :3] / CODES[:, :3].std(0)
    columns = [as_column(FACTORS[:, 0], ""), Column((FACTORS[:, 1] > 0) * 1, 2), as_column(FACTORS[:, 2], "")]
    x, y, test_x, test_y = taken.given
    assert np.concatenate([x, test_x]) == pytest.approx(naive_points(live, columns, held, 4, draw), rel=1e-12)
    assert y.tolist() == held[:30].tolist() and test_y.tolist() == held[30:].tolist()
    right = [[i % 3 == 0 for i in range(20) if held[30 + i] == k] for k in range(3)]
    assert found.value == pytest.approx(7 / 20)
    assert found.parts == {"train": 0.75, "per_factor": pytest.approx([sum(r) / len(r) for r in right])}
    assert (found.params["batch"], found.params["points"], found.params["factor_bins"]) == (4, 30, 2)
    assert found.params["standardised"] == (not reference)


def test_spreads_of_single_precision_are_taken_in_double(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = stand_in(monkeypatch)
    codes = (1e5 + CODES[:, :2]).astype(np.float32)
    beta_vae_score(codes, FACTORS, rng(), batch=2, points=9, test_points=30)
    points = taken.given[0]
    wide = codes.astype(np.float64)
    beta_vae_score(wide, FACTORS, rng(), batch=2, points=9, test_points=30)
    assert points == pytest.approx(taken.given[0], rel=1e-5)


def test_codes_that_are_constant_give_points_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = stand_in(monkeypatch)
    beta_vae_score(np.ones((len(FACTORS), 2)), FACTORS, rng(), batch=2, points=9, test_points=30)
    assert not taken.given[0].any() and len(taken.given[0]) == 9


def test_points_are_made_a_chunk_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "chunk_of", lambda numbers: 3)
    codes = 2.0 ** np.arange(6)[:, None]  # distances tell the pair
    points = module._points(codes, RowsByValue(Column(np.array([0, 0, 0, 1, 1, 1]), 2)), 7, 1, rng())
    assert points.shape == (7, 1) and set(points[:, 0].tolist()) <= {1, 2, 3, 8, 16, 24}


def test_a_single_factor_has_no_score_and_rare_values_are_told() -> None:
    alone = beta_vae_score(CODES, FACTORS[:, :1], rng(), batch=3, points=9)
    assert np.isnan(alone.value) and (alone.params["batch"], alone.params["points"]) == (3, 9)
    assert alone.warnings == ("the BetaVAE score needs at least two factors that vary",)
    pair = beta_vae_score(
        CODES, np.stack([FACTORS[:, 0], np.arange(len(FACTORS)) == 3], 1), rng(), points=9, test_points=30
    )
    assert pair.warnings == ("1 of 2 values of factor 1 have fewer than 20 rows",)


def test_the_classifier_minimises_log_losses_and_half_the_squared_weight() -> None:
    """Two classes of unequal size: where the prediction changes depends on the weight of the penalty."""
    x = np.concatenate([noise(40, 1, 1), noise(10, 1, 2) + 1])
    y = np.repeat([0, 1], [40, 10])

    def loss(at: Array) -> float:
        return float(np.logaddexp(0, (1 - 2 * y) * (at[0] * x[:, 0] + at[1])).sum() + at[0] ** 2 / 2)

    weight, offset = minimize(loss, np.zeros(2), tol=1e-10).x
    edge = -offset / weight
    near = np.array([[edge - 0.01], [edge + 0.01]])
    train, right = classify(x, y, near, np.array([0, 1]))
    assert right.tolist() == [1, 1] and train == pytest.approx(((x[:, 0] > edge) == y).mean())
    assert classify(x, y, near, np.array([1, 1]))[1].tolist() == [0, 1]


def test_the_classifier_of_badly_scaled_points_comes_to_its_end() -> None:
    x = noise(200, 6) * 10.0 ** np.arange(-2, 4)
    y = (x @ 10.0 ** -np.arange(-2, 4) + noise(200, 1, 3)[:, 0] > 0) * 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a solver that stops before says so
        classify(x, y, x, y)
