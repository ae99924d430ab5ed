"""A small world that gives every batch kind, with as few rows as one."""

from __future__ import annotations

import numpy as np

from unbraid.data.table import Bytes, Factor, Grid, Rows, Values


class Dots(Grid):
    """A dot at one of some places, of some brightness, in an 8x8 image (beyond 8 places from the start again).

    The class is its place from left to right.

    Args:
        x: places from left to right
        y: places from top to bottom
        light: degrees of brightness
        flat: all images are empty
        dim: as the background is
    """

    name = "dots"
    gives = ("Images", "Labelled", "Pairs", "Transitions", "Views", "TargetBackground")
    label = "x"
    nuisances = ("light",)
    shape = (1, 8, 8)

    def __init__(self, *, x: int = 3, y: int = 2, light: int = 2, flat: bool = False, dim: bool = False) -> None:
        self.factors = (Factor("x", x), Factor("y", y), Factor("light", light))
        self.flat, self.dim = flat, dim
        if not dim:
            self.background = Dots(x=x, y=y, light=light, flat=flat, dim=True)

    def render(self, values: Values) -> Bytes:
        pictures = np.zeros((len(values), *self.shape), np.uint8)
        if not self.flat:
            x, y, light = values.T
            pictures[np.arange(len(values)), 0, y % 8, x % 8] = (60 if self.dim else 120) + 60 * light
        return pictures

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Another dot at the same place."""
        values = rng.integers(0, self.sizes, (len(rows), 3))
        values[:, 0] = self.values(rows)[:, 0]
        return self.rows(values)
