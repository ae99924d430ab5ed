from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.data.batch import Views
from unbraid.data.compose import digits
from unbraid.data.samplers import sampler
from unbraid.data.sets.cifar10 import CIFAR10
from unbraid.data.sets.mnist_stl10 import MNISTSTL10
from unbraid.data.sets.stl10 import STL10
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
PHOTOGRAPHS = RNG.integers(0, 256, (150, 3, 96, 96), dtype=np.uint8)
CLASSES = np.arange(150) % 10


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data root with tiny files in the formats of STL-10 (column-major, classes from 1) and CIFAR-10."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "stl10").mkdir()
    (folder / "cifar10").mkdir()
    for split, part in (("train", slice(0, 100)), ("test", slice(100, 150))):
        (folder / "stl10" / f"{split}_X.bin").write_bytes(PHOTOGRAPHS[part].transpose(0, 1, 3, 2).tobytes())
        (folder / "stl10" / f"{split}_y.bin").write_bytes((CLASSES[part] + 1).astype(np.uint8).tobytes())
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        part = slice(25 * number, 25 * number + 25)
        records = np.concatenate([CLASSES[part, None], PHOTOGRAPHS[part, :, :32, :32].reshape(25, -1)], 1)
        (folder / "cifar10" / f"{name}.bin").write_bytes(records.astype(np.uint8).tobytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(folder))
        patch.setattr(STL10, "counts", (("train", 100), ("test", 50)))
        patch.setattr(CIFAR10, "per_file", 25)
        with warnings.catch_warnings(action="ignore"):
            digits.load()
        yield folder


def small(**arguments: object) -> MNISTSTL10:
    return MNISTSTL10(**{"train_rows": 4000, "test_rows": 1500, **arguments})  # type: ignore[arg-type]


def composed(photograph: NDArray[np.uint8], digit: NDArray[np.uint8], location: int) -> NDArray[np.uint8]:
    """The definition, one pixel at a time, at 64 x 64."""
    picture = photograph[:, 16:80, 16:80].copy()
    top, left = 2 + 32 * (location // 4), 12 * (location % 4)
    for channel in range(3):
        for y in range(28):
            for x in range(28):
                if digit[y, x] > picture[channel, top + y, left + x]:
                    picture[channel, top + y, left + x] = digit[y, x]
    return picture


def test_a_digit_lies_on_the_middle_of_a_photograph() -> None:
    images, labels = digits.pool()
    table = small()
    rows = np.arange(24)
    instances, values, pictures = table.instances(rows), table.values(rows), table.images(rows)
    assert set(instances[:, 2]) == set(range(8))
    for (digit, photograph, location), (y, background, place), picture in zip(instances, values, pictures, strict=True):
        assert (y, background, place) == (labels[digit], CLASSES[photograph], location)
        np.testing.assert_array_equal(picture, composed(PHOTOGRAPHS[photograph], images[digit], location))


def test_half_the_size_is_the_same_geometry() -> None:
    images, _ = digits.pool()
    table = small(size=32)
    rows = np.arange(40)
    for (digit, photograph, location), picture in zip(table.instances(rows), table.images(rows), strict=True):
        behind = PHOTOGRAPHS[photograph][:, 16:80, 16:80].reshape(3, 32, 2, 32, 2).mean((2, 4))
        expected = np.zeros((32, 32))
        top, left = 1 + 16 * (location // 4), 6 * (location % 4)
        expected[top : top + 14, left : left + 14] = images[digit].reshape(14, 2, 14, 2).mean((1, 3))
        assert np.abs(picture - np.maximum(behind, expected)).max() <= 0.5


def test_cifar_and_dimmed_backgrounds() -> None:
    table = small(size=32, backgrounds="cifar10", brightness=0.7)
    rows = np.arange(60)
    images, _ = digits.pool()
    for (digit, photograph, location), picture in zip(table.instances(rows), table.images(rows), strict=True):
        top, left = 1 + 16 * (location // 4), 6 * (location % 4)
        over = np.zeros((32, 32))
        over[top : top + 14, left : left + 14] = images[digit].reshape(14, 2, 14, 2).mean((1, 3))
        expected = np.maximum(0.7 * PHOTOGRAPHS[photograph, :, :32, :32], over)
        assert np.abs(picture - expected).max() <= 0.5
    assert not small(size=32, brightness=0.0).images(rows)[:, :, 15, 31].any()
    assert small(backgrounds="cifar10").images(rows).shape == (60, 3, 64, 64)


@pytest.mark.parametrize(
    ("variant", "shared", "third", "labels"),
    [("dc-bc", (0, 1), 2, 100), ("dc-dl", (0, 2), 1, 80), ("bc-dl", (1, 2), 0, 80)],
)
def test_views_share_two_factors_and_no_instance(
    variant: str, shared: tuple[int, int], third: int, labels: int
) -> None:
    table = small(variant=variant)
    rows = RNG.integers(0, len(table), 400)
    partners = table.partner(rows, RNG)
    here, there = table.values(rows), table.values(partners)
    np.testing.assert_array_equal(here[:, shared], there[:, shared])
    assert (here[:, third] != there[:, third]).all()
    mine, others = table.instances(rows), table.instances(partners)
    for axis in (0, 1):
        assert (mine[:, axis] != others[:, axis]).all()
    batch = sampler(table, Views, batch=64, seed=0)(0)
    assert isinstance(batch, Views)
    values = table.values(batch.index.numpy())
    size = {2: 8}.get(shared[1], 10)
    np.testing.assert_array_equal(batch.y.numpy(), values[:, shared[0]] * size + values[:, shared[1]])
    assert int(np.prod(table.spec.shared)) == labels
    np.testing.assert_array_equal(batch.x1.numpy(), table.images(batch.index.numpy()))


def test_train_and_test_have_no_instance_in_common() -> None:
    table = small()
    assert isinstance(table.test, MNISTSTL10)
    assert (len(table), len(table.test)) == (4000, 1500)
    train, test = (t.instances(np.arange(len(t))) for t in (table, table.test))
    for axis, count in ((0, 1797), (1, 150)):
        assert not set(train[:, axis]) & set(test[:, axis])
        assert len(set(test[:, axis])) <= count - round(0.9 * count)
    assert len(set(test[:, 1])) == 15
    locations = small(variant="dc-dl").test  # 15 photographs are too few to share a background's class
    assert isinstance(locations, MNISTSTL10)
    rows = np.arange(100)
    assert (locations.shared_label(locations.partner(rows, RNG)) == locations.shared_label(rows)).all()
    np.testing.assert_array_equal(train, small().instances(np.arange(4000)))
    assert (train != small(draw=1).instances(np.arange(4000))).any()


def test_what_is_wrong_is_said(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"variant of mnist_stl10 must be .*dc-bc.*, not 'dcbc'"):
        small(variant="dcbc")
    with pytest.raises(UserError, match="size of mnist_stl10 must be 64 or 32, not 48"):
        small(size=48)
    with pytest.raises(UserError, match=r"brightness of mnist_stl10 must be from 0 to 1, not 1\.5"):
        small(brightness=1.5)
    with pytest.raises(UserError, match="train_rows of mnist_stl10 must be 1 or more, not 0"):
        small(train_rows=0)
    with pytest.raises(UserError, match=r"backgrounds of mnist_stl10 must be .*, not 'cifar'"):
        small(backgrounds="cifar")
    with pytest.raises(UserError, match="too sparse"):
        small(train_rows=3).partner(np.arange(3), RNG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path))
        with pytest.warns(UserWarning, match="MNIST"), pytest.raises(UserError, match=r"stl10 does not exist.*cifar10"):
            small()
