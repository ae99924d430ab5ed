"""Label efficiency, against sums by hand and where it is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tests.metrics.worlds import grid, noise, perfect, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.label_efficiency import label_efficiency, mean_over_log
from unbraid.metrics.suite import score

FACTORS = grid()
PERFECT = perfect(FACTORS)


def test_the_mean_over_log_budgets_is_that_of_a_fine_grid() -> None:
    budgets, table = np.array([10, 40, 1000]), np.array([[0.1, 1.0], [0.5, 1.0], [0.7, 1.0]])
    fine = np.linspace(np.log(10), np.log(1000), 200_001)
    line = np.interp(fine, np.log(budgets), table[:, 0])
    assert mean_over_log(budgets, table) == pytest.approx([line.mean(), 1.0], abs=1e-5)
    assert mean_over_log(budgets[:1], table[:1]).tolist() == [0.1, 1.0]


def test_it_is_the_accuracy_above_chance_of_the_same_trees_by_hand() -> None:
    y = np.random.default_rng(1).choice(3, 900, p=[0.6, 0.3, 0.1])
    codes = y[:, None] + 0.6 * noise(900, 2)
    found = label_efficiency(codes, y[:, None], rng(5), labels=(60, 600), train=600)
    draw = rng(5)
    rows, seed = draw.permutation(600), int(draw.integers(2**31))
    share = []
    for budget in (60, 600):
        trees = ExtraTreesClassifier(20, max_features=None, min_samples_leaf=2, random_state=seed)
        right = (trees.fit(codes[rows[:budget]], y[rows[:budget]]).predict(codes[600:]) == y[600:]).mean()
        share.append((right - (y[600:] == 0).mean()) / (1 - (y[600:] == 0).mean()))
    assert found.value == pytest.approx(np.mean(share))  # two budgets: their mean, whatever they are
    assert found.parts["by_labels"] == pytest.approx({"60": share[0], "600": share[1]})
    assert found.parts["ratio"] == pytest.approx(share[0] / share[1])


def test_a_rotation_costs_trees_labels_and_a_linear_predictor_none() -> None:
    turned = PERFECT @ rotation(3)
    straight, bent = (label_efficiency(c, FACTORS, rng(), labels=(50, 200, 800)) for c in (PERFECT, turned))
    assert straight.value == straight.parts["ratio"] == 1
    by_labels = list(bent.parts["by_labels"].values())
    assert by_labels == sorted(by_labels) and bent.parts["ratio"] < 0.9
    quantities = PERFECT.astype(np.float64)
    linear = [
        label_efficiency(c, quantities, rng(), predictor="logistic", labels=(50, 800)).value for c in (PERFECT, turned)
    ]
    assert linear == pytest.approx([1, 1], abs=1e-3)


def test_half_of_what_there_is_scores_a_half_at_most_and_has_a_ratio_of_its_own() -> None:
    found = label_efficiency(PERFECT[:, :1], FACTORS, rng(), labels=(100, 800))
    assert found.parts["per_factor"][0] == 1 and max(found.parts["per_factor"][1:]) < 0.1
    assert found.value < 0.4 and found.parts["ratio"] > 0.9


def test_noise_has_no_ratio_and_chance_is_about_nothing() -> None:
    assert label_efficiency(noise(len(FACTORS), 3), FACTORS, rng(), labels=(100, 800)).parts["ratio"] is None
    scored = score(PERFECT + 0.3 * noise(len(FACTORS), 3), FACTORS, metrics=["label_efficiency"])["label_efficiency"]
    assert scored.null is not None and scored.null < 0.06 < scored.value
    assert scored.low is not None and scored.high is not None and scored.low < scored.value < scored.high
    assert any("[3200] labels are left out" in text for text in scored.warnings)


@pytest.mark.parametrize(
    ("labels", "message"),
    [((200, 50), "in ascending order"), ((1, 50), "two or more each"), ((10_000,), "ask for at least 10000")],
)
def test_budgets_that_make_no_sense_are_refused(labels: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        label_efficiency(PERFECT, FACTORS, rng(), labels=labels)


class Scripted:
    """Stands in for the predictors: the share of test rows that are right, by the number of labels."""

    def __init__(self, shares: dict[int, float]) -> None:
        self.shares = shares
        self.asked: list[Any] = []

    def __call__(self, predictor: str, codes: Any, column: Any, train: Any, test: Any, seed: int) -> Any:
        self.asked.append((predictor, train.tolist(), test.tolist(), seed))
        return np.full(len(test), self.shares[len(train)]), True


def scripted(monkeypatch: pytest.MonkeyPatch, shares: dict[int, float]) -> Scripted:
    told = Scripted(shares)
    monkeypatch.setattr("unbraid.metrics.label_efficiency.right_rows", told)
    return told


def test_what_is_read_with_few_labels_is_no_more_than_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 test rows 12 have the commoner value: 0.9 right is 0.75 of the way from 0.6 to 1, and 0.5 is none."""
    told = scripted(monkeypatch, {2: 0.9, 8: 0.5, 40: 0.8})
    labels = np.repeat([3, 1, 3, 1], [30, 10, 12, 8])
    found = label_efficiency(noise(60, 1), labels, rng(2), labels=(2, 8, 40, 41), train=40)
    assert found.parts["by_labels"] == pytest.approx({"2": 0.75, "8": 0, "40": 0.5})
    log = np.log([2, 8, 40])
    area = (log[1] - log[0]) * 0.75 / 2 + (log[2] - log[1]) * 0.5 / 2
    assert found.value == pytest.approx(area / (log[2] - log[0])) and found.parts["per_factor"] == [found.value]
    assert found.parts["ratio"] == 1
    assert found.warnings == ("there are 40 training rows: [41] labels are left out",)
    assert found.params == {"predictor": "trees", "labels": [2, 8, 40], "train": 40, "factors": [0]}
    draw = rng(2)
    rows, seed = draw.permutation(40).tolist(), int(draw.integers(2**31))
    assert told.asked == [("trees", rows[:n], list(range(40, 60)), seed) for n in (2, 8, 40)]


def test_nothing_is_read_below_a_twentieth(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, ratio in ((0.05, 0.5), (0.0499, None)):
        scripted(monkeypatch, {4: 0.025, 9: most})
        found = label_efficiency(noise(20, 1), noise(20, 1), rng(), labels=(4, 9), train=15, predictor="logistic")
        assert found.parts["ratio"] == ratio and found.value == pytest.approx((0.025 + most) / 2)
        assert found.params["predictor"] == "logistic" and not found.warnings


def test_factors_are_averaged_at_each_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, {4: 0.8, 9: 0.9})
    factors = np.stack([noise(20, 1)[:, 0], np.arange(20) % 2], 1)  # R2 as it is; accuracy above a half
    found = label_efficiency(noise(20, 1), factors, rng(), labels=(4, 9), train=10)
    assert found.parts["per_factor"] == pytest.approx([0.85, (0.6 + 0.8) / 2])
    assert found.value == pytest.approx((0.85 + 0.7) / 2)
    assert found.parts["by_labels"] == pytest.approx({"4": 0.7, "9": 0.85})
    assert found.parts["ratio"] == pytest.approx(0.7 / 0.85)


@pytest.mark.parametrize("labels", [(), (5, 5), (9, 4)])
def test_budgets_must_ascend(labels: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="two or more each, and in ascending order"):
        label_efficiency(PERFECT, FACTORS, rng(), labels=labels)


def test_where_there_are_fewer_training_rows_than_labels() -> None:
    with pytest.raises(UserError, match="labels ask for at least 13 and there are 12 training rows"):
        label_efficiency(noise(20, 1), np.arange(20) % 2, rng(), labels=(13, 14), train=12)
