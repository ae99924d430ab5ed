"""3D Shapes (Burgess and Kim, 2018) from the original HDF5 file: 480,000 images of 64 x 64 in colour."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.io.array_files import H5Rows, cached_rows
from unbraid.data.io.image_files import resized
from unbraid.data.io.paths import single_file
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

FILE = "3dshapes.h5"


class Shapes3DH5(Grid):
    """Rows are read from the file on demand.

    Args:
        path: the h5 file, or its folder; empty: the folder shapes3d_h5 in the data root
        size: height and width in pixels; the file has 64
        copy: unpack the file once into the cache folder (5.9 GB), from where rows are read many times faster
    """

    name = "shapes3d_h5"
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

    def __init__(self, *, path: FilePath = "", size: Size = 64, copy: bool = False) -> None:
        file = single_file(self.name, path, FILE)
        count = len(self)
        pictures = H5Rows(file, "images", (count, 64, 64, 3), "uint8")
        labels = H5Rows(file, "labels", (count, len(self.factors)), "float64")
        check_order(file, np.concatenate(list(labels.parts(count))), self.sizes)
        stored = cached_rows(self.name, [file], (count, 64, 64, 3), lambda: pictures.parts(480)) if copy else pictures
        self.shape = (3, size, size)
        self._read = resized(lambda rows: stored(rows).transpose(0, 3, 1, 2), count, (3, 64, 64), size)

    def render(self, values: Values) -> Bytes:
        return self._read(np.ravel_multi_index(tuple(values.T), self.sizes))


def check_order(file: Path, labels: NDArray[np.float64], sizes: tuple[int, ...]) -> None:
    """Refuses labels [n, k] that do not count through the factors, whatever the values of their levels."""
    grid = labels.reshape(*sizes, len(sizes))
    for factor in range(len(sizes)):
        along = np.moveaxis(grid[..., factor], factor, 0).reshape(sizes[factor], -1)  # [levels, rest]
        if not (np.allclose(along, along[:, :1], rtol=0, atol=1e-6) and (np.diff(along[:, 0]) > 1e-6).all()):
            raise UserError(f"'labels' in {file} does not count through the factors {sizes} in their order")
