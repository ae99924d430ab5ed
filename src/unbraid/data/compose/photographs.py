"""Natural backgrounds with ten classes for the composed sets: STL-10 or CIFAR-10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.data.class_table import ClassTable
from unbraid.data.io.paths import data_root, source_of
from unbraid.data.sets.cifar10 import CIFAR10, PICTURES
from unbraid.data.sets.stl10 import STL10
from unbraid.data.table import Bytes, Rows, Table
from unbraid.errors import UserError

GREY = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601


@dataclass(frozen=True)
class Backgrounds:
    """All labelled images of a set: the training rows, then the test rows."""

    train: ClassTable
    test: ClassTable
    size: int

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.concatenate([self.train.labels, self.test.labels])

    def images(self, rows: Rows) -> Bytes:
        """Images [n, 3, size, size]; of STL-10 the 64 x 64 in the middle, averaged if fewer pixels are wanted."""
        out = np.empty((len(rows), *self.train.shape), np.uint8)
        first = rows < len(self.train)
        out[first] = self.train.images(rows[first])
        out[~first] = self.test.images(rows[~first] - len(self.train))
        if out.shape[-1] == self.size:
            return out
        middle, side = out[:, :, 16:80, 16:80], 64 // self.size
        average = middle.reshape(len(rows), 3, self.size, side, self.size, side).mean((3, 5), dtype=np.float32)
        pixels: Bytes = np.rint(average).astype(np.uint8)
        return pixels


class GreyPhotographs(Table):
    """Some photographs of CIFAR-10 in grey."""

    name = "photographs"

    def __init__(self, whole: CIFAR10, chosen: Rows) -> None:
        self.whole, self.chosen = whole, chosen
        self.shape = (1, *whole.shape[1:])

    def __len__(self) -> int:
        return len(self.chosen)

    def images(self, rows: Rows) -> Bytes:
        grey = np.einsum("nchw,c->nhw", self.whole.images(self.chosen[rows]).astype(np.float32), GREY)
        pixels: Bytes = np.rint(grey)[:, None].astype(np.uint8)
        return pixels


def load(name: str, size: int) -> Backgrounds:
    """The images of 'stl10' or 'cifar10' at 64 x 64 or 32 x 32."""
    if not source_of(name, "").exists() and not (name == "cifar10" and (data_root() / PICTURES).exists()):
        other = "cifar10" if name == "stl10" else "stl10"
        raise UserError(
            f"{source_of(name, '')} does not exist: run `unbraid data fetch {name}`, or put the files of {name} there, "
            f"or set backgrounds to {other}"
        )
    table = STL10(size=96) if name == "stl10" else CIFAR10(size=size)
    assert isinstance(table.test, ClassTable)
    return Backgrounds(table, table.test, size)
