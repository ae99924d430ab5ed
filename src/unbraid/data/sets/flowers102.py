"""Oxford Flowers 102 (Nilsback and Zisserman, 2008): 8,189 photographs of 102 kinds of flowers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.formats import read_mat
from unbraid.data.io.image_files import ImageCache, decode
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows
from unbraid.errors import UserError

SPLITS = {"all": "", "train": "trnid", "valid": "valid", "test": "tstid"}


class Flowers102(ClassTable):
    """The original split: train and valid have 10 images of each kind, test the other 6,149; many papers swap them.

    Args:
        path: folder with imagelabels.mat, setid.mat and the folder jpg; empty: the folder flowers102 in the data root
        split: all, train, valid or test; train has the rows of test as its test rows
        size: height and width in pixels; photographs are cropped to a centred square and resized
    """

    name = "flowers102"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("class", 102),)
    label = "class"
    shared = ("class",)
    counts = (("trnid", 1_020), ("valid", 1_020), ("tstid", 6_149))

    def __init__(
        self, *, path: FilePath = "", split: Literal["all", "train", "valid", "test"] = "train", size: Size = 64
    ) -> None:
        folder, key = source_of(self.name, path), SPLITS[split]
        total = sum(count for _, count in self.counts)
        labels = read_labels(first_existing(folder, ("imagelabels.mat",), self.name), total)
        sets = read_sets(first_existing(folder, ("setid.mat",), self.name), dict(self.counts))
        rows = sets[key] if key else np.arange(total)
        self.labels, self.shape = labels[rows], (3, size, size)
        files = [first_existing(folder, (f"jpg/image_{row + 1:05d}.jpg",), self.name) for row in rows]

        def read(row: int) -> Bytes:
            with files[row].open("rb") as stream:
                return decode(stream, str(files[row]), size=size, color="rgb")

        self._read = ImageCache(read, len(files), self.shape)
        if split == "train":
            self.test = type(self)(path=path, split="test", size=size)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)


def read_labels(path: Path, count: int) -> NDArray[np.int64]:
    """The class of each image from 0, [count]; the file counts from 1."""
    labels: NDArray[np.int64] = read_mat(path, "labels", (1, count))[0].astype(np.int64)
    if labels.min() < 1 or labels.max() > 102:
        raise UserError(f"{path} has labels from {labels.min()} to {labels.max()} instead of 1 to 102")
    labels -= 1
    return labels


def read_sets(path: Path, counts: dict[str, int]) -> dict[str, Rows]:
    """The rows of each part, from 0; the file counts images from 1."""
    sets = {key: read_mat(path, key, (1, count))[0].astype(np.int64) - 1 for key, count in counts.items()}
    if not np.array_equal(np.sort(np.concatenate(list(sets.values()))), np.arange(sum(counts.values()))):
        raise UserError(f"{path} does not put every image into exactly one part")
    return sets
