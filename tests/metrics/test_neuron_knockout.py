"""Neuron knockout with predictors whose accuracies are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neural_network import MLPClassifier

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.metrics import neuron_knockout as module
from unbraid.metrics.arrays import Column
from unbraid.metrics.neuron_knockout import _accuracy, _model, neuron_knockout

LABELS = grid(15, (3, 2))  # 90 rows, of which 60 train
CODES = perfect(LABELS)


class Scripted:
    """Names the last 30 labels, but only a share of them that is known for each number of latents."""

    def __init__(self, right: dict[int, float]) -> None:
        self.right = right

    def fit(self, x: Any, y: Any) -> Scripted:
        assert len(x) == len(y) == 60 and x.mean(0) == pytest.approx(0) and x.std(0) == pytest.approx(1)
        return self

    def predict(self, x: Any) -> Any:
        return np.where(np.arange(30) < 30 * self.right[x.shape[1]] - 0.5, LABELS[60:, 1], -1)


@pytest.mark.parametrize(
    ("with_all", "without", "share"),
    [(0.9, 0.6, 0.3), (0.9, 0.2, 0.4), (0.4, 0.2, 0.0), (0.6, 0.9, 0.0), (1.0, 0.0, 0.5)],
)
def test_what_is_lost_is_counted_from_the_most_common_value_on(
    with_all: float, without: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One factor of two values as common: chance is a half, so that a share is twice what is lost above it."""
    monkeypatch.setattr(module, "_model", lambda *given: Scripted({2: with_all, 1: without}))
    found = neuron_knockout(CODES + 0.1 * noise(90, 2), LABELS[:, 1:], rng(), train=60)
    assert found.value == pytest.approx(2 * share) and found.parts["per_factor"] == pytest.approx([2 * share])
    assert found.parts["accuracy"] == pytest.approx([with_all])
    assert found.parts["accuracy_without"] == pytest.approx([without])
    assert found.parts["drop"] == pytest.approx([with_all - without])
    assert found.parts["most_common"] == [0.5] and found.parts["matched_latent"] == [1]


def test_each_factor_loses_its_own_latent() -> None:
    codes = np.insert(CODES[:, ::-1], 1, noise(90, 1)[:, 0], 1) + 5
    found = neuron_knockout(codes, LABELS, rng(), trees=3, train=60)
    assert found.parts["matched_latent"] == [2, 0]
    assert found.parts["accuracy"] == [1, 1] and max(found.parts["accuracy_without"]) < 0.7
    assert np.array(found.parts["mutual_information"])[[2, 0], [0, 1]] == pytest.approx([np.log(3), np.log(2)])
    assert found.params == {"predictor": "trees", "trees": 3, "factor_bins": 20, "train": 60, "factors": [0, 1]}
    assert found.warnings == () and found.value == np.mean(found.parts["per_factor"])


def test_latents_are_matched_by_the_training_rows_alone() -> None:
    """In the test rows the two latents change places."""
    codes = np.where(np.arange(90)[:, None] < 60, CODES, CODES[:, ::-1])
    assert neuron_knockout(codes, LABELS, rng(), trees=1, train=60).parts["matched_latent"] == [0, 1]
    assert neuron_knockout(codes[::-1], LABELS[::-1], rng(), trees=1, train=30).parts["matched_latent"] == [1, 0]


def test_a_factor_without_a_latent_loses_none_and_the_others_are_counted() -> None:
    found = neuron_knockout(CODES[:, :1], LABELS, rng(), trees=3)
    assert found.parts["matched_latent"] == [0, None] and found.parts["per_factor"] == [1, 0]
    assert found.parts["accuracy_without"][0] == found.parts["most_common"][0]  # there is nothing to learn from
    assert found.parts["accuracy_without"][1] == found.parts["accuracy"][1]
    assert found.warnings == ("1 of 2 factors have no latent to match and count 0",)


def test_a_value_that_all_test_rows_have_cannot_be_lost() -> None:
    labels = np.r_[LABELS[:60, 1], np.zeros(30, int)][:, None]
    labels[:31] = 0
    found = neuron_knockout(CODES, labels, rng(), trees=3, train=60)
    assert found.parts["most_common"] == [1] and found.value == 0


def test_where_training_rows_have_one_value_it_is_named() -> None:
    column = Column(np.r_[np.ones(60, int), np.zeros(20, int), np.ones(10, int)], 2)
    rows = np.arange(60), np.arange(60, 90)
    assert _accuracy(None, CODES, column, rows) == pytest.approx(1 / 3)
    assert _accuracy(None, CODES[:, :0], Column(LABELS[:, 1], 2), rows) == 0.5


def test_the_predictors_are_those_that_are_promised() -> None:
    forest, network = _model("trees", 7, 3), _model("network", 7, 4)
    assert isinstance(forest, ExtraTreesClassifier) and isinstance(network, MLPClassifier)
    assert (forest.n_estimators, forest.max_features, forest.min_samples_leaf, forest.random_state) == (7, None, 2, 3)
    assert network.hidden_layer_sizes == (256,) and network.random_state == 4
    assert (network.learning_rate_init, network.max_iter) == (0.01, 50)


def test_a_continuous_factor_is_cut_into_as_many_bins_as_are_asked_for() -> None:
    factors = (np.tile(np.arange(60), 2) + 0.5)[:, None]
    found = neuron_knockout(factors, factors, rng(), trees=3, factor_bins=3, train=60)
    assert found.parts["accuracy"][0] > 0.9 and found.parts["most_common"] == pytest.approx([1 / 3])
    assert found.parts["mutual_information"][0] == pytest.approx([np.log(3)], abs=1e-12)
    assert found.params["factor_bins"] == 3
