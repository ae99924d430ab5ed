"""Areas and R2 of linear models, by other code on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from tests.metrics.worlds import Array, noise, rng
from unbraid.metrics.arrays import Column
from unbraid.metrics.explicitness import _areas, explicitness, roc_areas

KIND = rng(1).integers(0, 3, 120)
CODES = np.concatenate([np.stack([KIND, KIND == 1], 1) * [1.0, 3.0] + noise(120, 2) * [1, 2], noise(120, 1, 3)], 1)
SCALED = StandardScaler().fit(CODES[:70]).transform(CODES)


def area(scores: Array, positive: Array) -> Any:
    """The share of pairs in which the positive row has the higher score; a tie is half."""
    pairs = [(a > b) + (a == b) / 2 for a in scores[positive] for b in scores[~positive]]
    return sum(pairs) / len(pairs)


def test_areas_by_counting_pairs_also_of_labels_that_no_row_or_every_row_has() -> None:
    scores, labels = np.round(rng().random((30, 5)), 1), rng(1).integers(0, 2, 30) * 2
    found = roc_areas(scores, labels)
    assert found[[0, 2]] == pytest.approx([area(scores[:, k], labels == k) for k in (0, 2)], rel=1e-12)
    assert np.isnan(found).tolist() == [False, True, False, True, True]
    assert np.isnan(roc_areas(scores[:, :2], np.ones(30, np.int64))).all()
    assert roc_areas(np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([1, 0])).tolist() == [1, 1]


def lbfgs(y: Array) -> Array:
    return np.asarray(LogisticRegression().fit(SCALED[:70], y[:70]).predict_proba(SCALED))


def liblinear(y: Array) -> Array:
    """A model for each value against the rest, their probabilities made to sum to 1."""
    each = [
        LogisticRegression(solver="liblinear").fit(SCALED[:70], y[:70] == v).predict_proba(SCALED) for v in (0, 1, 2)
    ]
    raw = np.stack([p[:, 1] for p in each], 1)
    return np.asarray(raw / raw.sum(1, keepdims=True))


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
def test_areas_of_the_probabilities_of_logistic_regression(solver: Any) -> None:
    probability = lbfgs(KIND) if solver == "lbfgs" else liblinear(KIND)
    on_train, on_test = (
        np.mean([roc_auc_score(KIND[rows] == v, probability[rows, v]) for v in range(3)])
        for rows in (slice(70), slice(70, None))
    )
    found = explicitness(CODES, KIND, rng(), train=70, solver=solver)
    assert found.value == pytest.approx(on_test, abs=1e-12) and found.parts["per_factor"] == [found.value]
    assert found.parts["train"] == pytest.approx(on_train, abs=1e-12) and 0.6 < on_test != on_train
    assert found.params["solver"] == solver and found.params["train"] == 70 and not found.warnings


def test_two_values_have_one_model_by_either_solver() -> None:
    pair = (KIND == 1) * 1
    solvers: list[Any] = ["lbfgs", "liblinear"]
    for solver in solvers:
        model = LogisticRegression(solver=solver).fit(SCALED[:70], pair[:70])
        expected = roc_auc_score(pair[70:], model.decision_function(SCALED[70:]))
        found = explicitness(CODES, pair, rng(), train=70, solver=solver)
        assert found.value == pytest.approx(expected, abs=1e-12)


def test_a_continuous_factor_has_r2_not_below_zero_and_the_score_is_the_mean() -> None:
    draw = rng(5)
    y = np.stack([CODES[:, 0] + draw.standard_normal(120), draw.standard_normal(120)], 1)
    design = np.concatenate([CODES, np.ones((120, 1))], 1)
    r2 = []
    for k in range(2):
        guess = design @ np.linalg.lstsq(design[:70], y[:70, k], rcond=None)[0]
        for rows in (slice(70), slice(70, None)):
            target = y[rows, k]
            r2.append(1 - ((target - guess[rows]) ** 2).sum() / ((target - target.mean()) ** 2).sum())
    found = explicitness(CODES, y, rng(), train=70)
    assert r2[3] < 0 and found.parts["per_factor"] == pytest.approx([r2[1], 0], abs=1e-12)
    assert found.value == pytest.approx(r2[1] / 2, abs=1e-12)
    assert found.parts["train"] == pytest.approx((r2[0] + r2[2]) / 2, abs=1e-12)


def test_latents_that_are_constant_while_training_are_left_out() -> None:
    still = np.concatenate([CODES, (np.arange(120) >= 70)[:, None] * noise(120, 1, 9)], 1)
    found, without = (explicitness(c, np.stack([KIND, KIND == 1], 1), rng(), train=70) for c in (still, CODES))
    assert found.value == pytest.approx(without.value, abs=1e-9)


def test_values_that_are_missing_on_a_side_are_counted() -> None:
    """0 and 1 are on both sides, 2 is in training only, 3 and 4 in the test rows only."""
    train, test = [0, 1, 2, 0, 1, 0, 1], [0, 1, 3, 0, 1, 4]
    y = np.array(train + test)
    codes = y[:, None] + 0.3 * noise(13, 1)
    found = explicitness(codes, np.stack([np.full(13, 3), y], 1), rng(), train=7)
    assert found.warnings[1:] == ("factor 1: 3 of 5 values are missing among the training or the test rows",)
    known = np.array([7, 8, 10, 11])
    model = LogisticRegression().fit(StandardScaler().fit(codes[:7]).transform(codes[:7]), train)
    p = model.predict_proba(StandardScaler().fit(codes[:7]).transform(codes))
    areas = [area(p[known, v], y[known] == v) for v in (0, 1)]
    assert found.value == pytest.approx(sum(areas) / 2, abs=1e-12)
    assert found.parts["train"] == pytest.approx(np.mean([area(p[:7, v], y[:7] == v) for v in range(3)]), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "train", "test", "expected"),
    [
        ([0, 0, 1, 1], [0, 1], [2, 3], (0.5, 0.5, "the training rows have one value only")),
        ([0, 1, 2, 2], [0, 1], [2, 3], (1, 0.5, "3 of 3 values are missing among the training or the test rows")),
        ([0, 1, 1, 1], [0, 1], [2, 3], (1, 0.5, "2 of 2 values are missing among the training or the test rows")),
        ([0, 1, 0, 1], [0, 1], [2, 3], (1, 1, "")),
    ],
)
def test_without_two_values_on_a_side_the_area_is_that_of_chance(
    values: list[int], train: list[int], test: list[int], expected: tuple[float, float, str]
) -> None:
    y = np.array(values)
    rows = np.array(train), np.array(test)
    assert _areas(y[:, None] - 0.5, Column(y, max(values) + 1), rows, "lbfgs") == expected
