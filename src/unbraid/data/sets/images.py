"""A user's own images: a folder or zip of image files, with or without class folders, or an npy or npz array.

`train/` and `test/` at the top of a folder or zip are the training and test rows. If below that every file lies in a
folder, and there are several folders, these are the classes. An npz file has its images under `images` (or
as its only array) and, if there are classes, whole numbers from 0 under `labels`. Arrays are [n, h, w], [n, h, w, c] or
[n, c, h, w], bytes or floats in [0, 1].

Files are also the frames of films, one in each folder, in the order of their names (frame2 comes before frame10).
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.array_files import ReadRows, StoredArray, npy, npz
from unbraid.data.io.formats import Archive
from unbraid.data.io.image_files import Color, ImageCache, Reader, decode, header, resized
from unbraid.data.table import Bytes, Factor, Rows, Values
from unbraid.errors import UserError

CHANNELS = {"as_is": 0, "grey": 1, "rgb": 3}  # 0: as many as there are


class Images(ClassTable):
    """Files are decoded on demand and kept in memory up to 1 GB; each header is checked at the start.

    Args:
        path: folder, zip file, npy file or npz file with the images
        size: height and width in pixels; images are cropped to a centred square and resized
        color: as_is (refuses grey images among colour ones), or convert all to grey or rgb
    """

    name = "images"
    of_files = True
    gives = ("Images", "Labelled", "Transitions", "Views")  # at most; an instance knows what its files give
    _read: Reader

    def __init__(self, *, path: FilePath, size: Size = 64, color: Literal["as_is", "grey", "rgb"] = "as_is") -> None:
        place = Path(path).expanduser()
        if place.suffix.lower() in (".npy", ".npz"):
            self._from_array(place, size, color)
        else:
            self._from_files(Archive(place), size, color)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)

    def values(self, rows: Rows) -> Values:
        return super().values(rows) if self.factors else np.zeros((len(rows), 0), np.int64)

    def follow(self, rows: Rows, rate: float, rng: np.random.Generator) -> Rows:
        """The next frame of the folder; of the last frame, the one before it."""
        return self._next[rows]

    @cached_property
    def _next(self) -> Rows:
        films: dict[PurePosixPath, list[int]] = {}
        for row in sorted(range(len(self.files)), key=lambda row: _natural(self.files[row])):
            films.setdefault(PurePosixPath(self.files[row]).parent, []).append(row)
        following = np.empty(len(self.files), np.int64)
        for frames in films.values():
            if len(frames) < 2:
                raise UserError(f"{self.files[frames[0]]} is alone in its folder: a film needs two frames or more")
            following[frames] = [*frames[1:], frames[-2]]
        return following

    def _from_files(self, archive: Archive, size: int, color: Color) -> None:
        parts = _parts(archive)
        names = [name for part in parts.values() for name in part]
        channels = _channels(archive, names, color)
        folders = sorted({folder for part in parts.values() for folder in part.values()})
        labelled = len(folders) > 1 and all(folders)
        for part, files in parts.items():
            table = self if part != "test" else _part(self)
            table.shape, table.files = (channels, size, size), tuple(files)
            table._read = _reader(archive, list(files), table.shape, color)
            table._classes([folders.index(folder) for folder in files.values()], tuple(folders) if labelled else ())
            if table is not self:
                self.test = table

    def _from_array(self, path: Path, size: int, color: Color) -> None:
        pictures, labels = _arrays(path)
        (count, present, height, width), axes = _layout(pictures)
        stored = pictures.rows(self.name)
        _check_range(pictures, stored)
        channels = CHANNELS[color] or present
        if channels < present:
            raise UserError(f"{pictures.where} is in colour: convert it to grey first, or leave color at as_is")

        def read(rows: Rows) -> Bytes:
            pixels = stored(rows).reshape(len(rows), *pictures.shape[1:3], -1).transpose(axes)
            return _to_bytes(pixels).repeat(channels // present, 1)

        self.shape = (channels, size, size)
        self._read = resized(read, count, (channels, height, width), size)
        self._classes(_labels(labels, count), ())

    def _classes(self, labels: Any, names: tuple[str, ...]) -> None:
        self.labels = np.asarray(labels, np.int64)
        count = len(names) or int(self.labels.max(initial=0)) + 1
        self.class_names = names or tuple(str(i) for i in range(count))
        self.gives = ("Images", *(("Transitions",) if self.files else ()))
        if count > 1:
            self.factors, self.label, self.shared = (Factor("class", count),), "class", ("class",)
            self.gives += ("Labelled", "Views")  # type: ignore[assignment]


def _natural(name: str) -> list[tuple[int, str]]:
    """The text and the numbers of a name, so that 2 comes before 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]


def _part(whole: Images) -> Images:
    """An empty table with the same configuration, for the test rows."""
    table = object.__new__(Images)
    table.arguments = whole.arguments
    return table


def _parts(archive: Archive) -> dict[str, dict[str, str]]:
    """The files of each part ('train' and 'test', or only '') with the folder that each lies in."""
    if not archive.names:
        raise UserError(f"{archive.path} contains no images")
    folders = {name: PurePosixPath(name).parts[:-1] for name in archive.names}
    while len(top := {folder[0] if folder else "" for folder in folders.values()}) == 1 and top != {""}:
        folders = {name: folder[1:] for name, folder in folders.items()}
    if top != {"train", "test"}:
        return {"": {name: "/".join(folder) for name, folder in folders.items()}}
    return {
        part: {name: "/".join(folder[1:]) for name, folder in folders.items() if folder[0] == part}
        for part in ("train", "test")
    }


def _channels(archive: Archive, names: list[str], color: str) -> int:
    """1 or 3, after reading each header."""
    kinds = {}
    for name in names:
        with archive.open(name) as stream:
            kinds[name] = header(stream, archive.where(name))
    if color != "as_is":
        return CHANNELS[color]
    grey = [name for name in names if kinds[name] == "grey"]
    if 0 < len(grey) < len(names):
        colored = next(name for name in names if kinds[name] == "rgb")
        few, rest = (grey[0], "colour") if len(grey) <= len(names) / 2 else (colored, "grey")
        kind = "grey" if rest == "colour" else "in colour"
        raise UserError(f"{archive.where(few)} is {kind} among {rest} images: set color to rgb or grey to convert all")
    return 1 if grey else 3


def _reader(archive: Archive, names: list[str], shape: tuple[int, int, int], color: Color) -> Reader:
    def read(row: int) -> Bytes:
        with archive.open(names[row]) as stream:
            return decode(stream, archive.where(names[row]), size=shape[1], color=color)

    return ImageCache(read, len(names), shape)


def _arrays(path: Path) -> tuple[StoredArray, StoredArray | None]:
    if path.suffix.lower() == ".npy":
        return npy(path), None
    found = npz(path)
    labels = found.pop("labels", None)
    if "images" not in found and len(found) != 1:
        raise UserError(f"{path} has the arrays {', '.join(found) or 'none'}: call the one with the images 'images'")
    return found.get("images") or next(iter(found.values())), labels


def _layout(stored: StoredArray) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Number, channels, height and width, and the order in which the stored axes (four at least) give these."""
    shape = (*stored.shape, 1) if len(stored.shape) == 3 else stored.shape
    if stored.dtype.kind not in "fb" and stored.dtype != np.uint8:
        raise UserError(f"{stored.where} holds {stored.dtype.name}: save bytes (uint8), or floats in [0, 1]")
    axes = (0, 3, 1, 2) if shape[3:] in ((1,), (3,)) else (0, 1, 2, 3)
    if len(stored.shape) == 2:
        raise UserError(
            f"{stored.where} has shape {stored.shape}, a table of features: images are [n, h, w], [n, h, w, c] or "
            "[n, c, h, w], and the data set for features is table"
        )
    if len(shape) != 4 or shape[axes[1]] not in (1, 3) or 0 in shape:
        raise UserError(f"{stored.where} has shape {stored.shape} instead of [n, h, w], [n, h, w, c] or [n, c, h, w]")
    n, c, h, w = (shape[axis] for axis in axes)
    return (n, c, h, w), axes


def _check_range(stored: StoredArray, read: ReadRows) -> None:
    if stored.dtype.kind != "f":
        return
    count, size = stored.shape[0], int(np.prod(stored.shape[1:]))
    for start in range(0, count, step := max(1, (1 << 24) // size)):
        piece = read(np.arange(start, min(start + step, count))).reshape(-1, size)
        if not (piece.min() >= 0 and piece.max() <= 1):  # also true of NaN
            missing = np.isnan(piece).any(1)
            wrong = missing if missing.any() else ~((piece >= 0) & (piece <= 1)).all(1)
            what, how = (
                ("NaN", "replace it") if missing.any() else ("floats outside [0, 1]", "scale them, or save bytes")
            )
            raise UserError(f"{stored.where} has {what}, first in image {start + int(np.argmax(wrong))}: {how}")


def _to_bytes(pixels: NDArray[Any]) -> Bytes:
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels)
    return np.rint(np.asarray(pixels, np.float32) * 255).astype(np.uint8)


def _labels(stored: StoredArray | None, count: int) -> NDArray[np.int64]:
    if stored is None:
        return np.zeros(count, np.int64)
    if stored.shape != (count,) or stored.dtype.kind not in "iu":
        raise UserError(f"{stored.where} is {stored.dtype.name} {stored.shape} instead of whole numbers ({count},)")
    labels = stored.load().astype(np.int64)
    if labels.min() < 0 or labels.max() >= count:
        raise UserError(f"{stored.where} has values from {labels.min()} to {labels.max()}: number the classes from 0")
    return labels
