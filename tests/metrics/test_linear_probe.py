from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unbraid.metrics.linear_probe import explained_variance, probe_accuracy

N = 600


def test_r2_is_one_for_a_linear_image_and_zero_by_chance() -> None:
    rng = np.random.default_rng(1)
    s = rng.normal(size=(N, 3))
    found = explained_variance(s, s @ rng.normal(size=(3, 5)) + 7, rng)
    assert found.value == pytest.approx(1, abs=1e-4)
    assert found.null is not None
    assert found.null < 0.05


def test_the_probe_finds_what_a_least_squares_classifier_finds() -> None:
    """Two Gaussian classes at distance 2: no classifier does better than Phi(1), and this one gets there."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 6000)
    codes = rng.normal(size=(6000, 1)) * 3 + 6 * labels[:, None]
    assert probe_accuracy(codes, labels, rng).value == pytest.approx(0.5 * (1 + math.erf(1 / math.sqrt(2))), abs=0.02)


def test_a_latent_that_is_constant_up_to_rounding_is_not_probed() -> None:
    """As in all metrics: what is left of it must not be blown up to variance 1."""
    rng = np.random.default_rng(3)
    signal = rng.normal(size=(N, 1))
    sign = (signal[:, 0] > 0).astype(np.int64)
    assert explained_variance(1000 + 1e-5 * signal, signal, rng).value < 0.01
    assert probe_accuracy(1000 + 1e-5 * signal, sign, rng).value < 0.6
    assert probe_accuracy(1 + 1e-3 * signal, sign, rng).value > 0.95


def split(n: int, draw: np.random.Generator) -> tuple[Any, Any]:
    order = draw.permutation(n)
    return np.sort(order[: 2 * n // 3]), np.sort(order[2 * n // 3 :])


@pytest.mark.parametrize("standardise", [True, False])
def test_accuracy_interval_and_chance_of_the_probe_by_the_same_draws(standardise: bool) -> None:
    draw = np.random.default_rng(4)
    y = draw.integers(0, 3, 90)
    codes = np.stack([y + draw.normal(size=90), 0.01 * (y == 1) + 0.005 * draw.normal(size=90)], 1)
    found = probe_accuracy(codes, y + 7, np.random.default_rng(5), standardise=standardise)
    draw = np.random.default_rng(5)
    train, test = split(90, draw)
    x = (codes - codes.mean(0)) / codes.std(0) if standardise else codes

    def right(of: Any) -> Any:
        return LogisticRegression().fit(of[train], y[train]).predict(of[test]) == y[test]

    hits = right(x)
    picks = draw.integers(30, size=(200, 30))
    interval = np.quantile([np.mean([hits[i] for i in pick]) for pick in picks.tolist()], [0.025, 0.975])
    assert found.value == pytest.approx(hits.mean()) and (found.low, found.high) == pytest.approx(tuple(interval))
    assert found.parts["per_class"] == pytest.approx([hits[y[test] == v].mean() for v in range(3)])
    assert found.null == pytest.approx(right(draw.permutation(x)).mean()) and found.n == 90
    assert (found.value > 0.65) == standardise  # the penalty is for weights at the latents' own scale


def test_continuous_labels_are_cut_into_ten() -> None:
    draw = np.random.default_rng(6)
    found = probe_accuracy(draw.normal(size=(300, 2)), draw.normal(size=300), draw)
    assert len(found.parts["per_class"]) == 10


def test_explained_variance_is_that_of_ridge_regression_by_the_same_draws() -> None:
    """The penalty is 1 on weights of standardised latents; the offset is free."""
    draw = np.random.default_rng(7)
    codes = draw.normal(size=(45, 2)) * [3, 0.1] + 5
    values = codes @ [[1.0, 0, 2], [0, 1, 0]] + draw.normal(size=(45, 3)) * 2
    found = explained_variance(codes, values, np.random.default_rng(8))
    draw = np.random.default_rng(8)
    train, test = split(45, draw)
    x = (codes - codes.mean(0)) / codes.std(0)

    def lost(of: Any) -> tuple[Any, Any]:
        middle, mean = of[train].mean(0), values[train].mean(0)
        a = of[train] - middle
        weights = np.linalg.inv(a.T @ a + np.eye(2)) @ a.T @ (values[train] - mean)
        error = values[test] - mean - (of[test] - middle) @ weights
        return (error**2).sum(1), ((values[test] - mean) ** 2).sum(1)

    error, total = lost(x)
    picks = draw.integers(15, size=(200, 15)).tolist()
    again = [max(0.0, 1 - sum(error[i] for i in p) / sum(total[i] for i in p)) for p in picks]
    assert found.value == pytest.approx(1 - error.sum() / total.sum()) and 0.2 < found.value < 0.9
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(again, [0.025, 0.975])))
    assert explained_variance(codes, 1e-4 * values, np.random.default_rng(8)).value == pytest.approx(found.value)
    chance = [part.sum() for part in lost(draw.permutation(x))]
    assert found.null == pytest.approx(max(0.0, 1 - chance[0] / chance[1])) and found.n == 45


def test_values_that_are_constant_have_nothing_to_be_explained() -> None:
    draw = np.random.default_rng(9)
    found = explained_variance(draw.normal(size=(30, 2)), np.full((30, 2), 3.0), draw)
    assert (found.value, found.low, found.high, found.null) == (0, 0, 0, 0)
    assert explained_variance(draw.normal(size=(30, 2)), draw.normal(size=(30, 2)), draw).value == 0  # and not below
