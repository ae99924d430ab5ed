"""Estimators against closed forms and against independent, naive versions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2, norm
from sklearn.metrics import mutual_info_score as sklearn_information
from sklearn.metrics import roc_auc_score

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.metrics.arrays import Column, extremes, varies
from unbraid.metrics.clustering_accuracy import matched
from unbraid.metrics.dci import dci, disentanglement, equally_ordered
from unbraid.metrics.explicitness import roc_areas
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.gaussian_total_correlation import gaussian_total_correlation
from unbraid.metrics.information import bin_labels, entropy, neighbour_information, table_information
from unbraid.metrics.irs import irs
from unbraid.metrics.mig import mig
from unbraid.metrics.modularity import _beyond_chance, modularity
from unbraid.metrics.mutual_info_score import mutual_info_score
from unbraid.metrics.udr import relation_score
from unbraid.metrics.w2 import squared_distance
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation


def test_information_of_a_table_by_hand() -> None:
    table = np.array([[1, 0], [1, 2]])
    by_hand = 0.25 * np.log(0.25 / (0.25 * 0.5)) + 0.25 * np.log(0.25 / (0.75 * 0.5)) + 0.5 * np.log(0.5 / (0.75 * 0.5))
    assert table_information(table) == pytest.approx(by_hand, rel=1e-12)
    assert table_information(np.diag([5, 5, 5, 5])) == pytest.approx(np.log(4), rel=1e-12)
    assert table_information(np.outer([1, 2, 3], [4, 5])) == pytest.approx(0, abs=1e-12)


def test_entropy_of_a_coin_and_a_die() -> None:
    assert entropy(Column(np.array([0, 1, 0, 1]), 2)) == pytest.approx(np.log(2))
    assert entropy(Column(np.arange(6), 6)) == pytest.approx(np.log(6))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=60))
def test_information_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    table = np.zeros((5, 4), np.int64)
    np.add.at(table, (a, b), 1)
    assert table_information(table) == pytest.approx(max(sklearn_information(a, b), 0), abs=1e-9)


def normals(rho: float, n: int = 40_000) -> tuple[Array, Array]:
    x, e = noise(n, 2, 11).T
    return x, rho * x + (1 - rho**2) ** 0.5 * e


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_quantile_bins_of_correlated_normals(rho: float) -> None:
    """-log(1 - rho^2) / 2 nats; cutting into bins loses some, chance adds (bins - 1)^2 / 2n."""
    x, y = normals(rho)
    closed = -np.log(1 - rho**2) / 2
    found = mutual_info_score(np.stack([x, y], 1), rng(), bins=40, estimator="quantile").value
    assert found - 39**2 / (2 * len(x)) == pytest.approx(closed, abs=0.015 + 0.04 * closed)


@pytest.mark.parametrize("gap", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_neighbours_find_the_information_of_two_shifted_normals(gap: float, dimensions: int) -> None:
    """I = h(mixture) - h(normal), the mixture by quadrature; a second dimension of noise adds nothing."""
    label = np.arange(6000) % 2
    x = noise(6000, dimensions, 5)
    x[:, 0] += gap * label

    def surprise(v: float) -> float:
        p = (norm.pdf(v) + norm.pdf(v - gap)) / 2
        return float(-p * np.log(max(p, 1e-300)))

    closed = quad(surprise, -9, 9 + gap)[0] - np.log(2 * np.pi * np.e) / 2
    assert neighbour_information(x, Column(label, 2), rng()) == pytest.approx(closed, abs=0.03)


def test_neighbours_of_a_perfect_latent_know_all() -> None:
    label = np.arange(3000) % 5
    assert neighbour_information(label[:, None] * 1.0, Column(label, 5), rng()) == pytest.approx(np.log(5), abs=0.02)
    assert neighbour_information(np.full((3000, 1), 2.0), Column(label, 5), rng()) == 0.0


def test_bins_hold_their_left_edge_and_the_last_its_right_one() -> None:
    assert bin_labels(np.array([0.0, 0.25, 0.3, 0.5, 1.0]), "equal", 4).tolist() == [0, 1, 1, 2, 3]
    assert bin_labels(np.array([0.0, 1, 2, 3, 1000]), "quantile", 5).tolist() == [0, 1, 2, 3, 4]


def test_one_outlier_breaks_equal_bins_and_not_quantile_bins() -> None:
    factors = grid(50, (10, 10))
    codes = perfect(factors)
    codes[0] = 1000
    broken = mig(codes, factors, rng())
    assert broken.value < 0.05 and any("outliers" in text for text in broken.warnings)
    assert mig(codes, factors, rng(), estimator="quantile").value > 0.95
    assert mig(codes, factors, rng(), estimator="knn").value > 0.95


def exact(covariance: Array, n: int = 500) -> Array:
    """Samples whose covariance is exactly this."""
    x = noise(n, len(covariance), 2)
    x -= x.mean(0)
    white = x @ np.linalg.inv(np.linalg.cholesky(np.cov(x, rowvar=False))).T
    return np.asarray(white @ np.linalg.cholesky(covariance).T)


@pytest.mark.parametrize("rho", [0.0, 0.3, -0.95])
def test_total_and_wasserstein_correlation_of_two_normals(rho: float) -> None:
    codes = exact(np.array([[1, rho], [rho, 1]]))
    assert gaussian_total_correlation(codes, rng()).value == pytest.approx(-np.log(1 - rho**2) / 2, abs=1e-10)
    distance = 4 - 2 * ((1 + rho) ** 0.5 + (1 - rho) ** 0.5)
    assert wasserstein_correlation(codes, rng()).value == pytest.approx(distance, abs=1e-10)
    assert wasserstein_correlation(10 * codes, rng()).value == pytest.approx(100 * distance, abs=1e-8)
    assert gaussian_total_correlation(10 * codes, rng()).value == pytest.approx(-np.log(1 - rho**2) / 2, abs=1e-10)


def test_modularity_by_loops() -> None:
    codes, factors = perfect(grid()) @ rotation(3), grid()
    found = modularity(codes, factors, rng())
    each = []
    for row in found.parts["mutual_information"]:
        best = max(range(3), key=lambda k: row[k])
        others = sum(row[k] ** 2 for k in range(3) if k != best)
        each.append(1 - others / (2 * row[best] ** 2))
    assert found.parts["per_latent"] == pytest.approx(each, rel=1e-12)


def test_irs_by_loops() -> None:
    factors = grid(10)
    codes = perfect(factors) @ rotation(3) + 0.1 * noise(len(factors), 3)
    scores, weights = [], []
    for z in codes.T:
        largest = np.abs(z - z.mean()).max()
        by_factor = []
        for y in factors.T:
            groups = [z[y == v] for v in np.unique(y)]
            by_factor.append(1 - np.mean([np.quantile(np.abs(g - g.mean()), 0.9) for g in groups]) / largest)
        scores.append(max(by_factor))
        weights.append(largest)
    assert irs(codes, factors, rng(), quantile=0.9).value == pytest.approx(
        np.average(scores, weights=weights), rel=1e-10
    )


def test_disentanglement_by_hand() -> None:
    importance = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
    assert disentanglement(importance) == pytest.approx([1, 0, 0])
    skewed = 1 + (0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / np.log(2)
    assert disentanglement(np.array([[9.0, 1.0]])) == pytest.approx([skewed])


def test_roc_areas_agree_with_scikit_learn_ties_included() -> None:
    scores, labels = np.round(rng().random((200, 4)), 1), rng(1).integers(0, 4, 200)
    theirs = [roc_auc_score(labels == c, scores[:, c]) for c in range(4)]
    assert roc_areas(scores, labels) == pytest.approx(theirs, rel=1e-12)


def test_wasserstein_by_trying_every_assignment() -> None:
    a, b = noise(5, 2, 1), noise(5, 2, 2)
    brute = min(np.mean([((a[i] - b[j]) ** 2).sum() for i, j in enumerate(p)]) for p in permutations(range(5)))
    assert squared_distance(a, b) == pytest.approx(brute, rel=1e-12)
    assert squared_distance(a, a + np.array([3, 4])) == pytest.approx(25, rel=1e-12)


def test_matching_by_trying_every_naming() -> None:
    clusters, truth = rng(1).integers(0, 4, 60), rng(2).integers(0, 4, 60)
    brute = max(np.mean(np.array(p)[clusters] == truth) for p in permutations(range(4)))
    assert matched(Column(clusters, 4), Column(truth, 4)).mean() == pytest.approx(brute)


def test_relation_of_two_runs_by_loops() -> None:
    relation = rng().random((3, 4))
    rows = [max(row) ** 2 / sum(row) for row in relation.tolist()]
    columns = [max(column) ** 2 / sum(column) for column in relation.T.tolist()]
    assert relation_score(relation) == pytest.approx(np.mean([*rows, *columns]), rel=1e-12)
    by_run = (np.mean(rows) + np.mean(columns)) / 2
    assert relation_score(relation, reference=True) == pytest.approx(by_run, rel=1e-12)
    assert abs(by_run - np.mean([*rows, *columns])) > 1e-3


def test_lookup_agrees_with_drawing_afresh() -> None:
    """The FactorVAE score by its own definition: every batch is drawn anew from the factors, none from a table."""
    sizes, mix, draw = np.array([3, 6, 8, 8]), np.eye(4), rng(21)
    mix[2:, 2:] = np.array([[1, 1], [1, -1]]) / 2**0.5
    scale = 1 / np.sqrt((sizes**2 - 1) / 12)

    def codes_of(factors: Array) -> Array:
        return np.asarray(((factors - (sizes - 1) / 2) * scale) @ mix)

    spread = codes_of(draw.integers(0, sizes, (10_000, 4))).var(0, ddof=1)
    votes = np.zeros((3000, 2), int)
    for vote in votes:
        factors = draw.integers(0, sizes, (64, 4))
        vote[1] = draw.integers(4)
        factors[:, vote[1]] = factors[0, vote[1]]
        vote[0] = (codes_of(factors).var(0, ddof=1) / spread).argmin()
    table = np.zeros((4, 4))
    np.add.at(table, tuple(votes[:2000].T), 1)
    afresh = (table.argmax(1)[votes[2000:, 0]] == votes[2000:, 1]).mean()
    factors = draw.integers(0, sizes, (10_000, 4))
    looked_up = np.mean([factor_vae_score(codes_of(factors), factors, rng(s)).value for s in range(3)])
    error = (afresh * (1 - afresh) / 1000) ** 0.5
    assert looked_up == pytest.approx(afresh, abs=3 * error + 0.01)
    assert 0.5 < looked_up < 0.99  # neither chance nor certain: the comparison can fail


def test_latents_that_order_rows_alike_share_their_importance() -> None:
    draw = np.random.default_rng(0)
    z = draw.standard_normal((300, 2))
    codes = np.stack([z[:, 0], z[:, 1], -(z[:, 0] ** 3), np.exp(z[:, 0])], 1)
    assert [group.tolist() for group in equally_ordered(codes)] == [[0, 2, 3]]
    factors = np.digitize(z, [-0.5, 0.5])
    found = dci(codes, factors, draw)
    importance = np.array(found.parts["importance"])
    assert importance[[0, 2, 3], 0] == pytest.approx([importance[0, 0]] * 3)
    assert importance[0, 0] == pytest.approx(1 / 3, abs=0.01)
    assert found.parts["per_factor"][0] == pytest.approx(1 - np.log(3) / np.log(4), abs=0.02)


@pytest.mark.parametrize("freedom,least", [(1, None), (4, None), (361, 722.0)])
def test_a_latent_is_active_above_the_g_test_and_twice_the_information_of_chance(
    freedom: int, least: float | None
) -> None:
    """2 n I of independent labels is chi-squared; with many degrees of freedom twice its mean is the higher limit."""
    n, others = 500, np.zeros((3, 2))
    for factor in (0.99, 1.01):
        statistic = factor * (least or chi2.ppf(1 - 1e-3 / 6, freedom))
        matrix = others.copy()
        matrix[1, 0] = statistic / (2 * n)
        assert _beyond_chance(matrix, np.full((3, 2), freedom), n).tolist() == [False, factor > 1, False]


def test_modularity_of_the_active_latents_leaves_noise_out() -> None:
    factors = np.random.default_rng(0).integers(0, 4, (2000, 3))
    codes = np.concatenate([factors + 0.0, np.random.default_rng(1).standard_normal((2000, 3))], 1)
    found = modularity(codes, factors, np.random.default_rng(2))
    assert found.parts["active_latents"] == [0, 1, 2] and found.parts["active"] > 0.99
    assert found.value < 0.9 and any("3 of 6 latents are not informative" in text for text in found.warnings)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6, -3e7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bins_are_found_by_arithmetic_as_by_search(dtype: type, offset: float) -> None:
    for trial in range(60):
        draw = rng(trial)
        x = draw.normal(size=200) * 10.0 ** draw.integers(-9, 9)
        x = np.round(7 * x / abs(x).max()) / draw.choice([1, 3, 10]) if trial % 2 else x  # many values lie on an edge
        x = (x + offset).astype(dtype)
        if not varies(x[:, None]).any():
            continue
        for bins in (2, 7, 20, 200):
            inner: Array = np.linspace(x.min(), x.max(), bins + 1, dtype=dtype)[1:-1]
            assert (bin_labels(x, "equal", bins) == np.searchsorted(inner, x, side="right")).all()


@pytest.mark.parametrize("n", [1, 127, 128, 1000])
def test_extremes_of_many_rows(n: int) -> None:
    x = rng(n).normal(size=(n, 3))
    for values in (x, x[::-1], np.asfortranarray(x)):
        low, high = extremes(values)
        assert (low == x.min(0)).all() and (high == x.max(0)).all()
