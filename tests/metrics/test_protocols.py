"""DCI by random forest regression, and SAP by logistic regression, against the same protocols written out in loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.errors import Problem
from unbraid.metrics.dci import dci
from unbraid.metrics.sap import sap

FACTORS = grid(4, (3, 6, 8))
MIXED = np.concatenate([perfect(FACTORS) @ rotation(3) + 0.2 * noise(len(FACTORS), 3), noise(len(FACTORS), 1, 8)], 1)
TRAIN = 384


def spread(shares: list[float]) -> float:
    total = sum(shares)
    return -sum(s / total * math.log(s / total) for s in shares if s > 0) / math.log(len(shares))


def naive_dci(codes: Array, depths: list[int], seeds: list[int]) -> tuple[float, float, list[float]]:
    forests = [
        RandomForestRegressor(n_estimators=10, max_depth=depth, random_state=seed).fit(
            codes[:TRAIN], FACTORS[:TRAIN, k]
        )
        for k, (depth, seed) in enumerate(zip(depths, seeds, strict=True))
    ]
    importance = [[forest.feature_importances_[i] for forest in forests] for i in range(codes.shape[1])]
    total = sum(map(sum, importance))
    disentangled = sum((1 - spread(row)) * sum(row) / total for row in importance)
    columns = list(zip(*importance, strict=True))
    complete = sum((1 - spread(list(column))) * sum(column) / total for column in columns)
    return disentangled, complete, [f.score(codes[TRAIN:], FACTORS[TRAIN:, k]) for k, f in enumerate(forests)]


def seeds(n: int) -> list[int]:
    return [int(seed) for seed in rng().integers(2**31, size=n)]


def test_dci_by_regression_with_given_depths() -> None:
    found = dci(MIXED, FACTORS, rng(), predictor="regressor", depths=(4, 2, 3), train=TRAIN)
    disentangled, complete, r2 = naive_dci(MIXED, [4, 2, 3], seeds(3))
    assert found.parts["informativeness_per_factor"] == pytest.approx(r2, abs=1e-9)
    assert not found.warnings  # R2 is 0 by chance, whatever the share of the commonest value
    assert found.value == pytest.approx(disentangled, abs=1e-9)
    assert found.parts["completeness"] == pytest.approx(complete, abs=1e-9)
    assert 0.05 < found.value < 0.9


def test_depths_belong_to_the_factors_given_whichever_are_left_out() -> None:
    wider = np.insert(FACTORS, 1, 5, axis=1)  # a factor that never changes
    found = dci(MIXED, wider, rng(), predictor="regressor", depths=(4, 9, 2, 3), train=TRAIN)
    assert found.value == dci(MIXED, FACTORS, rng(), predictor="regressor", depths=(4, 2, 3), train=TRAIN).value
    with pytest.raises(Problem, match="one depth for each of 4"):
        dci(MIXED, wider, rng(), predictor="regressor", depths=(4, 2, 3))


@pytest.mark.slow
def test_dci_by_regression_with_the_depth_of_the_best_three_folds() -> None:
    """The rows come in the order of their factors, so that folds of neighbours would have to extrapolate."""
    best = []
    for k, seed in enumerate(seeds(3)):
        order = np.random.RandomState(seed).permutation(TRAIN)  # as scikit-learn shuffles
        folds = np.array_split(order, 3)
        means = []
        for depth in range(2, 16):
            r2 = []
            for fold in folds:
                rest = np.setdiff1d(np.arange(TRAIN), fold)
                forest = RandomForestRegressor(10, max_depth=depth, random_state=seed)
                forest.fit(MIXED[rest], FACTORS[rest, k])
                held, fold = FACTORS[np.sort(fold), k], np.sort(fold)
                r2.append(1 - ((held - forest.predict(MIXED[fold])) ** 2).sum() / ((held - held.mean()) ** 2).sum())
            means.append(np.mean(r2))
        best.append(2 + int(np.argmax(means)))
    found = dci(MIXED, FACTORS, rng(), predictor="regressor", train=TRAIN)
    assert found.value == pytest.approx(naive_dci(MIXED, best, seeds(3))[0], abs=1e-9)


def test_sap_by_logistic_regression_and_correlation() -> None:
    """The first factor is a kind, the other two are quantities."""
    score = np.zeros((4, 3))
    for i in range(4):
        one = MIXED[:, i : i + 1]
        model = LogisticRegression(C=1.0, max_iter=1000).fit(one[:TRAIN], FACTORS[:TRAIN, 0])
        score[i, 0] = model.score(one[TRAIN:], FACTORS[TRAIN:, 0])
        for k in (1, 2):
            score[i, k] = np.corrcoef(MIXED[:, i], FACTORS[:, k])[0, 1] ** 2
    gaps = [sorted(score[:, k])[-1] - sorted(score[:, k])[-2] for k in range(3)]
    found = sap(MIXED, FACTORS, rng(), method="logistic", ordered=(1, 2), train=TRAIN)
    assert found.parts["per_factor"] == pytest.approx(gaps, abs=1e-9)
    assert found.value == pytest.approx(float(np.mean(gaps)), abs=1e-9)
    assert found.params["ordered"] == [1, 2]
    all_kinds = sap(MIXED, FACTORS, rng(), method="logistic", train=TRAIN).parts["per_factor"]
    assert all_kinds[0] == pytest.approx(gaps[0], abs=1e-9)
    assert abs(all_kinds[2] - gaps[2]) > 0.05


def test_ordered_factors_are_counted_among_those_given() -> None:
    wider = np.insert(FACTORS, 0, 5, axis=1)
    found = sap(MIXED, wider, rng(), method="logistic", ordered=(2, 3), train=TRAIN)
    assert found.value == sap(MIXED, FACTORS, rng(), method="logistic", ordered=(1, 2), train=TRAIN).value
    with pytest.raises(Problem, match="ordered names factor 4"):
        sap(MIXED, wider, rng(), ordered=(4,))
