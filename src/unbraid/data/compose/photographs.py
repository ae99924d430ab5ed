"""Natural backgrounds with ten classes for the composed sets: STL-10, or CIFAR-10 in its place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unbraid.data.classed import Classed
from unbraid.data.io.paths import data_root, place
from unbraid.data.sets.cifar10 import CIFAR10, PICTURES
from unbraid.data.sets.stl10 import STL10
from unbraid.data.table import Bytes, Rows
from unbraid.errors import UserError, unknown

SETS: dict[str, type[STL10] | type[CIFAR10]] = {"stl10": STL10, "cifar10": CIFAR10}


@dataclass(frozen=True)
class Backgrounds:
    """All labelled pictures of a set: the training rows, then the test rows."""

    train: Classed
    test: Classed
    size: int

    @property
    def labels(self) -> NDArray[np.int64]:
        return np.concatenate([self.train.labels, self.test.labels])

    def images(self, rows: Rows) -> Bytes:
        """Pictures [n, 3, size, size]; of STL-10 the 64 x 64 in the middle, averaged where fewer pixels are wanted."""
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


def load(name: str, size: int) -> Backgrounds:
    """The pictures of 'stl10' or 'cifar10' at 64 x 64 or 32 x 32."""
    if name not in SETS:
        raise unknown("set of backgrounds", name, SETS)
    if not place(name, "").exists() and not (name == "cifar10" and (data_root() / PICTURES).exists()):
        other = "cifar10" if name == "stl10" else "stl10"
        raise UserError(
            f"{place(name, '')} does not exist: run `unbraid data fetch {name}`, or put the files of {name} there, "
            f"or take the backgrounds of {other}"
        )
    table = STL10(size=96) if name == "stl10" else CIFAR10(size=size)
    assert isinstance(table.test, Classed)
    return Backgrounds(table, table.test, size)
