"""A user's own images as arrays, and how many of them are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.data.io import image_files as pictures
from unbraid.data.io.image_files import ImageCache
from unbraid.data.sets.images import Images
from unbraid.data.table import Bytes, Factor
from unbraid.errors import UserError

RNG = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("root", "cache")


def every(table: Any) -> Bytes:
    found: Bytes = table.images(np.arange(len(table)))
    return found


def test_arrays_in_every_layout(tmp_path: Path) -> None:
    n = RNG.integers(0, 256, (5, 3, 6, 6), dtype=np.uint8)

    def load(array: NDArray[Any], **options: Any) -> Bytes:
        np.save(tmp_path / "x.npy", array)
        return every(Images(path=str(tmp_path / "x.npy"), size=6, **options))

    assert np.array_equal(load(n), n)
    assert np.array_equal(load(n.transpose(0, 2, 3, 1)), n)
    assert np.array_equal(load(n[:, 0]), n[:, :1])
    assert np.array_equal(load(n[:, 0], color="rgb"), n[:, :1].repeat(3, 1))
    for kind in (np.float16, np.float32, np.float64):
        assert np.array_equal(load((n / 255).astype(kind)), n)
    assert np.array_equal(load(n > 100), (n > 100) * np.uint8(255))
    assert np.array_equal(load(np.asfortranarray(n)), n)
    wide = np.concatenate([n, n], 3)
    assert np.array_equal(load(wide), wide[:, :, :, 3:9])


def test_labels_of_an_npz(tmp_path: Path) -> None:
    n = RNG.integers(0, 256, (5, 6, 6), dtype=np.uint8)
    path = tmp_path / "x.npz"
    for save_ in (np.savez, np.savez_compressed):
        save_(path, images=n, labels=np.array([0, 2, 1, 1, 0], np.uint8), more=np.zeros(3))
        table = Images(path=str(path), size=6)
        assert table.factors == (Factor("class", 3),)
        assert table.values(np.arange(5)).T.tolist() == [[0, 2, 1, 1, 0]]
        assert np.array_equal(every(table)[:, 0], n)
    np.savez(path, n)
    assert list(Images(path=str(path)).gives) == ["Images"]
    for labels in (np.zeros(4, int), np.zeros(5), np.array([-1, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 10**9])):
        np.savez(path, images=n, labels=labels)
        with pytest.raises(UserError, match=r"'labels' in .*x\.npz"):
            Images(path=str(path))


def test_arrays_that_are_refused(tmp_path: Path) -> None:
    good = np.zeros((4, 6, 6), np.float32)
    path = tmp_path / "x.npy"

    def says(array: NDArray[Any], message: str) -> None:
        np.save(path, array, allow_pickle=True)
        with pytest.raises(UserError, match=r"x\.npy " + message):
            Images(path=str(path), size=6)

    array = good.copy()
    array[1, 0, 0], array[2, 3, 4] = 2, np.nan
    says(array, "has NaN, first in image 2: replace it")
    says(good[0], r"has shape \(6, 6\), a table of features: images are .* for features is table")
    for bad in (1.01, -0.01, np.inf):
        array = good.copy()
        array[2, 3, 4] = bad
        says(array, r"has floats outside \[0, 1\], first in image 2: scale them, or save bytes")
    says(good.astype(np.int64), "holds int64: save bytes")
    says(good.astype(complex), "holds complex128: save bytes")
    says(good[:0], "has shape")
    says(np.zeros((4, 6, 6, 4), np.uint8), "has shape")
    says(np.array([{}], object), "holds Python objects")
    np.savez(tmp_path / "x.npz", a=good, b=good)
    with pytest.raises(UserError, match=r"x\.npz has the arrays a, b: call the one with the images 'images'"):
        Images(path=str(tmp_path / "x.npz"))


def test_what_is_kept_is_bounded_and_read_once() -> None:
    read: list[int] = []

    def one(row: int) -> Bytes:
        read.append(row)
        return np.full((1, 2, 2), row, np.uint8)

    kept = ImageCache(one, 10, (1, 2, 2), keep=12)  # room for three images
    rows = np.array([0, 2, 3, 9, 2, 3])
    for _ in range(2):
        assert kept(rows)[:, 0, 0, 0].tolist() == rows.tolist()
    assert read == [0, 2, 3, 9, 3, 3, 9, 3]
    assert pictures.KEEP == 1 << 30


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.zip"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UserError, match=rf"{name} is corrupt: expected"):
        Images(path=str(tmp_path / name))


def test_an_array_that_shrinks_while_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((9, 8, 8), np.uint8))
    table = Images(path=str(path), size=8)
    path.write_bytes(path.read_bytes()[:-70])
    assert not table.images(np.arange(7)).any()
    with pytest.raises(UserError, match=r"x\.npy is corrupt: .*it ends before the end of row 7"):
        table.images(np.arange(9))
