"""Reading files that may be missing, corrupt or malicious: each fault becomes one sentence that names the file."""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import UserError

LARGE, LARGEST_RATIO = 1 << 30, 500  # of files that are packed: more bytes than the first are suspect above the ratio
CHUNK = 1 << 20  # bytes read at a time, so that a header cannot make us allocate what the file does not hold
IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
NORB_TYPES = {0x1E3D4C51: "<f4", 0x1E3D4C53: "<f8", 0x1E3D4C54: "<i4", 0x1E3D4C55: "<u1", 0x1E3D4C56: "<i2"}
LARGEST_MEMBER = 1 << 28  # bytes; no image is larger
CLUTTER = ("Thumbs.db", "desktop.ini")  # left in folders by file browsers
NOTES = ("README", "LICENSE", "LICENCE")  # documentation, with any file extension


@contextmanager
def reading(path: Path | str, what: str) -> Iterator[None]:
    """Turns an error while reading a file into one sentence about that file."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist; expected {what}") from error
    except PermissionError as error:
        raise UserError(f"{path} cannot be read: permission denied; expected {what}") from error
    except UserError:
        raise
    except MemoryError as error:
        raise UserError(f"{path} needs more memory than there is: expected {what}") from error
    except Exception as error:  # libraries may raise anything on a corrupt file
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path} is corrupt: expected {what} ({reason})") from error


def check_packed(where: str, packed: int, unpacked: int) -> None:
    """Refuses a file that unpacks to far more than data do, before it fills memory or disk."""
    if unpacked > LARGE and unpacked > LARGEST_RATIO * packed:
        raise UserError(
            f"{where} would unpack {packed:,} bytes to {unpacked:,}: no data do that, do not trust this file"
        )


@contextmanager
def gunzipped(path: Path, what: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, gunzipped if it begins like a gz file, whatever its name."""
    with reading(path, what), path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.open(raw) as stream:
                yield stream  # type: ignore[misc]
        else:
            yield raw


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    """This many bytes, or an EOFError; never allocates much more than the stream holds."""
    parts, missing = [], size
    while missing and (part := stream.read(min(missing, CHUNK))):
        parts.append(part)
        missing -= len(part)
    if missing:
        raise EOFError(f"it ends after {size - missing:,} of {size:,} bytes")
    return b"".join(parts)


def read_idx(path: Path, shape: tuple[int, ...] | None = None, dtype: str = "u1") -> NDArray[Any]:
    """An array in the idx format of MNIST, big-endian, gz or raw, in the machine's byte order.

    Args:
        shape: refuse any other
        dtype: refuse any other
    """
    wanted = f"an idx file{f' of shape {shape}' if shape else ''}"
    with gunzipped(path, wanted) as stream:
        zero, kind, ndim = struct.unpack(">HBB", read_exactly(stream, 4))
        if zero or kind not in IDX_TYPES or not 1 <= ndim <= 8:
            raise UserError(f"{path} is not an idx file: it starts with {zero:04x} {kind:02x} {ndim:02x}")
        sizes = struct.unpack(f">{ndim}I", read_exactly(stream, 4 * ndim))
        return _body(path, stream, sizes, np.dtype(IDX_TYPES[kind]), shape, np.dtype(dtype))


def read_norb(path: Path, shape: tuple[int, ...] | None = None, dtype: str = "u1") -> NDArray[Any]:
    """A binary matrix of the NORB data (named .mat, but not MATLAB's), little-endian, gz or raw.

    Args:
        shape: refuse any other
        dtype: refuse any other
    """
    wanted = f"a NORB matrix{f' of shape {shape}' if shape else ''}"
    with gunzipped(path, wanted) as stream:
        magic, ndim = struct.unpack("<Ii", read_exactly(stream, 8))
        if magic not in NORB_TYPES or not 1 <= ndim <= 8:
            raise UserError(f"{path} is not a NORB matrix: it starts with magic {magic:08x} and {ndim} dimensions")
        stored = struct.unpack(f"<{max(ndim, 3)}i", read_exactly(stream, 4 * max(ndim, 3)))  # never fewer than three
        return _body(path, stream, stored[:ndim], np.dtype(NORB_TYPES[magic]), shape, np.dtype(dtype))


def _body(
    path: Path,
    stream: IO[bytes],
    sizes: tuple[int, ...],
    stored: np.dtype[Any],
    shape: tuple[int, ...] | None,
    dtype: np.dtype[Any],
) -> NDArray[Any]:
    if min(sizes) < 0 or (shape and sizes != shape):
        raise UserError(f"{path} has shape {sizes} instead of {shape or 'non-negative sizes'}")
    if stored.newbyteorder("=") != dtype:
        raise UserError(f"{path} holds {stored.name} instead of {dtype.name}")
    data = read_exactly(stream, math.prod(sizes) * stored.itemsize)
    if stream.read(1):
        raise UserError(f"{path} has extra bytes after the {len(data):,} that its header announces")
    return np.frombuffer(data, stored).astype(dtype, copy=False).reshape(sizes)


def read_raw(path: Path, count: int, record: tuple[int, ...]) -> RowsOnDisk:
    """Bytes without a header, [count, *record]."""
    size = count * math.prod(record)
    with reading(path, f"{size:,} bytes"):
        if path.stat().st_size != size:
            raise UserError(f"{path} has {path.stat().st_size:,} bytes instead of {size:,} ({count:,} records)")
    return RowsOnDisk(path, 0, (count, *record), np.dtype(np.uint8))


class RowsOnDisk:
    """Rows of an array in a file, read on demand.

    Unlike a memory map it takes no memory, and a file that is truncated meanwhile gives an error and not a crash.
    """

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._path, self._offset, self._shape, self._dtype = path, offset, shape, dtype
        self._row = math.prod(shape[1:]) * dtype.itemsize

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        out = np.empty((len(rows), self._row), np.uint8)
        with reading(self._path, f"an array of shape {self._shape}"), self._path.open("rb", buffering=0) as file:
            for row, place in zip(out, rows.tolist(), strict=True):
                file.seek(self._offset + place * self._row)
                if file.readinto(row.data) != self._row:
                    raise EOFError(f"it ends before the end of row {place:,}")
        return out.view(self._dtype).reshape(len(rows), *self._shape[1:])


class Archive:
    """The files below a folder or inside a zip, by relative name with forward slashes; nothing is extracted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        with reading(path, "a folder or a zip file"):
            if stat.S_ISDIR(path.stat().st_mode):
                found = _below(path)
            else:
                self._zip = zipfile.ZipFile(path)
                found = (self._inside(member) for member in self._zip.infolist() if not member.is_dir())
            self.names = sorted(name for name in found if not _ignored(name))

    def where(self, name: str) -> str:
        """A file's name for messages."""
        return f"{self.path / name}" if self._zip is None else f"{name} in {self.path}"

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        with reading(self.where(name), "an image"):
            if self._zip is None:
                if not stat.S_ISREG((self.path / name).stat().st_mode):
                    raise UserError(f"{self.where(name)} is not a regular file: remove it")
                with (self.path / name).open("rb") as stream:
                    yield stream
            else:
                yield io.BytesIO(self._zip.read(name))

    def _inside(self, member: zipfile.ZipInfo) -> str:
        parts = member.filename.replace("\\", "/").split("/")
        if not parts[0] or ":" in parts[0] or ".." in parts:
            raise UserError(f"{self.path} contains the unsafe path '{member.filename}': do not trust this zip file")
        if member.file_size > LARGEST_MEMBER:
            raise UserError(f"{member.filename} in {self.path} is too large for an image ({member.file_size:,} bytes)")
        return member.filename


def _below(folder: Path) -> Iterator[str]:
    for at, _, files in os.walk(folder, onerror=_refuse):
        prefix = Path(at).relative_to(folder).as_posix() + "/"
        yield from (f"{prefix.removeprefix('./')}{file}" for file in files)


def _refuse(error: OSError) -> None:
    raise error


def _ignored(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return hidden or parts[-1] in CLUTTER or parts[-1].split(".")[0].upper() in NOTES


def read_mat(path: Path, key: str, shape: tuple[int, ...], dtype: str = "") -> NDArray[Any]:
    """A numeric array of a MATLAB file, whose shape is checked before it is read.

    Args:
        shape: refuse any other
        dtype: refuse any other; empty: any numeric type
    """
    from scipy.io import loadmat, whosmat

    with reading(path, f"a MATLAB file with '{key}'"):
        size = path.stat().st_size
        try:
            found = {name: (sizes, kind) for name, sizes, kind in whosmat(path)} if size else {}
            array = loadmat(path, variable_names=[key])[key] if found.get(key, ((), ""))[0] == shape else None
        except PermissionError:
            raise
        except Exception as error:  # scipy may raise anything on a corrupt file
            raise UserError(f"{path} is corrupt: expected a MATLAB file with '{key}'") from error
    if array is None:
        has = ", ".join(f"'{name}' {sizes}" for name, (sizes, _) in found.items()) or "nothing"
        raise UserError(f"{path} has {has} instead of '{key}' {shape}")
    if array.dtype.kind not in "iufb" or (dtype and array.dtype != np.dtype(dtype)):
        raise UserError(f"'{key}' in {path} holds {array.dtype.name} instead of {dtype or 'numbers'}")
    return np.asarray(array)
