from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from unbraid.data.arrays import from_pairs
from unbraid.data.class_table import ClassTable
from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.mpi3d import MPI3D
from unbraid.data.split import Subset, correlate, correlation, hold_out, select_rows
from unbraid.data.table import Bytes, Factor, Rows, Table, Values
from unbraid.errors import UserError

ALL = np.arange(737_280)


class Classes(ClassTable):
    """Rows whose image is their number."""

    name = "classes"
    factors = (Factor("class", 3),)
    label, shared = "class", ("class",)
    shape = (1, 1, 1)

    def __init__(self, labels: list[int]) -> None:
        self.labels = np.array(labels)

    def images(self, rows: Rows) -> Bytes:
        return rows.astype(np.uint8).reshape(-1, 1, 1, 1)


def values(table: Table) -> Values:
    return table.values(np.arange(len(table)))


def correlations(table: Table) -> NDArray[np.float64]:
    return np.asarray(np.corrcoef(values(table).T))


@pytest.mark.parametrize("sigma", [0.1, 0.2, 0.4])
def test_correlated_factors_follow_the_gaussian_ridge(sigma: float) -> None:
    table = correlate(DSprites(), ("posX", "scale"), sigma, count=100_000, seed=3)
    x, scale = values(table)[:, 3], values(table)[:, 1]
    expected = np.zeros((32, 6))
    for i in range(32):
        for j in range(6):
            expected[i, j] = np.exp(-((i / 31 - j / 5) ** 2) / (2 * sigma**2))
    expected /= expected.sum()
    seen = np.zeros((32, 6))
    np.add.at(seen, (x, scale), 1 / len(table))
    assert ((seen - expected) ** 2 / expected).sum() * len(table) < 191 + 5 * np.sqrt(2 * 191)  # chi squared


def test_other_factors_stay_uniform_and_independent() -> None:
    table = correlate(DSprites(), ("posX", "scale"), 0.1, count=100_000)
    found = values(table)
    for column, size in ((0, 3), (2, 40), (4, 32)):
        assert np.bincount(found[:, column], minlength=size) / len(found) == pytest.approx([1 / size] * size, abs=0.004)
    others = correlations(table) - np.eye(5)
    assert others[1, 3] > 0.85
    others[1, 3] = others[3, 1] = 0
    assert np.abs(others).max() < 0.02


def test_a_wide_ridge_is_independence_and_a_seed_is_a_draw() -> None:
    assert abs(correlations(correlate(DSprites(), ("posX", "scale"), 100.0, count=50_000))[1, 3]) < 0.02
    first, again, other = (correlate(DSprites(), ("posX", "scale"), 0.2, count=99, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(values(first), values(again))
    assert (values(first) != values(other)).any()


def test_drawn_rows_are_the_same_in_every_version() -> None:
    table = DSprites(correlated=0.2)
    assert isinstance(table.test, DSprites)
    assert table.chosen is not None
    assert table.test.chosen is not None
    assert table.chosen[:4].tolist() == [598665, 74040, 59437, 71699]
    assert table.test.chosen[:4].tolist() == [2, 11, 34, 55]


def test_correlation_of_what_is_not_a_grid() -> None:
    table = select_rows(DSprites(), np.flatnonzero(values(DSprites())[:, 3] < 16))  # half of the positions
    found = values(correlate(table, ("posX", "scale"), 0.1, count=50_000))
    assert found[:, 3].max() == 15
    expected = correlation((32, 6), 0.1)[:16]
    seen = np.zeros((16, 6))
    np.add.at(seen, (found[:, 3], found[:, 1]), 1 / len(found))
    assert np.abs(seen - expected / expected.sum()).max() < 0.005


@given(st.floats(0.01, 0.99), st.integers(0, 99))
def test_held_out_rows_and_the_rest_are_the_whole(fraction: float, seed: int) -> None:
    table = Classes(list(np.arange(60) % 3))
    kept = hold_out(table, fraction=fraction, seed=seed) if 0 < round(fraction * 60) < 60 else None
    if kept is None:
        with pytest.raises(UserError, match=f"fraction={fraction} would hold out"):
            hold_out(table, fraction=fraction)
        return
    assert kept.test is not None
    pictures = [t.images(np.arange(len(t))).ravel() for t in (kept, kept.test)]
    assert len(pictures[1]) == round(fraction * 60)
    assert sorted(np.concatenate(pictures)) == list(range(60))


def test_values_and_combinations_can_be_held_out() -> None:
    kept = hold_out(DSprites(), where={"shape": [2], "scale": [4, 5]})
    assert kept.test is not None
    combinations = {(a, b) for a in range(3) for b in range(6)}
    held = {(2, 4), (2, 5)}
    assert set(map(tuple, values(kept.test)[:, :2].tolist())) == held
    assert set(map(tuple, values(kept)[:, :2].tolist())) == combinations - held
    assert len(kept) + len(kept.test) == 737_280


def test_the_test_rows_survive_a_correlation_and_are_not_trained_on() -> None:
    table = DSprites(correlated=0.2, train_rows=300_000, test_rows=50_000)
    assert isinstance(table.test, DSprites)
    assert table.chosen is not None
    assert table.test.chosen is not None
    assert not np.isin(table.chosen, table.test.chosen).any()
    assert len(np.unique(table.test.chosen)) == 50_000
    assert correlations(table)[1, 3] > 0.7
    assert abs(correlations(table.test)[1, 3]) < 0.02
    assert table.arguments == {
        "size": 64,
        "correlated": 0.2,
        "train_rows": 300_000,
        "test_rows": 50_000,
        "draw": 0,
    }


def test_half_of_the_object_colours_of_mpi3d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr(MPI3D, "layouts", ((4, 2, 1, 2, 1, 2, 2),))
    pictures = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None, None, None], (64, 64, 64, 3))
    np.savez(tmp_path / "mpi3d_toy.npz", images=pictures)
    table = MPI3D(path=str(tmp_path / "mpi3d_toy.npz"), size=64, new_colours=True)
    assert table.test is not None
    for rows, first in ((table, 0), (table.test, 32)):
        assert rows.images(np.arange(len(rows)))[:, 0, 0, 0].tolist() == list(range(first, first + 32))
        assert set(values(rows)[:, 0]) == {first // 16, first // 16 + 1}
    assert (table.label, table.nuisances, table.groups) == ("object_shape", ("object_color",), ("object_color",))


def test_a_subset_keeps_classes_views_and_pairs() -> None:
    table = Classes([0, 0, 1, 1, 2, 2, 0, 1])
    subset = Subset(table, np.array([7, 6, 0, 2]))
    np.testing.assert_array_equal(subset.images(np.arange(4)).ravel(), [7, 6, 0, 2])
    np.testing.assert_array_equal(values(subset)[:, 0], [1, 0, 0, 1])
    rows = np.repeat(np.arange(4), 20)
    partners = subset.partner(rows, np.random.default_rng(0))
    np.testing.assert_array_equal(partners, np.repeat([3, 2, 1, 0], 20))
    assert subset.spec == table.spec.__class__((1, 1, 1), 4, 3, (), (3,))
    sprites = Subset(DSprites(), np.flatnonzero(values(DSprites())[:, 0] == 1)[::7])
    rng = np.random.default_rng(0)
    rows, k = rng.integers(0, len(sprites), 50), np.full(50, 2)
    others = sprites.change(rows, k, rng)
    np.testing.assert_array_equal((sprites.values(rows) != sprites.values(others)).sum(1), k)


def test_what_cannot_be_split_is_said() -> None:
    table = DSprites()
    for wrong in ({}, {"fraction": 0.5, "count": 3}, {"fraction": -0.5}, {"count": -1}, {"count": 737_280}):
        with pytest.raises(UserError, match=r"hold.out"):
            hold_out(table, **wrong)
    with pytest.raises(UserError, match="no factor of 'dsprites' is called 'scael': did you mean 'scale'"):
        correlate(table, ("scael", "posX"), 0.2)
    with pytest.raises(UserError, match="posX cannot be correlated with itself"):
        correlate(table, ("posX", "posX"), 0.2)
    with pytest.raises(UserError, match=r"correlated of dsprites must be 0 or more, not -0\.1"):
        DSprites(correlated=-0.1)
    with pytest.raises(UserError, match="must be more than 0, not -5"):
        correlate(table, ("posX", "scale"), 0.2, count=-5)


def test_no_part_is_taken_for_another_or_for_the_whole() -> None:
    whole = DSprites()
    held = [hold_out(whole, fraction=0.1, seed=seed) for seed in (0, 0, 1)]
    tied = [correlate(whole, ("posX", "scale"), sigma, count=1000) for sigma in (0.1, 0.4)]
    nested = [select_rows(part, np.arange(500)) for part in (*tied, Classes([0, 1] * 500))]
    digests = [part.arguments["chosen_rows"] for part in (*held, *tied, *nested)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == len(digests) - 1
    assert "chosen_rows" not in whole.arguments
    assert select_rows(nested[2], np.arange(9)).arguments != select_rows(Classes([0, 1] * 500), np.arange(9)).arguments


def test_a_class_of_one_row_in_a_part_is_its_own_partner() -> None:
    table = Classes([0, 0, 0, 1, 1, 2])
    for part in (
        select_rows(table, np.array([0, 2, 3])),
        select_rows(select_rows(table, ALL[:5]), np.array([0, 2, 3])),
    ):
        rng = np.random.default_rng(0)
        assert part.partner(np.array([0, 1, 2] * 20), rng).tolist() == [1, 0, 2] * 20


def test_a_part_keeps_the_names_of_classes() -> None:
    table = Classes([0, 1, 2, 2])
    table.class_names = ("well", "ill", "worse")
    assert hold_out(table, count=1).class_names == table.class_names


def test_a_part_of_pairs_has_whole_pairs() -> None:
    first = np.arange(12, dtype=np.uint8).reshape(12, 1, 1, 1).repeat(4, 2).repeat(4, 3)
    table = hold_out(from_pairs(first, first + 100, changed=1, label=np.arange(12) % 3), count=4, seed=1)
    assert table.test is not None
    rows = np.concatenate([part.images(np.arange(len(part)))[:, 0, 0, 0] for part in (table, table.test)])
    assert sorted(rows) == list(range(12))
    for part in (table, table.test):
        assert part.arguments != from_pairs(first, first + 100).arguments
        here = np.arange(len(part))
        others = part.change(here, np.ones(len(part), np.int64), np.random.default_rng(0))
        np.testing.assert_array_equal(part.images(others), part.images(here) + 100)
        np.testing.assert_array_equal(part.values(others), part.values(here))
        assert part.values(here)[:, -1].tolist() == (part.images(here)[:, 0, 0, 0] % 3).tolist()
