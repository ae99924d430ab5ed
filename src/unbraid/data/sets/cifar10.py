"""CIFAR-10 (Krizhevsky, 2009): 32 x 32 in colour, ten classes; the binary files, or a folder or zip of images."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.formats import Archive, read_raw
from unbraid.data.io.image_files import ImageCache, Reader, decode, resized
from unbraid.data.io.paths import data_root, first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows
from unbraid.errors import UserError

FOLDER = "cifar-10-batches-bin"
PICTURES = "cifar10-images.zip"
FILES = {"train": tuple(f"data_batch_{i}.bin" for i in range(1, 6)), "test": ("test_batch.bin",)}
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


class CIFAR10(ClassTable):
    """50,000 rows, with 10,000 others as `test`.

    Images in a folder or zip are named train/<class>/<any name> and test/<class>/<any name>, 5,000 and 1,000 per class.

    Args:
        path: folder of data_batch_1.bin etc. or of images, or a zip; empty: cifar10 or cifar10-images.zip in the root
        split: train or test
        size: height and width in pixels; the files have 32
    """

    name = "cifar10"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("class", 10),)
    label = "class"
    shared = ("class",)
    class_names = CLASSES
    per_file = 10_000
    per_class = (("train", 5_000), ("test", 1_000))

    def __init__(self, *, path: FilePath = "", split: Literal["train", "test"] = "train", size: Size = 32) -> None:
        per_class = dict(self.per_class)[split]
        folder = source_of(self.name, path)
        where = find(
            folder if path or folder.exists() else first_existing(data_root(), (self.name, PICTURES), self.name)
        )
        if (where / FILES["train"][0]).exists():
            read, self.labels = read_batches([where / name for name in FILES[split]], self.per_file)
        else:
            read, self.labels = read_files(Archive(where), split, per_class)
        self.shape = (3, size, size)
        self._read = resized(read, len(self.labels), (3, 32, 32), size)
        if split == "train":
            self.test = type(self)(path=path, split="test", size=size)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)


def find(folder: Path) -> Path:
    """The folder of binary files, or the folder or zip of images."""
    if not folder.is_dir() or (folder / FILES["train"][0]).exists() or (folder / "train").is_dir():
        if folder.exists():
            return folder
        first_existing(folder.parent, (folder.name,), "cifar10")
    return first_existing(folder, (FOLDER, PICTURES), "cifar10")


def read_batches(paths: list[Path], per_file: int) -> tuple[Reader, NDArray[np.int64]]:
    """Records of a label and 32 x 32 bytes of red, of green and of blue."""
    batches = [read_raw(path, per_file, (3073,)) for path in paths]
    labels = [batch(np.arange(per_file))[:, 0].astype(np.int64) for batch in batches]
    for path, found in zip(paths, labels, strict=True):
        if found.max() > 9:
            raise UserError(f"{path} has the label {found.max()} in record {found.argmax()} instead of 0 to 9")

    def read(rows: Rows) -> Bytes:
        out = np.empty((len(rows), 3, 32, 32), np.uint8)
        for number, batch in enumerate(batches):
            here = rows // per_file == number
            out[here] = batch(rows[here] % per_file)[:, 1:].reshape(-1, 3, 32, 32)
        return out

    return read, np.concatenate(labels)


def read_files(archive: Archive, split: str, per_class: int) -> tuple[Reader, NDArray[np.int64]]:
    """Files named <split>/<class>/<any name>, below any number of common folders."""
    names = [name for name in archive.names if name.split("/")[-3:-2] == [split]]
    classes = [name.split("/")[-2] for name in names]
    counts = Counter(classes)
    for known in sorted({*CLASSES, *counts}):
        expected = per_class if known in CLASSES else 0
        if counts[known] != expected:
            raise UserError(f"{archive.path} has {counts[known]:,} files in {split}/{known} instead of {expected:,}")

    def read(row: int) -> Bytes:
        with archive.open(names[row]) as stream:
            return decode(stream, archive.where(names[row]), size=32, color="rgb")

    return ImageCache(read, len(names), (3, 32, 32)), np.array([CLASSES.index(name) for name in classes], np.int64)
