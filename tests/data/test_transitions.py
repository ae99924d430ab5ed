"""Two successive moments: drawn for a table of factors, found in a folder of frames, or given as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import laplace
from tests.toys import Squares

from unbraid.data.arrays import from_pairs
from unbraid.data.batch import Transitions
from unbraid.data.moves import TRIES, laplace_steps, moved, until_found
from unbraid.data.samplers import sampler
from unbraid.data.sets.images import Images
from unbraid.data.split import correlate, hold_out, select_rows
from unbraid.data.table import Factor
from unbraid.errors import UserError


@pytest.mark.parametrize(("size", "start", "least"), [(8, 2, 0), (5, 4, 0), (8, 2, 1), (2, 0, 1)])
def test_steps_have_a_laplace_distribution(size: int, start: int, least: int) -> None:
    """Shares of 60,000 steps against the density, normalised over the values that can be reached."""
    drawn = laplace_steps(np.full(60_000, start), size, 1.5, np.random.default_rng(0), least)
    density = laplace.pdf(np.arange(size), loc=start, scale=np.log(size) / 1.5)
    density[np.abs(np.arange(size) - start) < least] = 0
    shares = np.bincount(drawn, minlength=size) / len(drawn)
    np.testing.assert_allclose(shares, density / density.sum(), atol=0.01)


def test_where_nothing_moves_by_itself_one_axis_does() -> None:
    before = np.tile([3, 3, 3], (3000, 1))
    after = moved(before, np.full(3, 8), np.array([True, False, True]), 1000.0, np.random.default_rng(0))
    steps = after - before
    assert (np.abs(steps).sum(1) == 1).all()
    np.testing.assert_allclose(np.abs(steps).mean(0), [0.5, 0, 0.5], atol=0.04)
    np.testing.assert_allclose(steps.mean(0), 0, atol=0.05)


def test_what_is_not_free_stays() -> None:
    before = np.random.default_rng(0).integers(0, 4, (50, 3))
    after = moved(before, np.full(3, 4), np.array([True, False, True]), 0.1, np.random.default_rng(1))
    np.testing.assert_array_equal(after[:, 1], before[:, 1])
    assert (after[:, [0, 2]] != before[:, [0, 2]]).any(0).all()


class Kinds(Squares):
    factors = (Factor("x", 8), Factor("y", 8), Factor("side", 3, ordered=False), Factor("light", 4))


class OnlyKinds(Squares):
    factors = (Factor("x", 8, False), Factor("y", 8, False), Factor("side", 3, False), Factor("light", 4, False))


def test_something_moves_in_each_pair_and_kinds_never_do() -> None:
    table, rows = Kinds(), np.arange(768)
    for rate in (0.5, 1000.0):
        before, after = table.values(rows), table.values(table.follow(rows, rate, np.random.default_rng(0)))
        assert (before != after).any(1).all()
        np.testing.assert_array_equal(before[:, 2], after[:, 2])
    with pytest.raises(UserError, match="no factor that could move"):
        OnlyKinds().follow(rows, 1.0, np.random.default_rng(0))


@pytest.mark.parametrize("part", ["correlated", "held out", "chosen"])
def test_steps_stay_among_the_rows_of_a_part(part: str) -> None:
    table = {
        "correlated": lambda: correlate(Squares(), ("x", "y"), 0.3, count=300),
        "held out": lambda: hold_out(Squares(), fraction=0.5),
        "chosen": lambda: select_rows(Squares(), np.arange(0, 768, 2)),
    }[part]()
    rows = np.arange(len(table))
    followed = table.follow(rows, 1.0, np.random.default_rng(0))
    assert followed.min() >= 0
    assert (table.values(rows) != table.values(followed)).any(1).all()


def test_a_rate_that_is_not_positive_is_refused() -> None:
    with pytest.raises(UserError, match="transition_rate of Transitions must be more than 0, not 0"):
        sampler(Squares(), Transitions, batch=2, seed=0, transition_rate=0)(0)


def film(folder: Path, *brightness: int) -> None:
    folder.mkdir(parents=True)
    for number, grey in enumerate(brightness):
        Image.fromarray(np.full((8, 8), grey, np.uint8)).save(folder / f"frame{8 + number}.png")  # frame8, 9, 10, ...


def test_frames_of_a_folder_follow_each_other(tmp_path: Path) -> None:
    film(tmp_path / "a", 10, 20, 30, 40)
    film(tmp_path / "b", 110, 120)
    drawn = sampler(Images(path=str(tmp_path), size=8), Transitions, batch=200, seed=0)(0)
    assert isinstance(drawn, Transitions)
    found = set(zip(drawn.x1[:, 0, 0, 0].tolist(), drawn.x2[:, 0, 0, 0].tolist(), strict=True))
    assert found == {(10, 20), (20, 30), (30, 40), (40, 30), (110, 120), (120, 110)}


def test_a_frame_alone_in_its_folder_is_refused(tmp_path: Path) -> None:
    film(tmp_path / "a", 10, 20)
    film(tmp_path / "b", 110)
    with pytest.raises(UserError, match=r"frame8\.png is alone in its folder"):
        sampler(Images(path=str(tmp_path), size=8), Transitions, batch=2, seed=0)(0)


def test_arrays_of_successive_samples_are_pairs() -> None:
    x = np.arange(6, dtype=np.uint8)[:, None, None] * np.ones((6, 8, 8), np.uint8)
    drawn = sampler(from_pairs(x[:-1], x[1:]), Transitions, batch=30, seed=0)(0)
    assert isinstance(drawn, Transitions)
    assert (drawn.x2.int() - drawn.x1.int() == 1).all()


def test_frames_whose_next_is_held_out_are_told(tmp_path: Path) -> None:
    film(tmp_path / "a", *range(10))
    kept = hold_out(Images(path=str(tmp_path), size=8), fraction=0.4)
    with pytest.raises(UserError, match="in films the next frame may be held out: hold out whole films"):
        sampler(kept, Transitions, batch=20, seed=0)(0)


def test_the_last_try_counts() -> None:
    left = iter(range(TRIES))
    found = until_found(lambda rows, _: np.where(next(left) == TRIES - 1, rows + 1, -1), np.arange(3), np.ones(3, int))
    assert found.tolist() == [1, 2, 3]
