"""Arrays in npy, npz and HDF5 files: read row by row, checked before they are read, never unpickled."""

from __future__ import annotations

import hashlib
import io
import math
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.formats import RowsOnDisk, check_packed, read_exactly, reading
from unbraid.data.io.paths import cache_folder
from unbraid.data.table import Rows
from unbraid.errors import UserError

ReadRows = Callable[[Rows], NDArray[Any]]
LONGEST_HEADER = 10_000  # bytes, numpy's own limit
OTHER_FOLDER = "set UNBRAID_CACHE to a folder that can hold it"
IN_MEMORY = 1 << 30  # bytes; a larger packed array is unpacked into the cache folder


@dataclass(frozen=True)
class StoredArray:
    """An array in a file: `path` is an npy file, or an npz file with `member`."""

    path: Path
    member: zipfile.ZipInfo | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int  # of the data in the npy stream

    @property
    def where(self) -> str:
        return f"'{self.member.filename.removesuffix('.npy')}' in {self.path}" if self.member else str(self.path)

    def expect(self, shape: tuple[int, ...], dtype: str) -> StoredArray:
        """Itself, if it has this shape and type; refused otherwise."""
        if self.shape != shape or self.dtype != np.dtype(dtype):
            raise UserError(f"{self.where} is {self.dtype.name} {self.shape} instead of {dtype} {shape}")
        return self

    def parts(self, size: int) -> Iterator[NDArray[Any]]:
        """The array piece by piece, `size` rows of the first axis at a time."""
        with reading(self.where, f"an array of shape {self.shape}"), _stream(self.path, self.member) as stream:
            read_exactly(stream, self.offset)
            for start in range(0, self.shape[0], size):
                piece = (min(size, self.shape[0] - start), *self.shape[1:])
                yield np.frombuffer(read_exactly(stream, math.prod(piece) * self.dtype.itemsize), self.dtype).reshape(
                    piece
                )
            if stream.read(1):  # also checks the zip member's checksum
                raise UserError(f"{self.where} has extra bytes after its last row")

    def load(self) -> NDArray[Any]:
        """All of it, in memory."""
        with reading(self.where, f"an array of shape {self.shape}"), _stream(self.path, self.member) as stream:
            read_exactly(stream, self.offset)
            data = np.frombuffer(read_exactly(stream, math.prod(self.shape) * self.dtype.itemsize), self.dtype)
            if stream.read(1):
                raise UserError(f"{self.where} has extra bytes after its last row")
            return data.reshape(self.shape, order="F" if self.fortran else "C")

    @property
    def size(self) -> int:
        """In bytes, unpacked."""
        return math.prod(self.shape) * self.dtype.itemsize

    def mapped(self) -> NDArray[Any]:
        """All of it, mapped from the file; in memory if it is packed."""
        if self.member is not None and self.member.compress_type != zipfile.ZIP_STORED:
            return self.load()
        offset = self.offset + (_data_offset(self.path, self.member) if self.member else 0)
        with reading(self.where, f"an array of shape {self.shape}"):
            return np.memmap(self.path, self.dtype, "r", offset, self.shape, "F" if self.fortran else "C")

    def rows(self, name: str) -> ReadRows:
        """Its rows: from the file if possible, else from memory or from a copy in the cache folder."""
        if self.fortran or not math.prod(self.shape):
            if self.size > IN_MEMORY:
                raise UserError(f"{self.where} is too large to be read in Fortran order: save it in C order")
            return self.load().__getitem__
        if self.member is None:
            return RowsOnDisk(self.path, self.offset, self.shape, self.dtype)
        if self.member.compress_type == zipfile.ZIP_STORED:
            return RowsOnDisk(self.path, _data_offset(self.path, self.member) + self.offset, self.shape, self.dtype)
        if self.size <= IN_MEMORY:
            return self.load().__getitem__
        rows = max(1, (1 << 24) // (math.prod(self.shape[1:]) * self.dtype.itemsize))
        return cached_rows(name, [self.path], self.shape, lambda: self.parts(rows), self.dtype)


def npy(path: Path) -> StoredArray:
    """The array of an npy file."""
    with reading(path, "an npy file"), path.open("rb") as stream:
        return _stored(path, None, stream, path.stat().st_size)


def npz(path: Path, key: str | None = None) -> dict[str, StoredArray]:
    """The arrays of an npz file by key: all of them, or only the one of this key.

    Args:
        key: the array that must be there; the others are ignored
    """
    with reading(path, "an npz file"), zipfile.ZipFile(path) as file:
        members = {m.filename.removesuffix(".npy"): m for m in file.infolist() if m.filename.endswith(".npy")}
        if key is not None and key not in members:
            raise UserError(f"{path} has no array '{key}': it has {', '.join(members) or 'none'}")
        found = {}
        for name, member in members.items():
            if key in (None, name):
                check_packed(f"'{name}' in {path}", member.compress_size, member.file_size)
                with file.open(member) as stream:
                    found[name] = _stored(path, member, stream, member.file_size)
        return found


def cached_rows(
    name: str,
    sources: list[Path],
    shape: tuple[int, ...],
    parts: Callable[[], Iterable[NDArray[Any]]],
    dtype: np.dtype[Any] = np.dtype(np.uint8),  # noqa: B008
) -> ReadRows:
    """The rows of `cached_copy`."""
    return npy(cached_copy(name, sources, shape, parts, dtype)).expect(shape, dtype.str).rows(name)


def cached_copy(
    name: str,
    sources: list[Path],
    shape: tuple[int, ...],
    parts: Callable[[], Iterable[NDArray[Any]]],
    dtype: np.dtype[Any],
) -> Path:
    """A converted copy of files, an npy file that is made once in the cache folder.

    Args:
        name: what was converted and how; the copy's file name begins with it
        sources: the files; a new copy is made when one of them changes
        parts: gives the copy's content, in order
    """
    stats = [(str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    key = hashlib.sha256(repr((stats, shape, dtype.str)).encode()).hexdigest()[:16]
    copy = cache_folder() / "converted" / f"{name}-{key}.npy"
    if not copy.exists():
        _write(copy, shape, dtype, parts())
    return copy


def _write(copy: Path, shape: tuple[int, ...], dtype: np.dtype[Any], parts: Iterable[NDArray[Any]]) -> None:
    size = math.prod(shape) * dtype.itemsize
    part: Path | None = None
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(copy.parent).free) < size:
            raise UserError(f"{copy.parent} lacks {size - free:,} bytes of free space for {copy.name}: {OTHER_FOLDER}")
        with tempfile.NamedTemporaryFile(dir=copy.parent, suffix=".part", delete=False) as out:
            part = Path(out.name)
            header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(out, header)
            for piece in parts:
                out.write(np.ascontiguousarray(piece, dtype).data)
        part.replace(copy)
    except OSError as error:
        raise UserError(f"{copy} cannot be written ({error.strerror or error}): {OTHER_FOLDER}") from error
    finally:
        if part:
            part.unlink(missing_ok=True)


class H5Rows:
    """Rows of an array in an HDF5 file, read in ascending order so that each chunk is unpacked once."""

    def __init__(self, path: Path, key: str, shape: tuple[int, ...], dtype: str) -> None:
        import h5py

        what = f"an HDF5 file with '{key}'"
        with reading(path, what):
            self._file = h5py.File(path, "r", rdcc_nbytes=1 << 26)
            if key not in self._file:
                raise UserError(f"{path} has no array '{key}': it has {', '.join(self._file) or 'none'}")
            found = self._file[key]
        inside = isinstance(self._file.get(key, getlink=True), h5py.HardLink)
        if not inside or not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
            raise UserError(f"'{key}' in {path} is not an array in the file itself")
        if found.shape != shape or found.dtype != np.dtype(dtype):
            raise UserError(f"'{key}' in {path} is {found.dtype} {found.shape} instead of {dtype} {shape}")
        self._array, self._where = found, f"'{key}' in {path}"
        with reading(self._where, "a readable array"):
            check_packed(self._where, found.id.get_storage_size(), found.nbytes)

    def __call__(self, rows: Rows) -> NDArray[Any]:
        unique, back = np.unique(rows, return_inverse=True)
        out = np.empty((len(unique), *self._array.shape[1:]), self._array.dtype)
        with reading(self._where, "a readable array"):
            for i, row in enumerate(unique.tolist()):
                self._array.read_direct(out, np.s_[row], np.s_[i])
        return out[back]

    def parts(self, size: int) -> Iterator[NDArray[Any]]:
        """The array piece by piece, `size` rows at a time."""
        with reading(self._where, "a readable array"):
            for start in range(0, self._array.shape[0], size):
                yield self._array[start : start + size]


def _stored(path: Path, member: zipfile.ZipInfo | None, stream: IO[bytes], size: int) -> StoredArray:
    what = f"{member.filename} in {path}" if member else str(path)
    start = read_exactly(stream, 8)
    if start[:6] != b"\x93NUMPY" or start[6] not in (1, 2):
        raise UserError(f"{what} is not an npy array")
    width, read = (
        ("<H", np.lib.format.read_array_header_1_0) if start[6] == 1 else ("<I", np.lib.format.read_array_header_2_0)
    )
    prefix = read_exactly(stream, struct.calcsize(width))
    length = struct.unpack(width, prefix)[0]
    if length > LONGEST_HEADER:
        raise UserError(f"{what} has a header of {length:,} bytes: it is not an npy array")
    text = read_exactly(stream, length)
    try:
        shape, fortran, dtype = read(io.BytesIO(prefix + text))
    except Exception as error:  # the header is a Python literal, and parsing it may raise anything
        raise UserError(f"{what} has a broken npy header") from error
    if dtype.hasobject:
        raise UserError(f"{what} holds Python objects, which are never unpickled: save it as plain numbers")
    if dtype.fields or dtype.subdtype or any(type(n) is not int or n < 0 for n in shape):
        raise UserError(f"{what} is not a plain array: {dtype} {shape}")
    offset = 8 + len(prefix) + length
    expected = offset + math.prod(shape) * dtype.itemsize
    if size != expected:
        raise UserError(f"{what} has {size:,} bytes, but its header announces {expected:,}")
    return StoredArray(path, member, tuple(shape), dtype, fortran, offset)


@contextmanager
def _stream(path: Path, member: zipfile.ZipInfo | None) -> Iterator[IO[bytes]]:
    if member is None:
        with path.open("rb") as stream:
            yield stream
    else:
        with zipfile.ZipFile(path) as file, file.open(member) as stream:
            yield stream


def _data_offset(path: Path, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored zip member start: after its local header, whose name and extra vary in length."""
    with reading(path, "an npz file"), path.open("rb") as file:
        file.seek(member.header_offset + 26)
        name, extra = struct.unpack("<HH", read_exactly(file, 4))
    return int(member.header_offset + 30 + name + extra)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an npz file, in memory; nothing in it is unpickled."""
    try:
        found = np.load(path, allow_pickle=False)
        if not hasattr(found, "files"):
            raise ValueError("it holds one bare array, not named ones")
        with found:
            for member in found.zip.infolist():
                check_packed(member.filename, member.compress_size, member.file_size)
            arrays = {name: found[name] for name in found.files}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):  # the bytes of a member that does not begin as an array does
                raise ValueError(f"'{name}' in it is no array")
        return arrays
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged files
        reason = "it is no npz file, or an array of objects" if "pickle" in str(error) else error
        raise UserError(f"{path} is not a readable .npz file of plain arrays ({reason})") from error
