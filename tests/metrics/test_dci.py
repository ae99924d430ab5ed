"""DCI by parts: importances of the same predictors by hand, entropies by loops, and what it says."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import StandardScaler

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.dci import _boosted, _fitted, _model, _score, _shares, dci, equally_ordered

FACTORS = grid(1, (3, 6, 8))


def test_dci_says_what_lightgbm_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lightgbm.py").write_text("raise OSError('libomp.dylib is not loaded\\n  Referenced from: here')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    with pytest.raises(
        UserError, match=r"cannot be loaded \(libomp.dylib is not loaded\): on macOS 'brew install libomp'"
    ):
        dci(perfect(FACTORS), FACTORS, rng())
    assert dci(perfect(FACTORS), FACTORS, rng(), predictor="trees").value > 0


def test_shares_of_units_sum_to_one_and_copies_share() -> None:
    raw = np.array([3.0, 1.0, -2.0, 0.0, 4.0])
    units = [np.array([0]), np.array([1, 2]), np.array([3]), np.array([4])]
    assert _shares(raw.copy(), units, []) == pytest.approx([3 / 8, 1 / 8, 0, 4 / 8])  # below 0 counts as 0
    assert _shares(raw.copy(), units, [np.array([3, 4])]) == pytest.approx([3 / 8, 1 / 8, 2 / 8, 2 / 8])
    assert _shares(np.array([0.0, 0.0]), [np.array([0]), np.array([1])], []).tolist() == [0, 0]


def entropy_left(shares: list[float]) -> float:
    total = sum(shares)
    return 1 + sum(s / total * math.log(s / total) for s in shares if s > 0) / math.log(len(shares))


def test_disentanglement_and_completeness_of_given_importances() -> None:
    importance = np.array([[0.6, 0.0], [0.3, 0.1], [0.1, 0.9], [0.0, 0.0]])
    arrays = check_arrays(noise(4, 4), np.array([[5, 0, 1], [5, 1, 1], [5, 0, 0], [5, 0, 1]]))
    found = _score(importance, [(0.9, 0.5), (1.0, 0.8)], arrays, {"predictor": "trees", "train": 3})
    per_latent, per_factor = [entropy_left(row) for row in [[0.6, 0.0], [0.3, 0.1], [0.1, 0.9]]], importance.T.tolist()
    assert found.parts["per_latent"] == pytest.approx([*per_latent, 0])
    assert found.parts["per_factor"] == pytest.approx([entropy_left(column) for column in per_factor])
    assert found.value == pytest.approx((0.6 * per_latent[0] + 0.4 * per_latent[1] + 1.0 * per_latent[2]) / 2)
    assert found.parts["disentanglement"] == found.value
    assert found.parts["completeness"] == pytest.approx(sum(entropy_left(column) for column in per_factor) / 2)
    assert found.parts["importance"] == importance.tolist()
    assert (found.parts["informativeness"], found.parts["informativeness_train"]) == pytest.approx((0.65, 0.95))
    assert found.parts["informativeness_per_factor"] == [0.5, 0.8]
    told = [f"factor {k} is predicted no better than by chance: the importances for it are noise" for k in (1,)]
    assert list(found.warnings[1:]) == told  # the commonest value has 3 of 4 rows: 0.5 is less, 0.8 more than 0.7975


@pytest.mark.parametrize(("predictor", "chance"), [("trees", 0.75 * 1.05 + 0.01), ("lasso", 0.01), ("regressor", 0.01)])
def test_what_is_a_twentieth_and_a_hundredth_above_chance_is_noted(predictor: str, chance: float) -> None:
    arrays = check_arrays(noise(4, 2), np.array([0, 1, 0, 0]))
    for skill, notes in ((chance, 1), (chance + 1e-9, 0)):
        found = _score(np.ones((2, 1)), [(1.0, skill)], arrays, {"predictor": predictor})
        assert len(found.warnings) == 1 + notes
    assert np.isnan(found.value) and found.parts["disentanglement"] is None and "per_latent" not in found.parts
    assert found.warnings == ("disentanglement needs at least two factors that vary",)
    numbers = check_arrays(noise(4, 2), np.array([0.5, 1, 0, 0]))
    assert len(_score(np.ones((2, 1)), [(1.0, 0.02)], numbers, {"predictor": "trees"}).warnings) == 1


def test_one_latent_has_no_completeness() -> None:
    arrays = check_arrays(noise(4, 1), np.array([[0, 1], [1, 1], [0, 0], [0, 1]]))
    found = _score(np.array([[0.5, 1.0]]), [], arrays, {"predictor": "trees"})
    assert found.parts["completeness"] is None and "per_factor" not in found.parts
    assert found.value == pytest.approx(entropy_left([0.5, 1.0])) and "informativeness" not in found.parts
    assert found.warnings == ("completeness needs at least two latents",)
    nothing = _score(np.zeros((2, 2)), [], arrays, {"predictor": "trees"})
    assert nothing.value == 0 and nothing.parts["completeness"] == 0


def test_latents_are_copies_if_they_order_rows_alike_or_the_other_way_round() -> None:
    x = np.array([0.1, 0.5, 0.2, 0.9])
    codes = np.stack([x, np.array([1.0, 1, 2, 3]), x**3, -x, x.round(), np.array([3.0, 3, 2, 1])], 1)
    assert [group.tolist() for group in equally_ordered(codes)] == [[0, 2, 3], [1, 5]]


KIND = rng(1).integers(0, 3, 90)
CODES = np.round(2 * np.stack([KIND, KIND == 1, 0 * KIND], 1) + 1.5 * noise(90, 3))  # few values: each has a bin
ROWS = np.arange(60), np.arange(60, 90)


def test_boosting_a_quantity_is_that_of_scikit_learn() -> None:
    """The same trees: the same R2, and gains that are its decreases of squared error, summed over the rows."""
    y = CODES @ [1.0, 0.5, 0.1] + noise(90, 1, 4)[:, 0]
    raw, skills = _boosted(CODES, Column(y, 0), ROWS, 6, 0)
    model = GradientBoostingRegressor(n_estimators=6, random_state=0).fit(CODES[:60], y[:60])
    assert skills() == pytest.approx([model.score(CODES[r], y[r]) for r in ROWS], abs=1e-5)
    gains = sum(tree[0].tree_.compute_feature_importances(normalize=False) for tree in model.estimators_)
    assert raw == pytest.approx(60 * gains, rel=1e-4)


@pytest.mark.parametrize("values", [3, 2])
def test_boosting_a_kind_counts_test_rows_whose_value_was_never_seen_as_wrong(values: int) -> None:
    y = np.where(values > KIND, KIND, 0) * 2
    y[[62, 70]] = 3
    raw, skills = _boosted(CODES, Column(y, 5), ROWS, 4, 0)
    model = LGBMClassifier(n_estimators=4, max_depth=3, num_leaves=8, min_child_samples=1, n_jobs=1, verbosity=-1)
    model.fit(CODES[:60], y[:60])
    assert skills() == pytest.approx([(model.predict(CODES[r]) == y[r]).mean() for r in ROWS])
    assert raw == pytest.approx(model.booster_.feature_importance("gain"), rel=1e-6)


def test_test_rows_of_unseen_values_alone_are_all_wrong() -> None:
    y = np.where(np.arange(90) < 60, KIND, 3)
    assert _boosted(CODES, Column(y, 4), ROWS, 2, 0)[1]()[1] == 0


@pytest.mark.parametrize("predictor", ["lightgbm", "trees"])
def test_a_kind_with_one_value_while_training_has_no_importances(predictor: Any) -> None:
    y = np.where(np.arange(90) < 60, 0, KIND)
    raw, skills = _fitted(predictor, CODES, Column(y, 3), ROWS, trees=2, rounds=2, depth=None, seed=0)
    assert raw.tolist() == [0, 0, 0] and skills() == (0, 0)


FORESTS: dict[str, Any] = {
    "trees": (ExtraTreesClassifier, ExtraTreesRegressor),
    "forest": (RandomForestClassifier, RandomForestRegressor),
}


@pytest.mark.parametrize("predictor", FORESTS)
def test_forests_see_all_latents_at_each_split(predictor: Any) -> None:
    """Seeds are drawn after the rows; a quantity is regressed and a kind classified."""
    factors = np.stack([CODES[:, 0] + 0.5 * noise(90, 1, 6)[:, 0], KIND], 1)
    found = dci(CODES, factors, rng(3), predictor=predictor, trees=4, train=60)
    draws = rng(3).integers(2**31, size=2)
    importance, skills = [], []
    for k, y, model in ((0, factors[:, 0], FORESTS[predictor][1]), (1, KIND, FORESTS[predictor][0])):
        fitted = model(4, max_features=None, random_state=int(draws[k])).fit(CODES[:60], y[:60])
        importance.append(fitted.feature_importances_)
        skills.append([fitted.score(CODES[r], y[r]) for r in ROWS])
    assert np.array(found.parts["importance"]) == pytest.approx(np.array(importance).T, abs=1e-12)
    assert found.parts["informativeness_per_factor"] == pytest.approx([test for _, test in skills])
    assert found.parts["informativeness_train"] == pytest.approx(np.mean([train for train, _ in skills]))
    assert found.params == {"predictor": predictor, "train": 60, "trees": 4, "factors": [0, 1]}


def test_gradient_boosting_of_scikit_learn() -> None:
    y = CODES[:, 0] + 0.5 * noise(90, 1, 6)[:, 0]
    found = dci(CODES, y, rng(3), predictor="gbt", train=60)
    model = GradientBoostingRegressor(random_state=int(rng(3).integers(2**31, size=1)[0])).fit(CODES[:60], y[:60])
    assert np.array(found.parts["importance"])[:, 0] == pytest.approx(model.feature_importances_, abs=1e-12)
    assert found.params == {"predictor": "gbt", "train": 60, "factors": [0]}


def test_the_lasso_is_of_standardised_latents() -> None:
    y = 2 * KIND
    codes = CODES * [-1, 100, 0.01] + noise(90, 3, 8) * [0.1, 10, 0.001]
    found = dci(codes, y, rng(3), predictor="lasso", train=60)
    scaled = StandardScaler().fit(codes[:60]).transform(codes)
    weights = np.abs(LassoCV().fit(scaled[:60], KIND[:60]).coef_)
    assert np.array(found.parts["importance"])[:, 0] == pytest.approx(weights / weights.sum(), abs=1e-6)
    assert found.params == {"predictor": "lasso", "train": 60, "factors": [0]}


def test_the_regressor_has_ten_trees_of_its_depth() -> None:
    found = dci(CODES, np.stack([KIND, CODES[:, 1] > 1], 1), rng(3), predictor="regressor", depths=(2, 3), train=60)
    forest = RandomForestRegressor(10, max_depth=2, random_state=int(rng(3).integers(2**31, size=2)[0]))
    forest.fit(CODES[:60], KIND[:60])
    assert np.array(found.parts["importance"])[:, 0] == pytest.approx(forest.feature_importances_, abs=1e-12)
    assert found.params == {"predictor": "regressor", "train": 60, "depths": [2, 3], "factors": [0, 1]}


def test_the_depth_is_searched_from_2_to_15_in_three_shuffled_folds() -> None:
    search = _model("regressor", Column(KIND, 3), trees=1, depth=None, seed=7)
    assert search.param_grid == {"max_depth": list(range(2, 16))}
    assert (search.cv.n_splits, search.cv.shuffle, search.cv.random_state) == (3, True, 7)
    assert search.estimator.n_estimators == 10 and search.estimator.random_state == 7


def test_copies_are_told_by_the_training_rows_and_lightgbm_is_the_default() -> None:
    codes = np.concatenate([CODES[:, :1], CODES], 1)
    codes[60:, 0] = 0  # no copy in the test rows
    found = dci(codes, KIND, rng(), rounds=3, train=60)
    shares = np.array(found.parts["importance"])[:, 0]
    assert shares[0] == shares[1] > 0 and found.params["rounds"] == 3 and "trees" not in found.params
    plain = dci(CODES, KIND, rng(), rounds=3, train=60, units=[4, 4, 2])
    assert np.array(plain.parts["importance"])[:, 0] == pytest.approx([shares[3], shares[:3].sum()], abs=1e-6)
    short = dci(CODES, KIND, rng(), rounds=3, train=60, informativeness=False)
    assert "informativeness" not in short.parts and "informativeness" in plain.parts
