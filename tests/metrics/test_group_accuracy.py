"""Accuracy of groups, by loops over the rows and over the same resamplings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import rng
from unbraid.errors import UserError
from unbraid.metrics.group_accuracy import group_accuracy

LABELS = np.array([3, 3, 3, 5, 5, 5, 5, 5, 3, 5])
PREDICTED = np.array([3, 5, 3, 5, 5, 3, 3, 5, 3, 5])
NUISANCES = np.array([[0, 9], [0, 9], [0, 9], [0, 9], [0, 9], [1, 9], [1, 9], [1, 9], [1, 9], [1, 8]])
GROUPS = [(3, (0, 9)), (3, (1, 9)), (5, (0, 9)), (5, (1, 8)), (5, (1, 9))]


def accuracies(rows: Any) -> dict[Any, float]:
    hits: dict[Any, list[float]] = {}
    for row in rows:
        for group in ((LABELS[row], tuple(NUISANCES[row].tolist())), tuple(NUISANCES[row].tolist()), "all"):
            hits.setdefault(group, []).append(float(LABELS[row] == PREDICTED[row]))
    return {group: sum(each) / len(each) for group, each in hits.items()}


def test_every_group_by_a_loop() -> None:
    found, each = group_accuracy(PREDICTED, LABELS, NUISANCES, rng(), least=1, resamplings=30), accuracies(range(10))
    assert (found.value, found.n) == (0.7, 10) and found.params["least"] == 1 and found.warnings == ()
    told = [(g["class"], tuple(g["nuisances"]), g["accuracy"]) for g in found.parts["per_group"]]
    assert told == [(c, n, pytest.approx(each[c, n])) for c, n in GROUPS]
    assert found.parts["worst"] == pytest.approx(1 / 3)
    assert found.parts["worst_group"] == {"class": 5, "nuisances": [1, 9]}
    assert found.parts["worst_nuisance"] == pytest.approx(2 / 4)
    assert found.params["interval"] == "30 bootstrap samples of the rows"


def test_intervals_and_chance_by_the_same_draws() -> None:
    """A group that a resample lacks is not its worst."""
    found, draw = group_accuracy(PREDICTED, LABELS, NUISANCES, rng(4), least=2, resamplings=30), rng(4)
    again = [accuracies(draw.integers(10, size=10)) for _ in range(30)]
    assert (found.low, found.high) == pytest.approx(np.quantile([each["all"] for each in again], [0.025, 0.975]))
    kept = [group for group in GROUPS if group[1] != (1, 8) and group != (3, (1, 9))]
    worst = [min(each[group] for group in kept if group in each) for each in again]
    assert any(group not in each for each in again for group in kept)
    assert found.parts["worst_interval"] == pytest.approx(np.quantile(worst, [0.025, 0.975]).tolist())
    dealt = draw.permutation(PREDICTED)
    assert found.null == pytest.approx(sum(float(a == b) for a, b in zip(dealt, LABELS, strict=True)) / 10)


def test_groups_with_too_few_rows_are_not_considered() -> None:
    found = group_accuracy(PREDICTED, LABELS, NUISANCES, rng(), least=3, resamplings=0)
    assert [(g["class"], g["nuisances"]) for g in found.parts["per_group"]] == [(3, [0, 9]), (5, [1, 9])]
    assert found.warnings == ("3 of 5 groups have fewer than 3 rows and are not considered",)
    assert found.low is None and found.high is None and found.parts["worst_interval"] is None
    none = group_accuracy(PREDICTED, LABELS, NUISANCES, rng(), least=4, resamplings=2)
    assert none.parts["worst"] is None and "per_group" not in none.parts
    assert none.parts["worst_nuisance"] == pytest.approx(0.5)
    assert none.warnings == ("5 of 5 groups have fewer than 4 rows and are not considered",)


@pytest.mark.parametrize(
    ("predicted", "labels"), [([1, 2], [1, 2, 3]), ([[1], [2]], [[1], [2]]), ([], []), ([[1, 2]], [1, 2])]
)
def test_predictions_and_labels_must_be_two_lists_of_one_length(predicted: Any, labels: Any) -> None:
    with pytest.raises(UserError, match="must be two lists of classes with the same length"):
        group_accuracy(np.array(predicted), np.array(labels), np.zeros(len(labels)), rng())
