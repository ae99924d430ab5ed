"""A small world for tests: a square that moves, on a 12x12 image; it gives every batch kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.table import Bytes, Factor, Grid, Rows, Table, Values


class Squares(Grid):
    """Position, size and brightness of a square; the class is its size, the known nuisance its brightness."""

    name = "squares"
    factors = (Factor("x", 8), Factor("y", 8), Factor("side", 3), Factor("light", 4))
    gives = ("Images", "Labelled", "Pairs", "Transitions", "Views", "TargetBackground")
    label = "side"
    nuisances = ("light",)
    shape = (1, 12, 12)

    def __init__(self, *, dim: bool = False) -> None:
        self.dim = dim
        if not dim:
            self.background = Squares(dim=True)

    def render(self, values: Values) -> Bytes:
        x, y, side, light = (column[:, None, None] for column in values.T)
        rows, columns = np.mgrid[:12, :12]
        inside = (columns >= x) & (columns <= x + side + 1) & (rows >= y) & (rows <= y + side + 1)
        bright = 20 + 5 * light if self.dim else 100 + 50 * light
        pictures: Bytes = (inside * bright).astype(np.uint8)[:, None]
        return pictures

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Another square of the same size."""
        values = rng.integers(0, self.sizes, (len(rows), 4))
        values[:, 2] = self.values(rows)[:, 2]
        return self.rows(values)


def batch_rows(table: Grid, n: int, seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, len(table), n)


class Vectors(Table):
    """Eight rows of features, all 0."""

    name = "vectors"

    def __init__(self, features: int) -> None:
        self.shape = (1, 1, features)

    def __len__(self) -> int:
        return 8

    def images(self, rows: Rows) -> Bytes:
        return np.zeros((len(rows), *self.shape), np.uint8)


class Elsewhere(torch.Tensor):
    """A tensor as on a device that has no float64."""

    def double(self, *_: Any) -> Any:
        raise TypeError("this device has no float64")

    def cpu(self, *_: Any) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return self.as_subclass(torch.Tensor)
