"""Downstream accuracy from known rows, and its predictors against the same fits by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from tests.metrics.worlds import Array, noise, rng
from unbraid.errors import UserError
from unbraid.metrics import downstream as module
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.downstream import downstream, r2_by_row, right_rows

TWO = check_arrays(noise(8, 1), np.stack([np.arange(8) % 2, np.arange(8) % 3], 1))


def test_efficiency_interval_and_parts_of_known_rows() -> None:
    rows = {(100, 0): [1, 0, 0, 0], (100, 1): [1, 1, 0, 0], (10000, 0): [1, 1, 0, 0], (10000, 1): [1, 1, 1, 0]}
    found = module._score({key: np.array(hits, float) for key, hits in rows.items()}, TWO, ["why"], train=5)
    assert found.parts["mean"] == {"100": 0.375, "10000": 0.625} and found.value == 0.625
    assert found.parts["least"] == {"100": 0.25, "10000": 0.5} and found.parts["per_factor"] == [0.5, 0.75]
    assert found.parts["per_factor_by_labels"] == {"100": [0.25, 0.5], "10000": [0.5, 0.75]}
    assert found.parts["efficiency"] == 0.375 / 0.625
    spread = (((1 - 0.625) ** 2 * 2 + (0.5 - 0.625) ** 2 + 0.625**2) / 4) ** 0.5  # of the rows 1, 1, 1/2, 0
    assert found.low == pytest.approx(0.625 - 1.96 * spread / 2) and found.high == 1.0  # 1.03 is cut
    assert found.warnings == ("why",) and found.params["train"] == 5 and found.params["sizes"] == [100, 10000]
    assert found.params["interval"] == "normal, over test rows"


@pytest.mark.parametrize(("size", "hits"), [(10000, [1, 0, 0, 0]), (100, [1, 0, 0, 0]), (10000, [0, 0, 0, 0])])
def test_there_is_no_efficiency_without_both_sizes_or_above_nothing(size: int, hits: list[int]) -> None:
    rows = {(size, k): np.array(hits, float) for k in range(2)} | {(99, k): np.ones(4) for k in range(2)}
    rows |= {(100, k): np.ones(4) for k in range(2)} if not any(hits) else {}
    found = module._score(rows, TWO, [])
    assert found.parts["efficiency"] is None and found.low == 0.0
    assert found.value == sum(hits) / 4  # at the most labels, whichever came first


class Scripted:
    """Stands in for the predictors: rows that are right, by the number of labels; folds fail at two."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, predictor: str, codes: Array, column: Column, train: Array, test: Array, seed: int) -> Any:
        self.asked.append((predictor, len(codes), column.size, train.tolist(), test.tolist(), seed))
        return np.arange(len(test)) < len(train), len(train) > 2


@pytest.mark.parametrize("reference", [False, True])
def test_labels_are_the_leading_of_the_permuted_training_rows(monkeypatch: pytest.MonkeyPatch, reference: bool) -> None:
    told = Scripted()
    monkeypatch.setattr(module, "right_rows", told)
    factors = np.stack([np.full(18, 3), np.arange(18) % 2, np.arange(18) % 3], 1)
    found = downstream(
        noise(18, 1), factors, rng(7), sizes=(4, 2, 9, 8), train=8, predictor="trees", reference=reference
    )
    draw = rng(7)
    rows = list(range(8)) if reference else draw.permutation(8).tolist()
    seed = int(draw.integers(2**31))
    assert told.asked == [("trees", 18, k, rows[:n], list(range(8, 18)), seed) for n in (4, 2, 8) for k in (2, 3)]
    assert found.value == 0.8 and found.parts["mean"] == pytest.approx({"4": 0.4, "2": 0.2, "8": 0.8})
    assert found.warnings == (
        "factor 0 has a single value and is left out",
        "too few labels for five folds, so C is 1: factor 1 at 2, factor 2 at 2 labels",
        "there are 8 training rows: [9] labels are left out",
    )
    expected = {"predictor": "trees", "reference": reference, "train": 8, "sizes": [4, 2, 8]}
    assert {key: found.params[key] for key in expected} == expected
    with pytest.raises(UserError, match="sizes ask for at least 9 labels and there are 8 training rows"):
        downstream(noise(18, 1), factors, rng(), sizes=(9, 10), train=8)


def test_without_warnings_there_is_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "right_rows", Scripted())
    assert downstream(noise(18, 1), np.arange(18) % 2, rng(), sizes=(4, 12)).warnings == ()


def test_r2_of_each_row_is_its_influence() -> None:
    """The mean is R2; a row's distance from it is how fast R2 grows with the weight of the row."""
    y, guess = noise(12, 1)[:, 0], 0.5 * noise(12, 1)[:, 0] + 0.3 * noise(12, 1, 2)[:, 0]

    def r2(weights: Array) -> float:
        mean = (weights * y).sum() / weights.sum()
        return float(1 - (weights * (y - guess) ** 2).sum() / (weights * (y - mean) ** 2).sum())

    each = r2_by_row(y, guess)
    assert each.mean() == pytest.approx(r2(np.ones(12))) and r2(np.ones(12)) > 0.1
    for row in range(12):
        step = 1e-5 * np.eye(12)[row]
        slope = 12 * (r2(1 + step) - r2(1 - step)) / 2e-5
        assert each[row] - each.mean() == pytest.approx(slope, abs=1e-6)
    worse = r2_by_row(y, -3 * y)
    assert worse.mean() == pytest.approx(0, abs=1e-12) and worse.any()
    assert r2_by_row(np.ones(3), np.zeros(3)).tolist() == [0, 0, 0]
    assert r2_by_row(np.arange(3.0), np.arange(3.0)).tolist() == [1, 1, 1]


def test_a_value_that_never_changes_while_training_is_always_predicted() -> None:
    train, test = np.array([1, 3]), np.array([0, 2, 4])
    labels = right_rows("logistic", noise(5, 1), Column(np.array([1, 1, 0, 1, 2]), 3), train, test, 0)
    assert labels[0].tolist() == [1, 0, 0] and labels[1] is True
    number = right_rows("trees", noise(5, 1), Column(np.array([0.5, 1.5, 1.5, 1.5, 2.5]), 0), train, test, 0)
    assert number[0].tolist() == [0, 0, 0] and number[1] is True


KIND = rng(14).integers(0, 3, 90)
CODES = np.stack([KIND, KIND == 1], 1) + noise(90, 2)
TRAIN, TEST = np.arange(40), np.arange(40, 90)


def test_logistic_regression_has_the_strength_of_the_best_consecutive_folds() -> None:
    means = []
    for strength in np.logspace(-4, 4, 10):
        hits = []
        for fold in np.array_split(TRAIN, 5):
            rest = np.setdiff1d(TRAIN, fold)
            model = LogisticRegression(C=strength).fit(CODES[rest], KIND[rest])
            hits.append((model.predict(CODES[fold]) == KIND[fold]).mean())
        means.append(np.mean(hits))
    best = LogisticRegression(C=np.logspace(-4, 4, 10)[np.argmax(means)]).fit(CODES[TRAIN], KIND[TRAIN])
    found, crossed = right_rows("logistic", CODES, Column(KIND, 3), TRAIN, TEST, 0)
    assert crossed and found.tolist() == (best.predict(CODES[TEST]) == KIND[TEST]).tolist()
    assert len(set(means)) > 3 and 0 < np.argmax(means) < 9


def test_folds_without_two_values_make_the_strength_one() -> None:
    y = np.zeros(60, np.int64)
    y[:3] = y[40:] = 1  # the first fold of ten has every 1 of the training rows
    x = 1.5 * y[:, None] + noise(60, 1)
    x[30:, 0] = np.linspace(0, 4, 30)  # the strength moves the place where the prediction changes
    train, test = np.arange(30), np.arange(30, 60)
    found, crossed = right_rows("logistic", x, Column(y, 2), train, test, 0)
    plain = LogisticRegression(C=1.0).fit(x[train], y[train])
    assert not crossed and found.tolist() == (plain.predict(x[test]) == y[test]).tolist()
    assert right_rows("trees", x, Column(y, 2), train, test, 0)[1]
    assert not module._folds_vary(np.array([1] * 3 + [0] * 9))  # of twelve rows the first fold has three
    assert not module._folds_vary(np.array([0, 0, 1])) and module._folds_vary(np.array([0, 0, 1, 1]))


@pytest.mark.parametrize("labels", [40, 10, 9, 3])
def test_ridge_regression_has_the_strength_of_the_best_consecutive_folds(labels: int) -> None:
    """Fewer than ten labels are left out one at a time, by squared error: R2 of one row does not exist."""
    y = CODES @ [1.0, 0.3] + noise(90, 1, 5)[:, 0]
    train = np.arange(labels)

    def fitted(rows: Array, strength: float) -> Any:
        middle, mean = CODES[rows].mean(0), y[rows].mean()
        a = CODES[rows] - middle
        weights = np.linalg.solve(a.T @ a + strength * np.eye(2), a.T @ (y[rows] - mean))
        return lambda some: (CODES[some] - middle) @ weights + mean

    losses = []
    for strength in np.logspace(-4, 4, 10):
        folds = np.array_split(train, 5 if labels >= 10 else labels)
        errors = [((y[f] - fitted(np.setdiff1d(train, f), strength)(f)) ** 2).mean() for f in folds]
        r2 = [1 - e / y[f].var() if len(f) > 1 else -e for e, f in zip(errors, folds, strict=True)]
        losses.append(-np.mean(r2))
    guess = fitted(train, np.logspace(-4, 4, 10)[np.argmin(losses)])(TEST)
    expected = 1 - ((y[TEST] - guess) ** 2).sum() / ((y[TEST] - y[TEST].mean()) ** 2).sum()
    found, crossed = right_rows("logistic", CODES, Column(y, 0), train, TEST, 0)
    assert crossed and found.mean() == pytest.approx(max(expected, 0), abs=1e-9)


def test_trees_are_twenty_with_leaves_of_two() -> None:
    found, _ = right_rows("trees", CODES, Column(KIND, 3), TRAIN, TEST, 5)
    trees = ExtraTreesClassifier(20, max_features=None, min_samples_leaf=2, random_state=5)
    assert found.tolist() == (trees.fit(CODES[TRAIN], KIND[TRAIN]).predict(CODES[TEST]) == KIND[TEST]).tolist()
    y = CODES[:, 0] + noise(90, 1, 5)[:, 0]
    found, _ = right_rows("trees", CODES, Column(y, 0), TRAIN, TEST, 5)
    forest = ExtraTreesRegressor(20, max_features=None, min_samples_leaf=2, random_state=5)
    assert found.mean() == pytest.approx(max(forest.fit(CODES[TRAIN], y[TRAIN]).score(CODES[TEST], y[TEST]), 0))
    found, _ = right_rows("gbt", CODES, Column(y, 0), TRAIN, TEST, 5)
    boosted = GradientBoostingRegressor(random_state=5).fit(CODES[TRAIN], y[TRAIN])
    assert found.mean() == pytest.approx(max(boosted.score(CODES[TEST], y[TEST]), 0))
