"""Metrics on labels, on two sets of codes, on several runs, on named blocks; and variants of DCI and SAP."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.clustering_accuracy import clustering_accuracy
from unbraid.metrics.dci import dci
from unbraid.metrics.downstream import downstream
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.info_mec import info_mec
from unbraid.metrics.probe_table import diagonal, probe_table
from unbraid.metrics.r2 import r2
from unbraid.metrics.sap import sap
from unbraid.metrics.udr import udr
from unbraid.metrics.w2 import w2

FACTORS = grid(10)
PERFECT = perfect(FACTORS)


def blobs(n: int, classes: int, apart: float) -> tuple[Array, Array]:
    labels = np.arange(n) % classes
    return noise(n, 3) + apart * rng(5).standard_normal((classes, 3))[labels], labels


@pytest.mark.parametrize("plane", [True, False])
def test_far_clusters_are_found_and_near_ones_are_not(plane: bool) -> None:
    codes, labels = blobs(300, 4, 12)
    found = clustering_accuracy(codes, labels, rng(), plane=plane)
    assert found.value == 1 and found.low == found.high == 1
    assert found.parts["silhouette_values"][0] > 0.6
    assert found.parts["silhouette_values"] == pytest.approx(found.parts["silhouette_clusters"])
    assert found.null is not None and 0.25 <= found.null < 0.45  # the best naming of clusters by chance
    codes, labels = blobs(300, 4, 0)
    none = clustering_accuracy(codes, labels, rng(), plane=plane)
    assert none.value < 0.45
    assert none.parts["silhouette_clusters"][0] > 0.2 > 0.05 > none.parts["silhouette_values"][0]


def test_clusters_need_rows() -> None:
    with pytest.raises(UserError, match="too few to cluster"):
        clustering_accuracy(noise(20, 2), np.arange(20) % 3, rng())


def test_w2_of_shifted_codes_and_its_floor() -> None:
    """W2^2 of a law and its copy moved by m is |m|^2; a finite sample adds its floor."""
    target, background = noise(4000, 2, 1), noise(4000, 2, 2) + np.array([3, 4])
    moved = w2(target, background, rng(), large=500)
    assert moved.value == pytest.approx(25, abs=1.5) and moved.low is not None and moved.low < moved.value
    assert moved.parts["excess"] == pytest.approx(25 / 2, abs=0.8)
    same = w2(target, noise(4000, 2, 2), rng(), large=500)
    assert same.value == pytest.approx(same.parts["floor"], abs=0.05)
    assert abs(same.parts["excess"]) < 0.05 and same.parts["trace"] == pytest.approx(2, abs=0.15)
    assert same.null == pytest.approx(same.value, abs=0.05)
    assert same.parts["large"] < same.value  # the floor falls with the number of points


def test_shrinking_codes_lowers_w2_and_not_its_excess() -> None:
    target, background = noise(2000, 2, 1), noise(2000, 2, 2) + np.array([1, 0])
    whole, small = w2(target, background, rng(), large=0), w2(target / 10, background / 10, rng(), large=0)
    assert small.value == pytest.approx(whole.value / 100)
    assert small.parts["excess"] == pytest.approx(whole.parts["excess"])


def test_w2_floor_of_sixteen_dimensions() -> None:
    """Two samples of 128 from one 16-dimensional normal are 14.2 apart."""
    found = w2(noise(3000, 16, 1), noise(3000, 16, 2), rng(), large=0)
    assert found.value == pytest.approx(14.2, abs=0.3) and found.parts["floor"] == pytest.approx(14.2, abs=0.3)
    with pytest.raises(UserError, match="16 latents and background codes 3"):
        w2(noise(300, 16), noise(300, 3), rng())


def test_the_interval_of_w2_is_students_over_its_batches() -> None:
    """t of two degrees is 4.3027."""
    found = w2(noise(600, 2, 1), noise(600, 2, 2) + 3, rng(), batch=40, batches=3, large=0)
    a, b, c = found.parts["per_batch"]
    mean = (a + b + c) / 3
    reach = 4.30265273 * (((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2) / 2) ** 0.5 / 3**0.5
    assert (found.value, found.low, found.high) == pytest.approx((mean, mean - reach, mean + reach), rel=1e-8)


def test_average_and_worst_group() -> None:
    labels, nuisance = np.repeat([0, 1], 200), np.tile(np.repeat([0, 1], 100), 2)
    predicted = labels.copy()
    predicted[300:360] = 0  # class 1, nuisance 1: 40 of 100 right
    found = group_accuracy(predicted, labels, nuisance, rng())
    assert found.value == pytest.approx(340 / 400)
    assert found.parts["worst"] == pytest.approx(0.4)
    assert found.parts["worst_group"] == {"class": 1, "nuisances": [1]}
    assert found.parts["worst_nuisance"] == pytest.approx(140 / 200)
    low, high = found.parts["worst_interval"]
    assert 0.25 < low < 0.4 < high < 0.55
    assert found.low is not None and found.low < found.value


def test_chance_is_what_predictions_dealt_out_at_random_get() -> None:
    """Nine tenths of the rows are of one class: .9 for who always says it, .9^2 + .1^2 for who says both as often."""
    labels = np.repeat([0, 1], [9000, 1000])
    constant, perfect_one = (
        group_accuracy(told, labels, np.zeros(10_000), rng(), resamplings=0) for told in (0 * labels, labels)
    )
    assert (constant.value, constant.null) == (0.9, 0.9)
    assert perfect_one.value == 1 and perfect_one.null == pytest.approx(0.82, abs=0.008)


def test_small_groups_are_never_the_worst() -> None:
    labels = np.repeat([0, 1], 100)
    nuisance = np.zeros(200, int)
    nuisance[:10] = 1
    predicted = labels.copy()
    predicted[:10] = 1  # a group of ten, all wrong
    found = group_accuracy(predicted, labels, nuisance, rng())
    assert found.parts["worst"] == 1 and any("1 of 3 groups" in text for text in found.warnings)
    assert group_accuracy(predicted, labels, nuisance, rng(), least=5).parts["worst"] == 0


def sub_embeddings() -> tuple[dict[str, Array], Array]:
    factors = grid(20, (4, 5))
    one_hot = [np.eye(m)[factors[:, k]] for k, m in enumerate((4, 5))]
    blurred = [hot + 0.2 * noise(len(factors), hot.shape[1], 9) for hot in one_hot]
    return {"z0": blurred[0], "z1": blurred[1], "z": np.concatenate(blurred, 1)}, factors


def test_a_diagonal_probe_table() -> None:
    blocks, factors = sub_embeddings()
    found = probe_table(blocks, factors, rng(), names=["digit", "scene"])
    accuracy = found.parts["accuracy"]
    assert accuracy["z0"]["digit"] > 0.95 and accuracy["z0"]["scene"] < 0.4
    assert accuracy["z1"]["scene"] > 0.95 and accuracy["z"]["digit"] > 0.95
    gap = found.parts["gap"]["digit"]
    assert gap == pytest.approx(abs(accuracy["z0"]["digit"] - accuracy["z1"]["digit"]))
    assert found.parts["diagonal"] and found.parts["diagonal_share"] == 1
    assert found.value == pytest.approx((gap + found.parts["gap"]["scene"]) / 2)
    assert found.null is not None and found.null < 0.2 < found.value


def test_a_table_in_which_one_block_wins_everything_is_not_diagonal() -> None:
    blocks, factors = sub_embeddings()
    found = probe_table({"z0": blocks["z"], "z1": noise(len(factors), 3)}, factors, rng())
    assert not found.parts["diagonal"] and found.value == 0
    assert diagonal(np.array([[0.9, 0.5], [0.8, 0.6]])) and not diagonal(np.array([[0.9, 0.6], [0.8, 0.6]]))
    with pytest.raises(UserError, match="pair must name two or more of the blocks"):
        probe_table(blocks, factors, rng(), pair=("z0", "q"))


def test_udr_of_the_same_and_of_unrelated_runs() -> None:
    codes = noise(500, 4)
    twins = udr([codes, -codes[:, ::-1], 3 * codes], rng(), method="spearman")
    assert twins.value == pytest.approx(1, abs=0.25) and twins.value > 0.75
    strangers = udr([noise(500, 4, s) for s in range(3)], rng(), method="spearman")
    assert strangers.value < 0.15
    mixed = udr([codes, codes @ rotation(4), codes @ rotation(4, 8)], rng(), method="spearman")
    assert mixed.value < twins.value - 0.2
    with pytest.raises(UserError, match="at least two"):
        udr([codes], rng())
    with pytest.raises(UserError, match="same samples"):
        udr([codes, codes[:-1]], rng())


def test_the_interval_of_udr_is_students_over_resampled_rows() -> None:
    """Rows are drawn after the shuffles of the null; t of three degrees is 3.1824."""
    codes = [noise(200, 3), noise(200, 3) @ rotation(3), noise(200, 3, 2)]
    found = udr(codes, rng(), method="spearman", resamplings=4)
    draw = rng()
    shuffled = [draw.permutation(run) for run in codes]
    rows = [draw.integers(200, size=200) for _ in range(4)]
    again = [udr([run[r] for run in codes], rng(), method="spearman", resamplings=0).value for r in rows]
    reach = 3.18244631 * np.std(again) * (4 / 3) ** 0.5
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-8)
    assert found.null == udr(shuffled, rng(), method="spearman", resamplings=0).value


def test_the_udr_of_a_run_is_the_median_over_the_others() -> None:
    """Of four others one agrees, three do not: neither the mean nor the best tells that."""
    codes = noise(300, 3)
    runs = [codes, codes, *(noise(300, 3, seed) for seed in (2, 3, 4))]
    found = udr(runs, rng(), method="spearman", resamplings=0)
    pairwise = np.array(found.parts["pairwise"])
    for j, score in enumerate(found.parts["per_run"]):
        others = sorted(pairwise[i, j] for i in range(5) if i != j)
        assert score == pytest.approx((others[1] + others[2]) / 2, abs=1e-12)
    assert pairwise[0, 1] > 0.8 and found.parts["per_run"][0] < 0.15 < np.mean(np.delete(pairwise[0], 0))
    assert found.value == pytest.approx(np.mean(found.parts["per_run"]), abs=1e-12)


def test_udr_leaves_dead_latents_out() -> None:
    codes = noise(400, 3)
    dead = np.concatenate([codes, np.ones((400, 2))], 1)
    assert udr([dead, dead], rng()).value == pytest.approx(udr([codes, codes], rng()).value)


def test_seed_variants_of_dci() -> None:
    factors = grid(10, (3, 6, 8))
    found = dci(perfect(factors), factors, rng(), predictor="regressor", depths=(4, 4, 4))
    assert found.value > 0.95 and found.params["depths"] == [4, 4, 4]
    shallow = dci(perfect(factors), factors, rng(), predictor="regressor", depths=(4, 4, 1))
    assert shallow.parts["informativeness_per_factor"][2] < found.parts["informativeness_per_factor"][2]
    with pytest.raises(UserError, match="one depth for each of 3"):
        dci(perfect(factors), factors, rng(), predictor="regressor", depths=(4, 4))
    lasso = dci(perfect(factors), factors, rng(), predictor="lasso")
    assert lasso.value > 0.95 and lasso.parts["informativeness"] > 0.95


@pytest.mark.slow
def test_depth_by_cross_validation() -> None:
    factors = grid(5, (3, 6, 8))
    found = dci(perfect(factors), factors, rng(), predictor="regressor")
    assert found.value > 0.99 and found.parts["informativeness"] > 0.99
    assert found.params["depths"] == "cross-validated"


def test_sap_by_logistic_regression() -> None:
    factors = grid(200, (3, 3))
    found = sap(perfect(factors), factors, rng(), method="logistic")
    assert found.value == pytest.approx(2 / 3, abs=0.04)  # all right against one in three
    assert found.parts["best_latent"] == [0, 1]


def test_downstream_rises_with_labels() -> None:
    codes = PERFECT @ rotation(3) + 0.1 * noise(len(FACTORS), 3)
    found = downstream(codes, FACTORS, rng(), sizes=(10, 200), predictor="trees")
    assert found.parts["mean"]["200"] > found.parts["mean"]["10"] + 0.1
    assert found.value == found.parts["mean"]["200"] and found.low is not None and found.low < found.value
    short = downstream(codes, FACTORS, rng(), sizes=(10, 10_000), predictor="trees")
    assert any("[10000] labels are left out" in text for text in short.warnings) and short.parts["efficiency"] is None
    with pytest.raises(UserError, match="at least 10000 labels"):
        downstream(codes, FACTORS, rng(), sizes=(10_000,))


def test_downstream_does_not_depend_on_the_order_of_rows() -> None:
    """In the order of a grid the leading rows show few values of the first factor."""
    ordered = FACTORS[np.lexsort(FACTORS.T[::-1])]
    by_order, by_chance = (
        downstream(perfect(factors), factors, rng(), sizes=(300,)).value
        for factors in (ordered, rng(1).permutation(ordered))
    )
    assert by_order == pytest.approx(by_chance, abs=0.02) and by_order > 0.97
    assert downstream(perfect(ordered), ordered, rng(), sizes=(300,), reference=True).value < 0.95


def test_the_interval_of_downstream_accuracy_by_hand() -> None:
    codes = PERFECT + 0.5 * noise(len(FACTORS), 3)
    found = downstream(codes, FACTORS, rng(), sizes=(200,), predictor="trees", reference=True, train=400)
    hits = []
    seed = int(rng().integers(2**31))
    for k in range(3):
        forest = ExtraTreesClassifier(20, max_features=None, min_samples_leaf=2, random_state=seed)
        hits.append(forest.fit(codes[:200], FACTORS[:200, k]).predict(codes[400:]) == FACTORS[400:, k])
    each = np.mean(hits, 0)
    half = 1.96 * each.std() / len(each) ** 0.5
    assert found.value == pytest.approx(each.mean(), abs=1e-12) and half > 0.02
    assert (found.low, found.high) == pytest.approx((each.mean() - half, each.mean() + half), abs=1e-12)


def test_the_interval_of_downstream_r2_is_that_of_resampled_test_rows() -> None:
    draw = rng(3)
    y = draw.standard_normal((900, 1))
    codes = y + 0.7 * draw.standard_normal((900, 2))
    found = downstream(codes, y, rng(), sizes=(300,), reference=True, train=300)
    model = RidgeCV(np.logspace(-4, 4, 10), cv=KFold(5)).fit(codes[:300], y[:300, 0])
    tests = [draw.integers(300, 900, 600) for _ in range(2000)]
    spread = np.std([model.score(codes[rows], y[rows, 0]) for rows in tests])
    assert found.value == pytest.approx(model.score(codes[300:], y[300:, 0]), abs=1e-9)
    assert found.low is not None and found.high is not None
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(spread, rel=0.1)


def test_downstream_with_one_odd_label_says_that_folds_failed() -> None:
    labels = np.zeros((60, 1), int)
    labels[[3, 50, 55]] = 1
    found = downstream(noise(60, 2), labels, rng(), sizes=(10,), reference=True, train=40)
    assert any("too few labels for five folds" in text for text in found.warnings)


def test_info_mec_of_an_even_mixture() -> None:
    """One latent that is the two-digit number of both factors, beside one for each."""
    factors = grid(100, (4, 4))
    both = (4 * factors[:, :1] + factors[:, 1:]).astype(float)
    found = info_mec(np.concatenate([both, perfect(factors)], 1), factors, rng(), estimator="equal")
    assert found.value == pytest.approx((0 + 1 + 1) / 3, abs=0.02)
    assert found.parts["info_c"] == pytest.approx((0.5 - 1 / 3) / (1 - 1 / 3), abs=0.02)
    assert found.parts["info_e"] > 0.95
    blind = info_mec(noise(len(factors), 2), factors, rng())
    assert np.isnan(blind.value) and blind.parts["info_e"] < 0.02 and blind.warnings


def test_a_curve_is_followed_by_neighbours_and_not_by_a_line() -> None:
    factors = rng().random((1500, 1)) * 2 - 1
    parabola = np.concatenate([factors**2, factors**3], 1)
    curved = r2(parabola, factors, rng(), regression="neighbours")
    assert curved.value > 0.98 and curved.parts["matched_latent"] == [1]
    assert r2(parabola[:, :1], factors, rng()).value < 0.02
