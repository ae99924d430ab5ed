"""Separated attribute predictability: what predicts a factor from a unit, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.metrics.worlds import grid, noise, rng
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.sap import _accuracy, _balanced, _classifier, _explained, _thresholds, _warnings, sap

ROWS = np.arange(40), np.arange(40, 60)


def test_a_unit_explains_by_all_of_its_latents_together() -> None:
    """R2 from the normal equations, with a column of ones instead of means taken away; constant latents are left."""
    x, e = noise(50, 3) + np.array([5, -3, 200]), noise(50, 1, 4)[:, 0]
    y = x[:, 0] - 2 * x[:, 1] + e
    ones = np.insert(x, 0, 1, 1)
    for columns in ([0, 1], [0, 2], [0, 1, 2]):
        a = ones[:, [0, *(c + 1 for c in columns)]]
        left = y - a @ np.linalg.solve(a.T @ a, a.T @ y)
        share = 1 - left @ left / ((y - y.mean()) @ (y - y.mean()))
        assert _explained(np.insert(x[:, columns], 1, 7.0, 1), y) == pytest.approx(share, abs=1e-10)
    assert _explained(np.insert(x[:, :1], 0, 7.0, 1), y) == pytest.approx(np.corrcoef(x[:, 0], y)[0, 1] ** 2, abs=1e-12)
    assert _explained(np.full((50, 2), 7.0), y) == 0


def test_single_precision_is_explained_in_double() -> None:
    x, y = (noise(50, 2) + 300).astype(np.float32), np.arange(50) % 4
    wide = x.astype(np.float64)
    assert _explained(x[:, :1], y) == pytest.approx(np.corrcoef(wide[:, 0], y)[0, 1] ** 2, abs=1e-13)
    assert _explained(x, y) == pytest.approx(_explained(wide, y), abs=1e-13)


def test_correlations_are_of_all_rows_and_each_unit() -> None:
    factors = np.stack([np.arange(60) % 4, np.arange(60) // 4], 1)
    codes = np.stack([factors[:, 1], factors[:, 0] + factors[:, 1], 3 * factors[:, 0] - factors[:, 1]], 1) * 1.0
    found = sap(codes, factors, rng(), method="correlation", units=[0, 1, 1], train=40)
    alone = np.corrcoef(codes[:, 0], factors[:, 0])[0, 1] ** 2, 1.0
    assert np.array(found.parts["matrix"]) == pytest.approx(np.array([alone, (1, 1)]), abs=1e-9)
    assert found.parts["per_factor"] == pytest.approx([1 - alone[0], 0], abs=1e-9)
    assert found.value == pytest.approx((1 - alone[0]) / 2, abs=1e-9) and found.parts["best_latent"][0] == 1
    assert found.params == {"method": "correlation", "ordered": [], "standardise": False, "train": 40} | {
        "factors": [0, 1]
    }
    one = sap(codes[:, :1], factors, rng(), method="correlation")
    assert one.parts["per_factor"] == pytest.approx(alone, abs=1e-9)
    assert one.warnings == ("there is only one latent: its gap is its whole score",)


def test_the_best_latent_is_found_for_each_factor() -> None:
    factors = grid(5, (3, 4))
    codes = np.stack([noise(60, 1)[:, 0], factors[:, 1], factors[:, 0]], 1)
    assert sap(codes, factors, rng()).parts["best_latent"] == [2, 1]


def test_balanced_accuracy_is_the_mean_over_values_that_are_there() -> None:
    labels = np.array([0, 0, 0, 0, 2, 2])
    assert _balanced(np.array([0, 0, 0, 1, 2, 0]), labels) == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_thresholds_make_as_many_intervals_as_values_of_equal_weight() -> None:
    """Nine to one: without weights the rare value at the edge would not be worth its cut."""
    tree = _thresholds(3).fit(np.arange(12.0)[:, None], [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2])
    assert tree.get_n_leaves() == 3
    x, y = np.r_[np.zeros(20), np.ones(20)][:, None], np.r_[np.zeros(17), np.ones(3), np.zeros(11), np.ones(9)]
    assert _thresholds(2).fit(x, y).predict([[0.0], [1.0]]).tolist() == [0, 1]
    assert (tree.random_state, tree.class_weight, tree.max_leaf_nodes) == (0, "balanced", 3)


@pytest.mark.parametrize("method", ["kumar", "svm", "logistic"])
def test_what_is_not_seen_is_guessed(method: str) -> None:
    """Of values that training rows lack nothing is known: one of three, or as often as the only one comes."""
    labels = np.r_[np.ones(40, int), np.zeros(15, int), np.full(5, 2)]
    labels[45] = 1
    share = 1 / 3 if method == "kumar" else 1 / 20
    assert _accuracy(method, noise(60, 1), Column(labels, 3), ROWS) == pytest.approx(share)


def test_thresholds_count_by_the_values_that_are_there_not_by_those_that_are_named() -> None:
    """Of twelve 0 nine are named, of eight 1 all; of eleven named 1 only eight are right."""
    labels = np.r_[np.tile([0, 1], 20), np.zeros(12, int), np.ones(8, int)]
    x = labels.copy()
    x[40:43] = 1
    assert _accuracy("kumar", x[:, None] * 1.0, Column(labels, 2), ROWS) == pytest.approx((9 / 12 + 1) / 2)


def test_a_latent_that_does_not_vary_while_training_guesses() -> None:
    column, still = Column(np.arange(60) % 4, 4), np.r_[np.ones(40), np.arange(20.0)][:, None]
    assert _accuracy("kumar", still, column, ROWS) == 0.25
    assert _accuracy("kumar", column.values[:, None] * 1.0, column, ROWS) == 1
    assert _accuracy("kumar", np.insert(still, 1, column.values, 1), column, ROWS) == 1


@pytest.mark.parametrize("method", ["svm", "logistic"])
def test_classifiers_learn_from_training_rows_and_are_tried_on_others(method: Any) -> None:
    y = np.arange(60) % 2 | (np.arange(60) % 3 == 0)
    x = 4 * y[:, None] + 0.8 * noise(60, 1)
    x[50:] *= -1
    model: Any = LogisticRegression() if method == "logistic" else LinearSVC(C=0.01, class_weight="balanced")
    model.fit(x[:40], y[:40])
    wanted = sum(int(model.predict(x[[i]])[0]) == int(y[i]) for i in range(40, 60)) / 20
    assert _accuracy(method, x, Column(y, 2), ROWS) == pytest.approx(wanted) and 0.3 < wanted < 0.9


def test_the_classifiers_are_those_that_are_promised() -> None:
    svm, logistic = _classifier("svm"), _classifier("logistic")
    assert isinstance(svm, LinearSVC) and isinstance(logistic, LogisticRegression)
    assert (svm.C, svm.class_weight, svm.dual, svm.tol, svm.max_iter) == (0.01, "balanced", False, 1e-4, 1000)
    assert (logistic.C, logistic.solver, logistic.tol, logistic.max_iter) == (1.0, "lbfgs", 1e-4, 200)


def test_only_methods_that_depend_on_the_offset_see_it() -> None:
    """Far from 0 the machine fails; thresholds and a machine on standardised latents do not."""
    factors = grid(15, (2, 3))
    codes = factors + 0.4 * noise(90, 2)

    def moved(**options: Any) -> bool:
        one, two = (sap(codes + far, factors, rng(), train=60, ordered=(), **options) for far in (0, 30))
        return not np.allclose(one.parts["matrix"], two.parts["matrix"])

    assert moved(method="svm") and not moved(method="svm", standardise=True) and not moved()


def odd(codes: Any, *, factors: Any = None, **options: Any) -> list[str]:
    factors = np.arange(len(codes)) % 2 if factors is None else factors
    return [text for text in sap(codes, factors, rng(), **options).warnings if "standardise=True" in text]


def test_small_and_far_latents_are_reported_to_the_support_vector_machine_alone() -> None:
    """Two values a and b have the spread |a - b| / 2; the limits are 0.3, and 1 + the spread from 0."""
    sign = np.tile([-1.0, 1.0, 1.0, -1.0], 10)
    for spread, told in ((0.29, True), (0.31, False)):
        assert bool(odd(np.stack([sign, spread * sign], 1), method="svm")) == told
    for centre, told in ((1.5, False), (1.51, True), (-1.51, True)):
        assert bool(odd(np.stack([sign, 0.5 * sign + centre], 1), method="svm")) == told
    both = np.stack([0.1 * sign, sign, np.ones(40), sign + 9], 1)
    assert odd(both, method="svm") == [
        "latents [0, 3] are small or far from 0, on which the support vector machine depends: try standardise=True"
    ]
    assert odd(both) == odd(both, method="logistic") == odd(both, method="svm", standardise=True) == []
    factors = np.stack([np.arange(40) % 2, np.arange(40) / 7], 1)
    assert odd(both, method="svm", factors=factors[:, 1]) == [] and len(odd(both, method="svm", factors=factors)) == 1


def test_spreads_and_means_of_many_rows_are_summed_in_double() -> None:
    """Single precision would add up 0.2999 and 1.311, just beyond the limits."""
    sign = np.tile(np.array([-1, 1], np.float32), 2**17)
    codes = np.stack([np.float32(0.3001) * sign, np.float32(0.31) * sign + np.float32(1.3092)], 1)
    assert codes.std(0)[0] < 0.3 and codes.mean(0)[1] > 1 + codes.std(0)[1]
    assert _warnings(check_arrays(codes, np.arange(2**18) % 2), "svm", False) == []


@pytest.mark.parametrize("method", ["kumar", "svm"])
@pytest.mark.parametrize("name", ["kinds", "ordered"])
def test_factors_that_do_not_exist_are_refused_by_every_method(method: Any, name: str) -> None:
    with pytest.raises(UserError, match=f"{name} names factor 3, and there are the factors 0 to 2"):
        sap(grid(4), grid(4), rng(), method=method, **{name: [3]})  # type: ignore[arg-type]
