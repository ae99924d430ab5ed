"""MNIST handwritten digits (LeCun et al., 1998) from the four idx files, gz or raw: 60,000 and 10,000 test rows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.formats import read_idx
from unbraid.data.io.image_files import resized
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows
from unbraid.errors import UserError

STEMS = {"train": "train", "test": "t10k"}


class MNIST(ClassTable):
    """One grey channel; the factor is the digit. The training rows have the test rows as their `test`.

    Args:
        path: folder with the files; empty: the folder mnist in the data root
        split: train or test
        size: height and width in pixels; the files have 28
    """

    name = "mnist"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("digit", 10),)
    label = "digit"
    shared = ("digit",)
    counts = (("train", 60_000), ("test", 10_000))

    def __init__(self, *, path: FilePath = "", split: Literal["train", "test"] = "train", size: Size = 28) -> None:
        count = dict(self.counts)[split]
        folder = source_of(self.name, path)
        pixels = read_idx(_file(folder, split, "images", 3), (count, 28, 28)).astype(np.uint8, copy=False)[:, None]
        labels = _file(folder, split, "labels", 1)
        self.labels = read_idx(labels, (count,)).astype(np.int64)
        if self.labels.max(initial=0) > 9:
            raise UserError(f"{labels} has the label {self.labels.max()}, which is not a digit")
        self.shape = (1, size, size)
        self._read = resized(lambda rows: pixels[rows], count, (1, 28, 28), size)
        if split == "train":
            self.test = type(self)(path=path, split="test", size=size)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)


def _file(folder: Path, split: str, what: str, ndim: int) -> Path:
    """Names differ: gunzip keeps the dash, or restores the dot of the name that is stored in the gz file."""
    names = (f"{STEMS[split]}-{what}{mark}idx{ndim}-ubyte{end}" for end in (".gz", "") for mark in ("-", "."))
    return first_existing(folder, tuple(names), "mnist")
