"""Variants of metrics against the same protocols written out in loops."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.dci import dci
from unbraid.metrics.info_mec import info_mec
from unbraid.metrics.mcc import mcc
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


@pytest.mark.parametrize("predictor", ["lightgbm", "trees"])
def test_dci_is_the_same_without_its_informativeness(predictor: Any) -> None:
    whole, short = (dci(MIXED, FACTORS, rng(), predictor=predictor, informativeness=told) for told in (True, False))
    assert short.value == whole.value and np.array_equal(short.parts["importance"], whole.parts["importance"])
    assert {name for name in whole.parts if name not in short.parts} == {
        "informativeness",
        "informativeness_train",
        "informativeness_per_factor",
    }


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
    with pytest.raises(UserError, match="one depth for each of 4"):
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


def test_sap_by_its_own_paper_takes_correlations_for_quantities_and_thresholds_for_kinds() -> None:
    """Two values: the best threshold on the training rows, of all that there are; three or more: correlations."""
    draw = rng(4)
    factors = np.stack([draw.integers(0, 2, 900) | (draw.random(900) < 0.6), draw.integers(0, 5, 900)], 1)
    codes = factors * [1.0, 0.5] @ rotation(2) + 0.3 * draw.standard_normal((900, 2))
    score = np.array([[0.0, np.corrcoef(codes[:, i], factors[:, 1])[0, 1] ** 2] for i in range(2)])
    y, test = factors[:600, 0], factors[600:, 0]
    for i in range(2):
        x, best = codes[:, i], (0.0, 0.0, 1)
        for cut in np.sort(x[:600]):
            for sign in (1, -1):
                above = sign * (x[:600] - cut) > 0
                accuracy = (above[y == 1].mean() + (~above)[y == 0].mean()) / 2
                best = max(best, (accuracy, cut, sign))
        above = best[2] * (x[600:] - best[1]) > 0
        score[i, 0] = (above[test == 1].mean() + (~above)[test == 0].mean()) / 2
    found = sap(codes, factors, rng(), train=600)
    matrix = np.array(found.parts["matrix"])
    assert matrix[:, 1] == pytest.approx(score[:, 1], abs=1e-9)
    assert matrix[:, 0] == pytest.approx(score[:, 0], abs=0.02)
    assert found.params["ordered"] == [1]
    kinds = sap(codes, factors.astype(str), rng(), train=600)
    assert kinds.params["ordered"] == [] and kinds.parts["matrix"] != found.parts["matrix"]


def test_sap_takes_numbers_that_are_kinds_as_kinds() -> None:
    """`kinds` limits the default; what is named by `ordered` is a quantity all the same."""
    found = sap(MIXED, FACTORS, rng(), kinds=(0,), train=TRAIN)
    assert found.params["ordered"] == [1, 2]
    assert found.value == sap(MIXED, FACTORS, rng(), ordered=(1, 2), train=TRAIN).value
    assert found.value != sap(MIXED, FACTORS, rng(), train=TRAIN).value
    assert sap(MIXED, FACTORS, rng(), kinds=(0,), ordered=(0,), train=TRAIN).params["ordered"] == [0]
    study = sap(MIXED, FACTORS, rng(), method="svm", train=TRAIN)
    assert sap(MIXED, FACTORS, rng(), method="svm", kinds=(0,), train=TRAIN).value == study.value
    with pytest.raises(UserError, match="kinds names factor 3"):
        sap(MIXED, FACTORS, rng(), kinds=(3,))


def test_sap_does_not_depend_on_scale_and_gives_a_perfect_code_nearly_one() -> None:
    codes = perfect(FACTORS)
    for moved in (codes, 0.01 * codes, codes + 30, 1000 * codes - 7):
        assert sap(moved, FACTORS, rng()).value == pytest.approx(1, abs=1e-6)
        kinds = sap(moved, FACTORS, rng(), ordered=())
        assert kinds.parts["per_factor"] == pytest.approx([1 - 1 / 3, 1 - 1 / 6, 1 - 1 / 8], abs=0.15)
        assert kinds.value == sap(codes, FACTORS, rng(), ordered=()).value


def test_ordered_factors_are_counted_among_those_given() -> None:
    wider = np.insert(FACTORS, 0, 5, axis=1)
    found = sap(MIXED, wider, rng(), method="logistic", ordered=(2, 3), train=TRAIN)
    assert found.value == sap(MIXED, FACTORS, rng(), method="logistic", ordered=(1, 2), train=TRAIN).value
    with pytest.raises(UserError, match="ordered names factor 4"):
        sap(MIXED, wider, rng(), ordered=(4,))


def test_mcc_of_ranks_is_the_best_of_all_matchings() -> None:
    rows = np.flatnonzero(
        FACTORS.sum(1) < rng().integers(1, 14, len(FACTORS))
    )  # small labels more often than large ones
    codes, factors = np.exp(2 * MIXED[rows]), FACTORS[rows]
    each = [[abs(spearmanr(codes[:, i], factors[:, k]).statistic) for k in range(3)] for i in range(4)]
    best = max(permutations(range(4), 3), key=lambda latents: sum(each[i][k] for k, i in enumerate(latents)))
    found = mcc(codes, factors, rng(), correlation="spearman")
    assert found.parts["matched_latent"] == list(best)
    assert found.parts["per_factor"] == pytest.approx([each[i][k] for k, i in enumerate(best)], abs=1e-12)
    assert found.value == pytest.approx(sum(each[i][k] for k, i in enumerate(best)) / 3, abs=1e-12)
    assert found.value > mcc(codes, factors, rng()).value + 0.05


def nats(a: list[int], b: list[int]) -> float:
    n, both, one, two = len(a), Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    return sum(c / n * math.log(c * n / (one[i] * two[j])) for (i, j), c in both.items())


def concentration(rows: list[list[float]]) -> float:
    even = 1 / len(rows[0])
    return sum((max(row) / sum(row) - even) / (1 - even) for row in rows) / len(rows)


def test_info_mec_with_latents_that_are_active_by_their_range() -> None:
    """The third latent knows its factor and is a thirtieth as wide as the first; the last is wide and knows nothing."""
    widths, kept = [60, 10, 2, 12], [0, 1, 3]
    blurred = np.concatenate([perfect(FACTORS) + 0.3 * noise(len(FACTORS), 3), noise(len(FACTORS), 1, 8)], 1)
    codes = (blurred - blurred.min(0)) / np.ptp(blurred, 0) * widths
    labels = [FACTORS[:, k].tolist() for k in range(3)]
    bins = [[min(int(20 * value / width), 19) for value in codes[:, i]] for i, width in enumerate(widths)]
    shares = [[nats(bins[i], y) / nats(y, y) for y in labels] for i in kept]
    scaled = StandardScaler().fit(codes[:TRAIN]).transform(codes[:TRAIN])
    explicit = []
    for k in range(3):
        y = FACTORS[:TRAIN, k]
        losses = []
        for x in (scaled, np.zeros_like(scaled)):
            model = LogisticRegression(C=np.inf, max_iter=100, class_weight="balanced")
            losses.append(log_loss(y, model.fit(x, y).predict_proba(x)))
        explicit.append(1 - losses[0] / losses[1])
    found = info_mec(codes, FACTORS, rng(), estimator="equal", reference=True, train=TRAIN)
    assert found.parts["active_latents"] == kept
    assert found.value == pytest.approx(concentration(shares), abs=1e-9)
    assert found.parts["info_c"] == pytest.approx(concentration([list(c) for c in zip(*shares, strict=True)]), abs=1e-9)
    assert found.parts["info_e_per_factor"] == pytest.approx(explicit, abs=1e-6)
    assert info_mec(codes, FACTORS, rng(), estimator="equal", active=0.1, train=TRAIN).parts["active_latents"] == [
        0,
        1,
        2,
    ]


def test_info_mec_explains_factors_on_held_out_rows() -> None:
    scaled = StandardScaler().fit(MIXED[:TRAIN]).transform(MIXED)
    explicit = []
    for k in range(3):
        train, test = FACTORS[:TRAIN, k], FACTORS[TRAIN:, k]
        probability = LogisticRegression(C=1e4, max_iter=300).fit(scaled[:TRAIN], train).predict_proba(scaled[TRAIN:])
        prior = np.tile(np.bincount(train) / TRAIN, (len(test), 1))
        explicit.append(1 - log_loss(test, probability) / log_loss(test, prior))
    found = info_mec(MIXED, FACTORS, rng(), estimator="equal", train=TRAIN)
    assert found.parts["info_e_per_factor"] == pytest.approx(explicit, abs=1e-6)


def test_the_reference_info_mec_takes_ten_neighbours() -> None:
    codes = perfect(FACTORS) @ rotation(3) + 0.5 * noise(len(FACTORS), 3)
    theirs = [mutual_info_classif(codes, FACTORS[:, k], n_neighbors=10, random_state=0) for k in range(3)]
    shares = np.array(theirs).T / [nats(y, y) for y in FACTORS.T.tolist()]
    assert info_mec(codes, FACTORS, rng(), reference=True).parts["matrix"] == pytest.approx(shares, abs=1e-6)
    assert np.abs(info_mec(codes, FACTORS, rng()).parts["matrix"] - shares).max() > 0.005


def test_noise_has_no_modularity_by_info_mec() -> None:
    """Latents are active by permutations: without that test six of eight draws score 0.35 to 1."""
    for seed in range(8):
        draw = np.random.default_rng(seed)
        factors = np.stack([*(draw.integers(0, m, 1000) for m in (3, 6, 10)), draw.random(1000) < 0.01], 1)
        codes = draw.standard_normal((1000, 6))
        found = info_mec(codes, factors, draw, permutations=10)
        assert np.isnan(found.value) and found.parts["active"] == 0
        assert any("no latent is informative" in text for text in found.warnings)
        assert info_mec(codes, factors, draw, permutations=0).parts["active"] > 0 or seed > 0


def test_the_chance_level_of_info_mec_is_that_of_the_active_latents() -> None:
    codes = np.concatenate([perfect(FACTORS) + 0.3 * noise(len(FACTORS), 3), noise(len(FACTORS), 2, 8)], 1)
    found = info_mec(codes, FACTORS, rng(), estimator="equal")
    assert found.parts["active_latents"] == [0, 1, 2] and found.parts["active"] == 3
    assert any("2 of 5 latents are not active" in text for text in found.warnings)
    permuted = [rng(seed).permutation(codes) for seed in range(40)]
    bins = [[np.minimum((20 * (z - z.min()) / np.ptp(z)).astype(int), 19).tolist() for z in c.T[:3]] for c in permuted]
    shares = [[[nats(b, y) / nats(y, y) for y in FACTORS.T.tolist()] for b in each] for each in bins]
    naive = [concentration(each) for each in shares]
    assert found.null == pytest.approx(np.mean(naive), abs=4 * float(np.std(naive)) / 20**0.5)
    assert found.params["shuffles"] == 20 and found.params["chance_spread"] == pytest.approx(np.std(naive), rel=0.6)
    assert found.null is not None and found.null < found.value


def test_beta_vae_score_of_codes_in_their_own_scale() -> None:
    """A row is paired with one of the others of its value: as many places on as a uniform number says."""
    codes, draw, batch = MIXED * [1, 0.1, 0.02, 1], rng(), 8
    held = draw.integers(3, size=700)
    points = np.empty((700, 4))
    for k in range(3):
        here = np.flatnonzero(held == k)
        first, chance = draw.integers(len(codes), size=(len(here), batch)), draw.random((len(here), batch))
        for point, rows, numbers in zip(here, first, chance, strict=True):
            apart = []
            for row, number in zip(rows, numbers, strict=True):
                alike = np.flatnonzero(FACTORS[:, k] == FACTORS[row, k]).tolist()
                others = alike[alike.index(row) + 1 :] + alike[: alike.index(row)]
                apart.append(np.abs(codes[row] - codes[others[int(number * len(others))]]))
            points[point] = sum(apart) / batch
    model = LogisticRegression(max_iter=1000).fit(points[:500], held[:500])
    found = beta_vae_score(codes, FACTORS, rng(), batch=batch, points=500, test_points=200, reference=True)
    assert found.value == pytest.approx(model.score(points[500:], held[500:]), abs=1e-12)
    assert found.parts["train"] == pytest.approx(model.score(points[:500], held[:500]), abs=1e-12)
    scaled = beta_vae_score(codes, FACTORS, rng(), batch=batch, points=500, test_points=200)
    assert scaled.value > found.value + 0.05
