"""Binary formats: right on real files and files written byte by byte, and never fooled by a mutated header."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.io import savemat

from unbraid.data.io.array_files import npy, npz
from unbraid.data.io.formats import read_idx, read_mat, read_norb, read_raw
from unbraid.data.sets.cifar10 import read_batches
from unbraid.data.sets.stl10 import read_labels
from unbraid.errors import UserError

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
fuzz = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
edits = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4)


pytestmark = pytest.mark.usefixtures("root", "cache")


def idx(array: NDArray[Any], kind: int = 8) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, kind, array.ndim, *array.shape) + array.tobytes()


def norb(array: NDArray[Any], magic: int = 0x1E3D4C55) -> bytes:
    sizes = (*array.shape, 1, 1)[: max(3, array.ndim)]
    return struct.pack(f"<Ii{len(sizes)}i", magic, array.ndim, *sizes) + array.tobytes()


def mutated(data: bytes, changes: list[tuple[int, int]], within: int) -> bytes:
    out = bytearray(data)
    for place, value in changes:
        out[place % within] = value
    return bytes(out)


@contextmanager
def little_memory() -> Iterator[None]:
    """Fails where more is taken than such small files need."""
    tracemalloc.start()
    try:
        yield
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 16 << 20


def right_or_refused(read: Callable[[], NDArray[Any]], file: Path, whole: bytes, data: bytes) -> None:
    """What became of a file is read as the whole one, or refused by its name, with little memory; the whole is read."""
    file.write_bytes(data)
    with little_memory():
        try:
            assert np.array_equal(read(), PIXELS)
        except UserError as problem:
            assert data != whole
            assert str(file) in str(problem)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_and_norb_give_back_what_was_written(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "data"
    file.write_bytes(pack(idx(PIXELS)))
    assert np.array_equal(read_idx(file), PIXELS)
    file.write_bytes(pack(norb(PIXELS)))
    assert np.array_equal(read_norb(file), PIXELS)
    numbers = np.array([-2, 300, 70_000], np.int32)
    file.write_bytes(pack(idx(numbers.astype(">i4"), 12)))
    assert np.array_equal(read_idx(file, dtype="i4"), numbers)
    file.write_bytes(pack(norb(numbers, 0x1E3D4C54)))
    assert np.array_equal(read_norb(file, dtype="i4"), numbers)


@fuzz
@given(changes=edits, cut=st.integers(0, 80), zipped=st.booleans())
@example(changes=[(0, 0)], cut=80, zipped=False)
@example(changes=[(11, 3), (15, 4)], cut=80, zipped=False)  # another shape of the same size
def test_mutated_idx(tmp_path: Path, changes: list[tuple[int, int]], cut: int, zipped: bool) -> None:
    data = mutated(idx(PIXELS), changes, 16)[: 76 - cut if cut < 20 else 76]
    file = tmp_path / "data"
    pack = gzip.compress if zipped else bytes
    right_or_refused(lambda: read_idx(file, PIXELS.shape), file, pack(idx(PIXELS)), pack(data))


@fuzz
@given(changes=edits)
def test_idx_header_that_lies_about_its_size(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    file = tmp_path / "data"
    file.write_bytes(mutated(idx(PIXELS), changes, 16))
    with little_memory(), suppress(UserError):
        assert read_idx(file).tobytes() == PIXELS.tobytes()


@fuzz
@given(changes=edits, zipped=st.booleans())
@example(changes=[(0, 0x55)], zipped=False)
@example(changes=[(12, 3), (16, 4)], zipped=False)  # another shape of the same size
def test_mutated_norb(tmp_path: Path, changes: list[tuple[int, int]], zipped: bool) -> None:
    data = mutated(norb(PIXELS), changes, 20)
    file = tmp_path / "data"
    pack = gzip.compress if zipped else bytes
    right_or_refused(lambda: read_norb(file, PIXELS.shape), file, pack(norb(PIXELS)), pack(data))


@fuzz
@given(changes=edits)
@example(changes=[(0, 0x1F)])
def test_mutated_gz(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    packed = gzip.compress(idx(PIXELS))
    file = tmp_path / "data"
    right_or_refused(lambda: read_idx(file, PIXELS.shape), file, packed, mutated(packed, changes, len(packed)))


@settings(fuzz, max_examples=600)
@given(changes=edits, compressed=st.booleans(), cut=st.integers(0, 2000))
@example(changes=[(0, ord("P"))], compressed=True, cut=2000)
def test_mutated_npz(tmp_path: Path, changes: list[tuple[int, int]], compressed: bool, cut: int) -> None:
    file = tmp_path / "data.npz"
    (np.savez_compressed if compressed else np.savez)(file, imgs=PIXELS, other=np.arange(3))
    whole = file.read_bytes()
    data = mutated(whole, changes, len(whole))[: -cut % len(whole) if cut < 100 else None]
    right_or_refused(lambda: npz(file, "imgs")["imgs"].expect(PIXELS.shape, "uint8").load(), file, whole, data)


@settings(fuzz, max_examples=400)
@given(changes=edits)
@example(changes=[(0, 0x93)])
@example(changes=[(22, ord("i"))])  # bytes with a sign
@example(changes=[(64, ord("3")), (67, ord("4"))])  # another shape of the same size
def test_mutated_npy(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    file = tmp_path / "data.npy"
    np.save(file, PIXELS)
    whole = file.read_bytes()
    data = mutated(whole, changes, 128)
    right_or_refused(lambda: npy(file).expect(PIXELS.shape, "uint8").rows("x")(np.arange(5)), file, whole, data)


@fuzz
@given(place=st.integers(0, 6 * 3073 - 1), value=st.integers(0, 255), cut=st.integers(-3, 3))
def test_mutated_cifar(tmp_path: Path, place: int, value: int, cut: int) -> None:
    records = np.random.default_rng(1).integers(0, 256, (6, 3073), dtype=np.uint8)
    records[:, 0] = np.arange(6)
    records.reshape(-1)[place] = value
    data = records.tobytes() + b"x" * cut if cut >= 0 else records.tobytes()[:cut]
    paths = [tmp_path / "a.bin", tmp_path / "b.bin"]
    paths[0].write_bytes(data[: 3 * 3073])
    paths[1].write_bytes(data[3 * 3073 :])
    good = cut == 0 and records[:, 0].max() <= 9
    try:
        read, labels = read_batches(paths, 3)
    except UserError as problem:
        assert not good
        assert str(tmp_path) in str(problem)
    else:
        assert good
        assert np.array_equal(labels, records[:, 0])
        rows = np.array([5, 0, 3, 3])
        assert np.array_equal(read(rows), records[rows, 1:].reshape(4, 3, 32, 32))


def test_mat_is_looked_at_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.mat"
    savemat(file, {"labels": PIXELS[0], "name": "text", "cell": np.array([1, "a"], object)})
    assert np.array_equal(read_mat(file, "labels", (4, 3), "uint8"), PIXELS[0])
    for key, shape, dtype in [
        ("labels", (3, 4), ""),
        ("label", (4, 3), ""),
        ("labels", (4, 3), "int32"),
        ("name", (1,), ""),
    ]:
        with pytest.raises(UserError, match=r"x\.mat"):
            read_mat(file, key, shape, dtype)
    whole = file.read_bytes()
    for data in (b"", b"not a mat file", whole[:150], b"\0" * 400, whole[:128] + b"\xff" * 200):
        file.write_bytes(data)
        with pytest.raises(UserError, match=r"x\.mat"):
            read_mat(file, "labels", (4, 3))


def test_sentences_name_the_file_and_what_was_expected(tmp_path: Path) -> None:
    file = tmp_path / "train-labels-idx1-ubyte"

    def says(data: bytes, message: str) -> None:
        file.write_bytes(data)
        with pytest.raises(UserError, match=f"train-labels-idx1-ubyte {message}"):
            read_idx(file, (5, 4, 3))

    whole = idx(PIXELS)
    says(b"", r"is corrupt: expected an idx file of shape \(5, 4, 3\) \(it ends after 0 of 4 bytes\)")
    says(whole[:-1], "is corrupt.*it ends after 59 of 60 bytes")
    says(whole + b"x", "has extra bytes after the 60 that its header announces")
    says(b"\x12\x34" + whole[2:], "is not an idx file: it starts with 1234 08 03")
    says(idx(PIXELS[:4]), r"has shape \(4, 4, 3\) instead of \(5, 4, 3\)")
    says(idx(PIXELS, 9), "holds int8 instead of uint8")
    says(gzip.compress(whole)[:-12], "is corrupt")
    file.unlink()
    with pytest.raises(UserError, match="train-labels-idx1-ubyte does not exist"):
        read_idx(file)
    file.mkdir()
    with pytest.raises(UserError, match=r"train-labels-idx1-ubyte is corrupt: .*directory"):
        read_idx(file)


def test_headers_out_of_proportion(tmp_path: Path) -> None:
    file = tmp_path / "data"
    for ndim in (0, -1, 9, 2**31 - 1):
        file.write_bytes(struct.pack("<Ii3i", 0x1E3D4C55, ndim, 1, 1, 1) + b"x")
        with pytest.raises(UserError, match=f"data is not a NORB matrix: .* {ndim} dimensions"):
            read_norb(file)
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }".ljust(20_000) + b"\n"
    file.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + b"x")
    with pytest.raises(UserError, match=r"data has a header of 20,001 bytes"):
        npy(file)


def test_raw_files_and_labels_from_one(tmp_path: Path) -> None:
    file = tmp_path / "y.bin"
    file.write_bytes(bytes([1, 10, 3]))
    assert read_labels(file, 3).tolist() == [0, 9, 2]
    with pytest.raises(UserError, match=r"y\.bin has 3 bytes instead of 4 \(4 records\)"):
        read_raw(file, 4, ())
    for wrong in (0, 11):
        file.write_bytes(bytes([1, wrong, 3]))
        with pytest.raises(UserError, match=r"y\.bin has labels from .* instead of 1 to 10"):
            read_labels(file, 3)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """Neither where the zip says how large it is, nor where it says that there is no more than the header promises."""
    file = tmp_path / "bomb.npz"
    np.save(tmp_path / "x.npy", PIXELS)
    array = (tmp_path / "x.npy").read_bytes()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("imgs.npy", array + bytes(50 << 20))
    with (
        little_memory(),
        pytest.raises(UserError, match=r"bomb\.npz has 52,428,988 bytes, but its header announces 188"),
    ):
        npz(file, "imgs")["imgs"].load()
    honest, lying = (struct.pack("<I", size) for size in (len(array) + (50 << 20), len(array)))
    assert file.read_bytes().count(honest) == 2
    file.write_bytes(file.read_bytes().replace(honest, lying))
    with little_memory(), pytest.raises(UserError, match=r"bomb\.npz is corrupt: .* \(Bad CRC-32"):
        npz(file, "imgs")["imgs"].load()
