"""Cars3D (Reed et al., 2015) from its MATLAB files: 183 cars at 24 azimuths and 4 elevations, in colour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unbraid.config import FilePath, Size
from unbraid.data.io.array_files import cached_rows
from unbraid.data.io.formats import read_mat, reading
from unbraid.data.io.image_files import resize
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError
from unbraid.machine import require_memory

FOLDER = "data/cars"
LIST = "list.txt"


class Cars3D(Grid):
    """Cars are numbered as in list.txt, or by name if there is none; images are resized once, into the cache folder.

    Args:
        path: folder with car_001_mesh.mat and the others, or the one with data/cars; empty: cars3d in the data root
        size: height and width in pixels; the files have 128
    """

    name = "cars3d"
    gives = ("Images", "Pairs", "Transitions")
    factors = (Factor("elevation", 4), Factor("azimuth", 24), Factor("object", 183, ordered=False))

    def __init__(self, *, path: FilePath = "", size: Size = 64) -> None:
        folder = source_of(self.name, path)
        folder = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        files = list_cars(folder, self.sizes[2])
        shape = (len(self), 3, size, size)
        self.shape = (3, size, size)
        self._read = cached_rows(f"{self.name}-{size}", files, shape, lambda: in_order(files, self.sizes, size))

    def render(self, values: Values) -> Bytes:
        found: Bytes = self._read(np.ravel_multi_index(tuple(values.T), self.sizes))
        return found


def list_cars(folder: Path, count: int) -> list[Path]:
    """The cars' files in their order."""
    if (folder / LIST).exists():
        with reading(folder / LIST, "the names of the cars, one per line"):
            names = (folder / LIST).read_text(encoding="utf-8").split()
    else:
        names = sorted(file.stem for file in folder.glob("car_*_mesh.mat"))
        if not names:
            first_existing(folder, (LIST,), "cars3d")
    if len(names) != count or len(set(names)) != count:
        raise UserError(f"{folder} lists {len(set(names))} cars instead of {count}")
    for name in names:
        if Path(name).name != name:
            raise UserError(f"{folder / LIST} names '{name}', which is not a file in the same folder")
    return [first_existing(folder, (f"{name.removesuffix('.mat')}.mat",), "cars3d") for name in names]


def in_order(files: list[Path], sizes: tuple[int, ...], size: int) -> Iterator[Bytes]:
    """All images, one elevation at a time, counting through azimuths and then cars."""
    elevations, azimuths, cars = sizes
    require_memory(3 * math.prod(sizes) * size**2, f"Cars3D at {size} x {size}", "choose a smaller size")
    whole = np.empty((elevations, azimuths, cars, 3, size, size), np.uint8)
    for car, file in enumerate(files):
        pictures = read_mat(file, "im", (128, 128, 3, azimuths, elevations), "uint8")
        flat = pictures.transpose(4, 3, 2, 0, 1).reshape(-1, 3, 128, 128)
        whole[:, :, car] = resize(flat, size).reshape(elevations, azimuths, 3, size, size)
    yield from whole
