"""Single-neuron classification and neuron knockout against naive versions and closed forms."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from tests.metrics.worlds import grid, noise, perfect, rng, rotation
from unbraid.metrics.neuron_knockout import neuron_knockout
from unbraid.metrics.single_neuron_classification import equal_cells, single_neuron_classification
from unbraid.metrics.suite import score

FACTORS = grid(30, (4, 3))
TURNED = perfect(FACTORS) @ rotation(2, 5) + 0.1 * noise(len(FACTORS), 2)
TRAIN = 240


def cells_by_sorting(x: list[float], cells: int) -> list[int]:
    """The place of each value in the sorted list, over the length of a cell; values must differ."""
    place = {value: rank for rank, value in enumerate(sorted(x))}
    return [(2 * place[value] + 1) * cells // (2 * len(x)) for value in x]


def test_cells_have_equally_many_rows() -> None:
    x = noise(120, 1)[:, 0]
    found = equal_cells(x, x, 5)
    assert found.tolist() == cells_by_sorting(x.tolist(), 5)
    assert np.bincount(found).tolist() == [24] * 5
    assert equal_cells(x, np.array([x.min() - 1, x.max() + 1]), 5).tolist() == [0, 4]


def test_repeats_go_to_the_cell_of_their_middle_rank() -> None:
    uneven = np.repeat([0.0, 1.0, 2.0, 3.0], [30, 20, 22, 28])
    assert np.array_equal(equal_cells(uneven, uneven, 4), uneven)
    rare = np.repeat([0.0, 1.0], [80, 20])
    assert np.array_equal(equal_cells(rare, rare, 2), rare)


def test_the_score_by_trying_every_name() -> None:
    order = rng(2).permutation(len(FACTORS))
    train, test = slice(None, TRAIN), slice(TRAIN, None)
    shuffled, labels = TURNED[order], FACTORS[order]
    found = single_neuron_classification(shuffled, labels, rng(), train=TRAIN)
    matched = found.parts["matched_latent"]
    assert sorted(matched) == [0, 1]
    for k in range(2):
        x, y, m = shuffled[:, matched[k]], labels[:, k], (4, 3)[k]
        cuts = np.sort(x[train])
        cells = np.array([min((2 * int((cuts < v).sum()) + int(v in cuts)) * m // (2 * TRAIN), m - 1) for v in x])
        best = max(permutations(range(m)), key=lambda p: (np.array(p)[cells[train]] == y[train]).sum())
        accuracy = (np.array(best)[cells[test]] == y[test]).mean()
        common = (y[test] == np.bincount(y[train]).argmax()).mean()
        assert found.parts["accuracy"][k] == pytest.approx(accuracy, abs=1e-12)
        assert found.parts["per_factor"][k] == pytest.approx(max(accuracy - common, 0) / (1 - common), abs=1e-12)
    assert 0.1 < found.value < 0.95


def test_one_cut_cannot_read_a_factor_that_comes_back() -> None:
    """The latent 0 1 2 3 tells the parity of a factor, but two intervals tell it for half of the rows only."""
    factors = np.stack([grid(50, (4, 2))[:, 0] % 2, grid(50, (4, 2))[:, 1]], 1)
    codes = perfect(grid(50, (4, 2)))
    found = single_neuron_classification(codes, factors, rng())
    assert found.parts["per_factor"][0] < 0.15 and found.parts["per_factor"][1] == 1


def test_each_latent_serves_one_factor_and_a_factor_without_one_counts_nothing() -> None:
    found = single_neuron_classification(perfect(FACTORS)[:, :1], FACTORS, rng())
    assert found.parts["matched_latent"] == [0, None] and found.parts["per_factor"] == [1, 0]
    assert "1 of 2 factors have no latent to match and count 0" in found.warnings
    lost = neuron_knockout(perfect(FACTORS)[:, :1], FACTORS, rng(), trees=3)
    assert lost.parts["per_factor"] == [1, 0] and lost.warnings == found.warnings


def test_the_matching_is_the_best_of_all_and_not_of_each() -> None:
    """The first latent knows most of both factors, log 3 and log 2; the second log 2 of the first and no other."""
    factors = grid(30, (6, 2))
    codes = np.stack([10 * factors[:, 1] + factors[:, 0], factors[:, 0] // 3], 1).astype(float)
    assert single_neuron_classification(codes, factors, rng()).parts["matched_latent"] == [1, 0]


def test_knockout_by_hand() -> None:
    order = rng(2).permutation(len(FACTORS))
    codes, labels = np.concatenate([TURNED, noise(len(FACTORS), 1)], 1)[order], FACTORS[order]
    found = neuron_knockout(codes, labels, rng(), train=TRAIN, trees=4)
    scaled = (codes - codes[:TRAIN].mean(0)) / codes[:TRAIN].std(0)
    seed = int(rng().integers(2**31))
    for k, latent in enumerate(found.parts["matched_latent"]):
        y = labels[:, k]
        hits = []
        for kept in ([0, 1, 2], [i for i in range(3) if i != latent]):
            forest = ExtraTreesClassifier(4, max_features=None, min_samples_leaf=2, random_state=seed)
            forest.fit(scaled[:TRAIN][:, kept], y[:TRAIN])
            hits.append((forest.predict(scaled[TRAIN:][:, kept]) == y[TRAIN:]).mean())
        assert [found.parts["accuracy"][k], found.parts["accuracy_without"][k]] == pytest.approx(hits, abs=1e-12)
        common = (y[TRAIN:] == np.bincount(y[:TRAIN]).argmax()).mean()
        share = max(max(hits[0], common) - max(hits[1], common), 0) / (1 - common)
        assert found.parts["per_factor"][k] == pytest.approx(share, abs=1e-12)
        assert found.parts["drop"][k] == pytest.approx(hits[0] - hits[1], abs=1e-12)
    assert 0.1 < found.value < 0.95


def test_the_network_of_the_paper_finds_the_same() -> None:
    plain = neuron_knockout(perfect(FACTORS), FACTORS, rng(), predictor="network", jobs=1)
    assert plain.value > 0.95 and plain.parts["accuracy"] == [1, 1]
    assert neuron_knockout(np.repeat(perfect(FACTORS), 2, 1), FACTORS, rng(), predictor="network").value == 0


def test_interval_and_chance_level() -> None:
    names = ["single_neuron_classification", "neuron_knockout"]
    found = score(TURNED, FACTORS, metrics=names, options={"neuron_knockout": {"trees": 3}})
    for each in found.values():
        assert each.null is not None and each.null < 0.15 and each.low is not None and each.high is not None
        assert each.low < each.value < each.high
