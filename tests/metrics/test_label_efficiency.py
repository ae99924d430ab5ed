"""Label efficiency, against sums by hand and where it is known."""

from __future__ import annotations

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
