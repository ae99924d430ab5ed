"""Coloured, turned and hued digits, and where digits come from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data.compose import digits
from unbraid.data.compose.painted_digits import PaintedDigits
from unbraid.data.compose.palette import DIGITS, GROUNDS, HUES
from unbraid.data.sets.cmnist import CMNIST
from unbraid.data.sets.colored_mnist import ColoredMNIST
from unbraid.data.sets.rotation_colored_mnist import ANGLES, RotationColoredMNIST, turned
from unbraid.errors import UserError

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def _root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A data root without MNIST; the warning about it is tested below."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("root")))
        with warnings.catch_warnings(action="ignore"):
            digits.load()
        yield


def test_digits_of_scikit_learn_stand_in_and_say_so_once(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path))
        with pytest.warns(UserWarning, match=r"MNIST is not in .*mnist: using the 1,797 smaller digits"):
            images, labels, more, their = digits.load()
        again = digits.load()  # a second warning would be an error
        assert again[0] is images
    assert (len(labels), len(their)) == (1498, 299)
    assert images.shape == (1498, 28, 28)
    assert not images[:, :4].any()
    assert not images[:, :, 24:].any()
    assert set(labels) == set(their) == set(range(10))
    centres = np.stack([images[labels == y].mean(0) for y in range(10)]).reshape(10, -1)
    distance = ((more.reshape(-1, 1, 784) - centres) ** 2).mean(2)
    assert (distance.argmin(1) == their).mean() > 0.8, "labels belong to the images"


def test_mnist_is_taken_where_it_is(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "mnist").symlink_to(shared / "data/mnist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path))
        images, labels, more, _ = digits.load()
    assert images.shape == (60_000, 28, 28)
    assert images.mean() / 255 == pytest.approx(0.13066, abs=1e-4)
    assert labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert len(more) == 10_000


def test_a_broken_mnist_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path))
        with pytest.raises(UserError, match="train-images"):
            digits.load()


@pytest.mark.parametrize("table", [ColoredMNIST, RotationColoredMNIST], ids=lambda t: t.name)
def test_a_shade_makes_test_grounds_of_the_sums_of_training_grounds(table: type[PaintedDigits]) -> None:
    plain, shaded = table(), table(shade=0.5)
    rows = np.arange(0, len(plain), 97)
    np.testing.assert_array_equal(plain.images(rows), shaded.images(rows))
    assert shaded.test is not None
    rows = RNG.integers(0, len(shaded.test), 200)
    corner = shaded.test.images(rows)[:, :, 0, 0]
    ground = shaded.test.values(rows)[:, shaded.column("background")]
    wanted = {3: (0, 55, 95), 4: (80, 55, 0), 5: (80, 0, 95)}
    assert set(ground) == set(wanted)
    assert all(tuple(c) == wanted[g] for c, g in zip(corner.tolist(), ground, strict=True))


@pytest.mark.parametrize("table", [ColoredMNIST, RotationColoredMNIST, CMNIST], ids=lambda t: t.name)
def test_pairs_are_the_same_handwriting_in_other_colours(table: type[PaintedDigits]) -> None:
    painted = table()
    common = len(painted.fixed)
    rows = RNG.integers(0, len(painted), 300)
    k = RNG.integers(1, painted.changeable + 1, 300)
    others = painted.change(rows, k, RNG)
    here, there = painted.positions(rows), painted.positions(others)
    np.testing.assert_array_equal(here[:, :common], there[:, :common])
    np.testing.assert_array_equal((painted.values(rows) != painted.values(others)).sum(1), k)
    assert painted.changeable == {"cmnist": 1}.get(painted.name, 2)


def test_colours_lie_over_the_ground_as_the_digit_does() -> None:
    table = ColoredMNIST(size=32)
    rows = RNG.integers(0, len(table), 40)
    picture, values = table.images(rows), table.values(rows)
    images, labels, *_ = digits.load()
    for row, x, (digit, ground, colour) in zip(rows, picture, values, strict=True):
        number = row // 18
        assert digit == labels[number]
        assert (ground, colour) == divmod(row % 18, 6)
        cover = np.zeros((32, 32))
        cover[2:30, 2:30] = images[number] / 255
        expected = GROUNDS[ground][:, None, None] * (1 - cover) + DIGITS[colour][:, None, None] * cover
        assert np.abs(x - expected).max() <= 0.51


def test_training_never_shows_the_grounds_of_the_test() -> None:
    table = ColoredMNIST()
    assert table.test is not None
    seen, new = (t.values(np.arange(len(t))) for t in (table, table.test))
    assert (set(seen[:, 1]), set(new[:, 1])) == ({0, 1, 2}, {3, 4, 5})
    assert set(seen[:, 2]) == set(new[:, 2]) == set(range(6))
    assert (len(table), len(table.test)) == (1498 * 18, 299 * 18)
    assert (table.label, table.nuisances, table.groups) == ("digit", ("background", "colour"), ("background",))
    colours = np.concatenate([GROUNDS, DIGITS])
    apart = np.abs(colours[:, None] - colours).max(2) + 255 * np.eye(12)
    assert apart.min() >= 50
    assert np.abs(GROUNDS[:, None] - DIGITS).max(2).min() >= 75, "each digit can be seen on each ground"


def test_turned_digits_and_their_angles() -> None:
    table = RotationColoredMNIST()
    assert table.test is not None
    seen, new = (t.values(np.arange(len(t))) for t in (table, table.test))
    assert {ANGLES[a] for a in seen[:, 1]} == {-45, -22.5, 0, 22.5, 45}
    assert {ANGLES[a] for a in new[:, 1]} == {-75, -65, 65, 75}
    assert not set(seen[:, 2]) & set(new[:, 2])
    assert "angle" not in table.nuisances  # it is an unknown nuisance
    flat = ColoredMNIST()
    number, ground, colour = 77, 1, 4
    row = ((number * 5 + 2) * 3 + ground) * 6 + colour  # the third angle is 0
    upright = flat.images(np.array([(number * 3 + ground) * 6 + colour]))
    np.testing.assert_array_equal(table.images(np.array([row])), upright)


def test_turning_is_anticlockwise_and_linear_between_pixels() -> None:
    images = digits.load()[0][:20]
    for number, angle in enumerate(ANGLES):
        mine = turned(images, np.full(20, number)).astype(float)
        pillow = np.stack([np.asarray(Image.fromarray(x).rotate(angle, Image.Resampling.BILINEAR)) for x in images])
        assert np.abs(mine - pillow).max() <= 2
    ink = turned(images, np.full(20, 0)).sum((1, 2)) / images.sum((1, 2))
    assert np.abs(ink - 1).max() < 0.05


def test_hues_are_those_of_the_room_and_can_follow_the_digit() -> None:
    table = CMNIST()
    rows = RNG.integers(0, len(table), 50)
    values = table.values(rows)
    brightest = table.images(rows).reshape(50, 3, -1).max(2)
    full = digits.load()[0][rows // 10].max((1, 2)) / 255
    assert np.abs(brightest - HUES[values[:, 1]] * full[:, None]).max() <= 0.51
    tied = CMNIST(correlated=0.1, train_rows=40_000)
    assert tied.test is not None
    assert len(tied) == 40_000
    seen = np.zeros((10, 10))
    np.add.at(seen, tuple(tied.values(np.arange(40_000))[:, ::-1].T), 1 / 40_000)
    expected = np.exp(-(((np.arange(10)[:, None] - np.arange(10)) / 9) ** 2) / 0.02)
    assert np.abs(seen - expected / expected.sum()).max() < 0.006
    free = tied.test.values(np.arange(len(tied.test)))
    assert len(free) == 2990
    assert abs(np.cov(free.T)[0, 1]) < 1e-9, "each test digit has each hue"


def test_settings_can_be_chosen_without_the_test_digits() -> None:
    images, labels, _, _ = digits.load()
    first = len(images) * 5 // 6
    table = CMNIST(tuning=True)
    assert table.test is not None
    assert (len(table), len(table.test)) == (10 * first, 10 * (len(images) - first))
    for part, expected in ((table, images[:first]), (table.test, images[first:])):
        whole = np.stack([part.images(np.arange(10 * i, 10 * i + 10)).max((0, 1)) for i in (0, len(expected) - 1)])
        assert (np.abs(whole.astype(int) - expected[[0, -1]]) < 3).all()  # every pixel is bright in one of the hues
    assert (table.test.values(np.arange(0, len(table.test), 10))[:, 0] == labels[first:]).all()


@pytest.mark.parametrize("kind", [ColoredMNIST, RotationColoredMNIST])
def test_unseen_grounds_can_be_tried_without_the_test_digits(kind: type[ColoredMNIST | RotationColoredMNIST]) -> None:
    images, labels, _, _ = digits.load()
    first, table, usual = len(images) * 5 // 6, kind(shade=0.9, tuning=True), kind(shade=0.9)
    assert isinstance(table.test, PaintedDigits) and isinstance(usual.test, PaintedDigits)
    assert np.array_equal(np.concatenate([table.digits, table.test.digits]), usual.digits)
    assert np.array_equal(table.test.labels, labels[first:])
    assert all(map(np.array_equal, table.test.choices, usual.test.choices))


def test_too_small_a_picture_is_refused() -> None:
    with pytest.raises(UserError, match="size of colored_mnist must be 28 or more, not 20"):
        ColoredMNIST(size=20)
