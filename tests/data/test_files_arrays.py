"""Arrays in npy, npz and HDF5 files: what is given back, what is copied and what is refused."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.data.io import array_files as arrays
from unbraid.data.io.array_cache import load_array
from unbraid.data.io.array_files import H5Rows, cached_rows, npy, npz, read_arrays
from unbraid.errors import UserError

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)


pytestmark = pytest.mark.usefixtures("root", "cache")


class Payload:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    evil = np.array([Payload(touched)], object)
    np.savez(tmp_path / "evil.npz", imgs=evil, good=PIXELS)
    np.save(tmp_path / "evil.npy", evil, allow_pickle=True)
    with pytest.raises(UserError, match=r"imgs\.npy in .*evil\.npz holds Python objects, which are never unpickled"):
        npz(tmp_path / "evil.npz", "imgs")
    with pytest.raises(UserError, match=r"evil\.npy holds Python objects"):
        npy(tmp_path / "evil.npy")
    assert np.array_equal(npz(tmp_path / "evil.npz", "good")["good"].load(), PIXELS)
    assert not touched.exists()
    np.load(tmp_path / "evil.npy", allow_pickle=True)
    assert touched.exists(), "the payload would not have worked anyway"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("in_memory", [0, 1 << 30])
def test_npz_maps_loads_and_unpacks_alike(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, order: Any, save: Any, in_memory: int
) -> None:
    monkeypatch.setattr(arrays, "IN_MEMORY", in_memory)
    wide = np.random.default_rng(2).random((50, 7, 3)).astype(">f4")
    save(tmp_path / "x.npz", first=np.arange(9), second=np.asarray(wide, order=order))
    stored = npz(tmp_path / "x.npz")["second"]
    if order == "F" and in_memory == 0:
        with pytest.raises(UserError, match=r"'second' in .* save it in C order"):
            stored.rows("x")
        return
    rows = np.array([49, 0, 7, 7])
    assert np.array_equal(stored.rows("x")(rows), wide[rows])
    assert np.array_equal(stored.load(), wide)
    if order == "C":
        assert np.array_equal(np.concatenate(list(stored.parts(8))), wide)
    unpacked = save is np.savez_compressed and order == "C" and in_memory == 0
    assert [file.suffix for file in (cache / "converted").glob("*")] == ([".npy"] if unpacked else [])


def test_a_file_that_is_cut_off_while_it_is_open(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, PIXELS)
    read = npy(file).rows("x")
    assert np.array_equal(read(np.array([4])), PIXELS[4:])
    file.write_bytes(file.read_bytes()[:-1])
    assert np.array_equal(read(np.array([3])), PIXELS[3:4])
    with pytest.raises(UserError, match=r"x\.npy is corrupt: .*it ends before the end of row 4"):
        read(np.array([3, 4]))


def test_a_torn_npz_leaves_no_copy(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "IN_MEMORY", 0)
    file = tmp_path / "x.npz"
    noise = np.random.default_rng(3).integers(0, 256, (100, 1000), dtype=np.uint8)
    np.savez_compressed(file, images=noise)
    data = bytearray(file.read_bytes())
    data[50_000] ^= 255
    file.write_bytes(data)
    stored = npz(file, "images")["images"]
    with pytest.raises(UserError, match=r"'images' in .*x\.npz"):
        stored.rows("x")
    assert list((cache / "converted").iterdir()) == []


def test_a_copy_is_made_once_and_again_when_its_source_changes(tmp_path: Path, root: Path) -> None:
    source, made = tmp_path / "source", []

    def parts() -> list[NDArray[np.uint8]]:
        made.append(1)
        return [np.full((2, 3), len(made), np.uint8), np.full((1, 3), 9, np.uint8)]

    source.write_bytes(b"one")
    for _ in range(2):
        copy = cached_rows("it", [source], (3, 3), parts)
        assert copy(np.array([2, 0, 1])).tolist() == [[9, 9, 9], [1, 1, 1], [1, 1, 1]]
    source.write_bytes(b"longer")
    assert cached_rows("it", [source], (3, 3), parts)(np.array([0]))[0, 0] == 2
    with pytest.raises(UserError, match="announces"):
        cached_rows("short", [source], (5, 3), parts)


def test_a_copy_that_the_disk_has_no_room_for(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.touch()
    with pytest.raises(UserError, match="bytes of free space for huge"):
        cached_rows("huge", [source], (1 << 62,), lambda: [])
    monkeypatch.setenv("UNBRAID_CACHE", str(source))
    with pytest.raises(UserError, match=r"source/converted/.* cannot be written"):
        cached_rows("it", [source], (1,), lambda: [np.zeros(1, np.uint8)])


def test_h5_rows_in_any_order_and_what_is_refused(tmp_path: Path) -> None:
    file, outer = tmp_path / "x.h5", tmp_path / "outer.h5"
    images = np.random.default_rng(4).integers(0, 256, (20, 4, 4, 3), dtype=np.uint8)
    with h5py.File(file, "w") as out:
        out.create_dataset("images", data=images, chunks=(6, 2, 4, 3), compression="gzip")
        out["group/images"] = images
    with h5py.File(outer, "w") as out:
        out["images"] = h5py.ExternalLink(str(file), "images")
    rows = np.array([7, 7, 0, 19, 3])
    read = H5Rows(file, "images", (20, 4, 4, 3), "uint8")
    assert np.array_equal(read(rows), images[rows])
    assert np.array_equal(np.concatenate(list(read.parts(6))), images)
    refused = {
        ("pictures", (20, 4, 4, 3), "uint8"): "has no array 'pictures': it has group, images",
        ("images", (21, 4, 4, 3), "uint8"): r"is uint8 \(20, 4, 4, 3\) instead of uint8 \(21, 4, 4, 3\)",
        ("images", (20, 4, 4, 3), "float32"): "instead of float32",
        ("group", (20, 4, 4, 3), "uint8"): "is not an array in the file itself",
    }
    for arguments, message in refused.items():
        with pytest.raises(UserError, match=message):
            H5Rows(file, *arguments)
    with pytest.raises(UserError, match="is not an array in the file itself"):
        H5Rows(outer, "images", (20, 4, 4, 3), "uint8")
    cut = tmp_path / "cut.h5"
    cut.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(UserError, match=r"cut\.h5 is corrupt"):
        H5Rows(cut, "images", (20, 4, 4, 3), "uint8")


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    """numpy gives its bytes where the first of them are damaged."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as file:
        file.writestr("rows.npy", b"\x93NUMPX" + bytes(100))
    with pytest.raises(UserError, match=r"x\.npz is not a readable \.npz file of plain arrays \('rows' in it is no"):
        read_arrays(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "kept.npz", "w") as file:
        file.writestr("maps.npy", b"\x93NUMPX" + bytes(100))
    assert load_array(tmp_path / "kept.npz", (3,)) is None
