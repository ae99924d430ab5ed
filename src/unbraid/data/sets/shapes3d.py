"""3D Shapes, rendered: hues of floor, wall and object (10 each), 8 scales, 4 shapes, 15 orientations; in colour.

The original (Burgess and Kim, 2018) is a 5.9 GB array. Its 480,000 images show 480 geometries in a thousand
colourings: here the geometries are traced once and cached on disk, and an image is a small matrix product.
"""

from __future__ import annotations

import hashlib
import math
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from unbraid import machine
from unbraid.config import AtLeast, Count, Size, Weight
from unbraid.data.compose import room
from unbraid.data.compose.palette import HUES
from unbraid.data.io.array_cache import cached_array
from unbraid.data.split import correlate, hold_out, restrict
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

SKY = np.array([153, 226, 249], np.float32)


class Shapes3D(Grid):
    """An object in the middle of a room, seen from one of fifteen sides.

    Args:
        size: height and width of the images in pixels
        correlated: sigma of p(floor, wall) ~ exp(-(floor - wall)^2 / 2 sigma^2), hues in [0, 1]; 0: the whole grid
        train_rows: number of training rows if the hues are correlated
        test_rows: number of test rows, held out before that, with independent factors
        draw: seed of the rows that are drawn
        new_colours: train on the first five object hues, test on the other five; pairs share the shape
    """

    name = "shapes3d"
    gives = ("Images", "Labelled", "Pairs", "Transitions")
    factors = (
        Factor("floor_hue", 10),
        Factor("wall_hue", 10),
        Factor("object_hue", 10),
        Factor("scale", 8),
        Factor("shape", 4, ordered=False),
        Factor("orientation", 15),
    )
    label = "shape"
    nuisances = ("object_hue",)
    groups = ("object_hue",)

    def __init__(
        self,
        *,
        size: Annotated[int, AtLeast(8)] = 64,
        correlated: Weight = 0.0,
        train_rows: Size = 100_000,
        test_rows: Size = 50_000,
        draw: Count = 0,
        new_colours: bool = False,
    ) -> None:
        if new_colours and correlated:
            raise UserError("new_colours and correlated are two ways to split 3D Shapes: choose one")
        self.shape = (3, size, size)
        if new_colours:
            self.fixed = ("shape",)
            restrict(self, hold_out(self, where={"object_hue": range(5, 10)}))
        elif correlated:
            rest = hold_out(self, count=test_rows, seed=draw)
            restrict(self, correlate(rest, ("floor_hue", "wall_hue"), correlated, count=train_rows, seed=draw))

    def render(self, values: Values) -> Bytes:
        colours = np.empty((len(values), 3, 5), np.float32)
        for part in (room.FLOOR_MAP, room.WALL_MAP, room.BODY_MAP):
            colours[:, :, part] = HUES[values[:, part]]
        colours[:, :, room.SKY_MAP], colours[:, :, room.WHITE_MAP] = SKY, 255
        geometry = np.ravel_multi_index((values[:, 3], values[:, 4], values[:, 5]), (8, 4, 15))
        pictures: NDArray[np.float32] = colours @ geometries(self.shape[1])[geometry]  # [n, 3, pixels]
        return np.minimum(pictures, 255, out=pictures).astype(np.uint8).reshape(-1, *self.shape)


@cache
def geometries(size: int) -> NDArray[np.float32]:
    """The maps of all geometries, [480, 5, pixels]; half a grey value is added to white, so that truncation rounds."""
    shape = (8, 4, 15, 5, size, size)
    what = f"the geometries of 3D Shapes at {size} x {size}"
    machine.require_memory(4 * math.prod(shape), what, "choose a smaller size")

    def trace() -> NDArray[np.float32]:
        print(f"rendering {what}, once", file=sys.stderr)
        return room.geometries(size)

    code = hashlib.sha256(Path(room.__file__).read_bytes()).hexdigest()[:12]
    maps = cached_array(f"shapes3d-{size}-{code}.npz", shape, trace).reshape(480, 5, -1)
    maps[:, room.WHITE_MAP] += 0.5 / 255
    return maps
