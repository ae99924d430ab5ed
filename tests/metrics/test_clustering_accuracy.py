"""Clusters that are known, matched with values by trying every naming."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from tests.metrics.worlds import Array, noise, rng
from unbraid.errors import UserError
from unbraid.metrics import clustering_accuracy as module
from unbraid.metrics.arrays import Column
from unbraid.metrics.clustering_accuracy import clustering_accuracy, interval_of_mean, matched

PLACES = np.array([0.0, 0.1, 0.3, 0.2, 10.0, 10.2, 10.1, 20.3, 20.1, 20.0, 20.2, 20.5])
CLUSTERS = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2]
LABELS = np.array([2, 2, 2, 1, 0, 0, 0, 1, 1, 1, 1, 2])  # two rows are where others are
PAIRS = (PLACES > 15) * 1
CODES = np.stack([PLACES, np.full(12, 3.0)], 1)


def best_naming(clusters: Any, values: Any, size: int) -> Any:
    return max(
        sum(p[c] == v for c, v in zip(clusters, values, strict=True)) / len(values) for p in permutations(range(size))
    )


def naive_silhouette(x: Array, labels: Any) -> Any:
    each = []
    for i, own in enumerate(labels):
        apart = {
            v: [abs(x[i] - x[j]) for j, w in enumerate(labels) if w == v and j != i] for v in set(map(int, labels))
        }
        inside = sum(apart[own]) / len(apart[own])
        nearest = min(sum(apart[v]) / len(apart[v]) for v in apart if v != own)
        each.append((nearest - inside) / max(inside, nearest))
    return sum(each) / len(each)


def test_two_factors_on_three_heaps() -> None:
    factors = np.stack([LABELS, PAIRS], 1)
    found, draw = clustering_accuracy(CODES, factors, rng(6), plane=False, resamplings=40), rng(6)
    assert found.parts["per_factor"] == pytest.approx([10 / 12, 1]) and found.value == pytest.approx(11 / 12)
    values = [naive_silhouette(PLACES, LABELS), naive_silhouette(PLACES, PAIRS)]
    assert found.parts["silhouette_values"] == pytest.approx(values)
    clusters = [naive_silhouette(PLACES, CLUSTERS), naive_silhouette(PLACES, PAIRS)]
    assert found.parts["silhouette_clusters"] == pytest.approx(clusters)
    draw.permutation(12), draw.integers(2**31)  # rows, and the seed of k-means
    per_row = np.ones(12)
    per_row[[3, 11]] = 0.5
    means = [per_row[draw.integers(12, size=(1, 12))[0]].mean() for _ in range(40)]
    assert (found.low, found.high) == pytest.approx(np.quantile(means, [0.025, 0.975]))
    shuffled = [draw.permutation(LABELS), draw.permutation(PAIRS)]
    null = (best_naming(CLUSTERS, shuffled[0], 3) + best_naming(PAIRS, shuffled[1], 2)) / 2
    assert found.null == pytest.approx(null)
    assert found.n == 12 and found.params["plane"] is False and not found.warnings


def test_of_more_rows_than_wanted_some_are_drawn() -> None:
    codes, labels = np.repeat([0.0, 10.0], 10)[:, None] + np.arange(20)[:, None] / 100, np.repeat([0, 1], 10)
    labels[np.setdiff1d(np.arange(20), rng(1).permutation(20)[:12])] = 1  # wrong only where nobody looks
    found = clustering_accuracy(codes, labels, rng(1), plane=False, most=12, resamplings=0)
    assert found.value == 1 and found.n == 12 and found.warnings == ("12 of 20 rows are used",)
    assert found.low is None and found.high is None
    assert not clustering_accuracy(codes, labels, rng(1), plane=False, most=20, resamplings=0).warnings


def test_clusters_are_those_of_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plane on which the rows lie by another label than in the codes."""
    asked: dict[str, Any] = {}

    def plane(space: Array, **how: Any) -> Array:
        asked.update(how, space=space.tolist())
        return np.stack([5.0 * other, other + 0.1 * np.arange(12) % 2], 1)

    other = np.arange(12) % 2
    monkeypatch.setattr(module, "tsne_plane", plane)
    found = clustering_accuracy(CODES, other, rng(3), perplexity=7.0, resamplings=0)
    draw = rng(3)
    draw.permutation(12)
    assert found.value == 1 and asked == {
        "perplexity": 7.0,
        "seed": int(draw.integers(2**31)),
        "space": [[x] for x in PLACES.tolist()],
    }
    assert found.params["plane"] is True and found.params["perplexity"] == 7.0
    assert clustering_accuracy(CODES, other, rng(3), plane=False, resamplings=0).value < 0.8


def test_the_best_of_ten_starts_is_kept() -> None:
    """Where there are no heaps each start ends elsewhere."""
    codes, labels, draw = noise(80, 2), np.arange(80) % 9, rng(1)
    draw.permutation(80)
    state = np.random.RandomState(int(draw.integers(2**31)))
    runs = [KMeans(9, n_init=1, random_state=state).fit(codes) for _ in range(10)]
    best = min(runs, key=lambda run: run.inertia_)
    found = clustering_accuracy(codes, labels, rng(1), plane=False, resamplings=0)
    assert found.parts["silhouette_clusters"] == pytest.approx([silhouette_score(codes, best.labels_)])
    assert best.inertia_ < runs[0].inertia_ and best.inertia_ < runs[1].inertia_


@pytest.mark.parametrize(
    ("codes", "labels", "options", "sentence"),
    [
        (CODES, np.arange(12), {"plane": False}, "12 rows of 1 latents that vary are too few"),
        (np.ones((12, 2)), PAIRS, {"plane": False}, "12 rows of 0 latents that vary are too few"),
        (CODES, PAIRS, {"perplexity": 12.0}, "too few to cluster"),
    ],
)
def test_there_must_be_more_rows_than_clusters_and_neighbours(
    codes: Array, labels: Array, options: Any, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        clustering_accuracy(codes, labels, rng(), **options)


def test_perplexity_matters_on_a_plane_only() -> None:
    assert clustering_accuracy(CODES, PAIRS, rng(), plane=False, perplexity=99.0, resamplings=0).value == 1


def test_continuous_factors_are_cut() -> None:
    found = clustering_accuracy(CODES, PLACES + 0.03, rng(), plane=False, factor_bins=2, resamplings=0)
    assert found.value == pytest.approx(11 / 12)  # the half above the median; the gap is beside it


def test_matching_names_each_cluster_once() -> None:
    clusters, truth = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 0, 1, 1, 0])
    assert matched(Column(clusters, 3), Column(truth, 3)).mean() == best_naming(clusters, truth, 3) == 3 / 6
    turned = np.array([1, 2, 0])[clusters]  # a name for each cluster that is not that of its value
    assert matched(Column(clusters, 3), Column(turned, 3)).all()


def test_the_interval_of_a_mean_by_hand() -> None:
    values = rng(5).random(9)
    draws = rng(2).integers(9, size=(50, 9)).tolist()
    expected = np.quantile([sum(values[i] for i in draw) / 9 for draw in draws], [0.025, 0.975])
    assert interval_of_mean(values, 50, rng(2)) == pytest.approx(tuple(expected))
    assert interval_of_mean(values, 0, rng(2)) == (None, None)


def test_silhouettes_need_two_values_and_fewer_than_rows() -> None:
    x = np.array([[0.0], [1.0], [5.0]])
    assert module._silhouette(x, np.array([0, 0, 1])) == pytest.approx(naive_two(x))
    assert module._silhouette(x, np.array([0, 0, 0])) is None
    assert module._silhouette(x, np.array([0, 1, 2])) is None


def naive_two(x: Array) -> float:
    """(4 - 1) / 5 and (4 - 1) / 4 for the two that are together, 0 for the one that is alone."""
    return float(((5 - 1) / 5 + (4 - 1) / 4 + 0) / len(x))
