"""STL-10 (Coates et al., 2011) from its binary files: 96 x 96 in colour, ten classes, and 100,000 without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.formats import read_raw
from unbraid.data.io.image_files import resized
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows, Values
from unbraid.errors import UserError

FOLDER = "stl10_binary"


class STL10(ClassTable):
    """Read in place, row by row. The training rows have the test rows as their `test`.

    Args:
        path: folder with train_X.bin and the other files, or its parent; empty: the folder stl10 in the data root
        split: train, test or unlabeled
        size: height and width in pixels; the files have 96
    """

    name = "stl10"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("class", 10),)
    label = "class"
    shared = ("class",)
    class_names = ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck")
    counts = (("train", 5_000), ("test", 8_000), ("unlabeled", 100_000))

    def __init__(
        self, *, path: FilePath = "", split: Literal["train", "test", "unlabeled"] = "train", size: Size = 96
    ) -> None:
        count = dict(self.counts)[split]
        folder = source_of(self.name, path)
        folder = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        stored = read_raw(first_existing(folder, (f"{split}_X.bin",), self.name), count, (3, 96, 96))
        self.shape = (3, size, size)
        self._read = resized(lambda rows: by_row(stored(rows)), count, (3, 96, 96), size)
        if split == "unlabeled":
            self.labels = np.zeros(count, np.int64)
            self.factors, self.label, self.shared, self.gives = (), None, (), ("Images",)  # type: ignore[assignment]
        else:
            self.labels = read_labels(first_existing(folder, (f"{split}_y.bin",), self.name), count)
        if split == "train":
            self.test = type(self)(path=path, split="test", size=size)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)

    def values(self, rows: Rows) -> Values:
        return super().values(rows) if self.factors else np.zeros((len(rows), 0), np.int64)


def by_row(pictures: Bytes) -> Bytes:
    """Images [n, 3, 96, 96] of which each channel is stored column by column."""
    return pictures.transpose(0, 1, 3, 2)


def read_labels(path: Path, count: int) -> NDArray[np.int64]:
    """The classes [count], from 0; the file counts from 1."""
    stored: NDArray[np.int64] = read_raw(path, 1, (count,))(np.array([0]))[0].astype(np.int64)
    if stored.min() < 1 or stored.max() > 10:
        raise UserError(f"{path} has labels from {stored.min()} to {stored.max()} instead of 1 to 10")
    return stored - 1
