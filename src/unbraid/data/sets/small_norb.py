"""SmallNORB (LeCun et al., 2004) from its binary matrices: 50 toys, 9 elevations, 18 azimuths, 6 lightings; grey."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.io.array_files import cached_rows
from unbraid.data.io.formats import read_norb
from unbraid.data.io.image_files import resize
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError
from unbraid.machine import require_memory

STEMS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
CAMERAS = ("left", "right")


class SmallNORB(Grid):
    """Training and test files together, sorted by factors and resized once, into the cache folder.

    The azimuth is relative: toys were not aligned with each other. Instances 4, 6, 7, 8, 9 are the original training
    set and the others its test set.

    Args:
        path: folder with the six files, gz or raw; empty: the folder small_norb in the data root
        camera: left or right
        size: height and width in pixels; the files have 96
    """

    name = "small_norb"
    gives = ("Images", "Labelled", "Pairs", "Transitions")
    factors = (
        Factor("category", 5, ordered=False),
        Factor("instance", 10, ordered=False),
        Factor("elevation", 9),
        Factor("azimuth", 18),
        Factor("lighting", 6, ordered=False),
    )
    label = "category"
    nuisances = ("elevation", "azimuth", "lighting")
    class_names = ("animal", "human", "plane", "truck", "car")

    def __init__(self, *, path: FilePath = "", camera: Literal["left", "right"] = "left", size: Size = 64) -> None:
        folder = source_of(self.name, path)
        side = CAMERAS.index(camera)
        files = [
            [
                first_existing(folder, (f"{stem}-{what}.mat.gz", f"{stem}-{what}.mat"), self.name)
                for what in ("dat", "cat", "info")
            ]
            for stem in STEMS
        ]
        self.shape = (1, size, size)
        sources = [path for part in files for path in part]
        self._read = cached_rows(
            f"{self.name}-{camera}-{size}",
            sources,
            (len(self), *self.shape),
            lambda: sorted_pictures(files, self.sizes, side, size),
        )

    def render(self, values: Values) -> Bytes:
        found: Bytes = self._read(np.ravel_multi_index(tuple(values.T), self.sizes))
        return found


def sorted_pictures(files: list[list[Path]], sizes: tuple[int, ...], side: int, size: int) -> Iterator[Bytes]:
    """The images of one camera in the factors' order, those of a category at a time."""
    half = int(np.prod(sizes)) // len(files)
    require_memory(4 * half * size**2, f"SmallNORB at {size} x {size}", "choose a smaller size")
    numbers, pictures = [], []
    for dat, cat, info in files:
        numbers.append(read_factors(cat, info, half, sizes))
        pixels = read_norb(dat, (half, 2, 96, 96)).astype(np.uint8, copy=False)[:, side : side + 1]
        pictures.append(resize(pixels, size).copy())  # frees the other camera's images
    order = np.argsort(np.concatenate(numbers))
    if not np.array_equal(np.concatenate(numbers)[order], np.arange(len(order))):
        raise UserError(f"{files[0][2]} and {files[1][2]} together do not have every combination of factors once")
    both = np.concatenate(pictures)
    del pictures
    for rows in order.reshape(sizes[0], -1):
        yield both[rows]


def read_factors(cat: Path, info: Path, count: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of each row's combination of factors, [count]; the file counts azimuths in steps of two."""
    category = read_norb(cat, (count,), "i4").astype(np.int64)
    details = read_norb(info, (count, 4), "i4").astype(np.int64)
    if (details[:, 2] % 2).any():
        raise UserError(f"{info} has odd azimuths: expected 0, 2, ..., {2 * sizes[3] - 2}")
    values = np.column_stack([category, details // [1, 1, 2, 1]])
    for column, (top, file) in enumerate(zip(sizes, (cat, info, info, info, info), strict=True)):
        if values[:, column].min() < 0 or values[:, column].max() >= top:
            raise UserError(f"{file} has a factor outside 0 to {top - 1}")
    numbers: NDArray[np.int64] = np.ravel_multi_index(tuple(values.T), sizes).astype(np.int64)
    return numbers
