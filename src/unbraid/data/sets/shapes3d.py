"""3D Shapes, rendered: hues of floor, wall and object (10 each), 8 scales, 4 shapes, 15 orientations; in colour.

The original (Burgess and Kim, 2018) is a 5.9 GB array. Its 480,000 pictures show 480 geometries in a thousand
colourings: here the geometries are traced once and kept on disk, and a picture is a small matrix product.
"""

from __future__ import annotations

import colorsys
import hashlib
import os
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count
from unbraid.data.compose import room as scene
from unbraid.data.io.paths import data_root
from unbraid.data.split import correlate, hold_out, narrow
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

HUES = 255 * np.array([colorsys.hsv_to_rgb(hue / 10, 1, 1) for hue in range(10)], np.float32)  # [10, 3]
SKY = np.array([153, 226, 249], np.float32)


class Shapes3D(Grid):
    """An object in the middle of a room, seen from one of fifteen sides.

    Args:
        size: height and width of the pictures in pixels
        correlated: sigma of p(floor, wall) ~ exp(-(floor - wall)^2 / 2 sigma^2), hues in [0, 1]; 0 for the whole grid
        train_rows: number of rows to train on where the hues are correlated
        test_rows: number of rows held out before that, with independent factors
        draw: seed of the rows that are drawn
        new_colours: train on the first five object hues, test on the other five; pairs share the shape
    """

    name = "shapes3d"
    gives = ("Images", "Labelled", "Pairs")
    factors = (
        Factor("floor_hue", 10),
        Factor("wall_hue", 10),
        Factor("object_hue", 10),
        Factor("scale", 8),
        Factor("shape", 4),
        Factor("orientation", 15),
    )
    label = "shape"
    nuisances = ("object_hue",)
    groups = ("object_hue",)

    def __init__(
        self,
        *,
        size: int = 64,
        correlated: float = 0.0,
        train_rows: int = 100_000,
        test_rows: int = 50_000,
        draw: Count = 0,
        new_colours: bool = False,
    ) -> None:
        if size < 8:
            raise UserError(f"size is {size}: the room needs pictures of at least 8 x 8 pixels")
        if new_colours and correlated:
            raise UserError("new_colours and correlated are two ways to split 3D Shapes: choose one")
        self.shape = (3, size, size)
        if new_colours:
            self.fixed = ("shape",)
            narrow(self, hold_out(self, where={"object_hue": range(5, 10)}))
        elif correlated:
            rest = hold_out(self, count=test_rows, seed=draw)
            narrow(self, correlate(rest, ("floor_hue", "wall_hue"), correlated, count=train_rows, seed=draw))

    def render(self, values: Values) -> Bytes:
        colours = np.empty((len(values), 3, 5), np.float32)
        for part in (scene.FLOOR_MAP, scene.WALL_MAP, scene.BODY_MAP):
            colours[:, :, part] = HUES[values[:, part]]
        colours[:, :, scene.SKY_MAP], colours[:, :, scene.WHITE_MAP] = SKY, 255
        geometry = np.ravel_multi_index((values[:, 3], values[:, 4], values[:, 5]), (8, 4, 15))
        pictures: NDArray[np.float32] = colours @ geometries(self.shape[1])[geometry]  # [n, 3, pixels]
        return np.minimum(pictures, 255, out=pictures).astype(np.uint8).reshape(-1, *self.shape)


@cache
def geometries(size: int) -> NDArray[np.float32]:
    """The maps of all geometries, [480, 5, pixels]; half a grey value is added to white, so that cutting off rounds."""
    code = hashlib.sha256(Path(scene.__file__).read_bytes()).hexdigest()[:12]
    path = data_root() / "rendered" / f"shapes3d-{size}-{code}.npz"
    maps = _kept(path, (8, 4, 15, 5, size, size))
    if maps is None:
        print(f"rendering the 480 geometries of 3D Shapes at {size} x {size}, once", file=sys.stderr)
        maps = scene.geometries(size)
        _keep(path, maps)
    maps = maps.reshape(480, 5, -1)
    maps[:, scene.WHITE_MAP] += 0.5 / 255
    return maps


def _kept(path: Path, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """What an earlier run has left, if it is whole: the zip's checksum tells."""
    try:
        with path.open("rb") as file:
            maps: NDArray[np.float32] = np.load(file, allow_pickle=False)["maps"]
    except Exception:  # whatever is wrong with the file, it is made anew
        return None
    return maps if maps.shape == shape and maps.dtype == np.float32 else None


def _keep(path: Path, maps: NDArray[np.float32]) -> None:
    """Written beside its place and moved there; where nothing can be written the maps live in memory only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, maps=maps)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(f"the geometries of 3D Shapes cannot be kept in {path.parent}: {error}", stacklevel=2)
