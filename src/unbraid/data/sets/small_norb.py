"""SmallNORB (LeCun et al., 2004) from its binary matrices: 50 grey toys from 9 x 18 sides in 6 lights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import cached
from unbraid.data.io.formats import choice, either, read_norb
from unbraid.data.io.image_files import resize
from unbraid.data.io.paths import place
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

STEMS = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
CAMERAS = (("left", 0), ("right", 1))


class SmallNORB(Grid):
    """Training and test files together, sorted by factors and resized once, into the data root.

    The azimuth is relative: toys were not aligned with each other. Instances 4, 6, 7, 8, 9 are the original training
    set and the others its test set.

    Args:
        path: folder with the six files, gz or raw; empty: the folder small_norb in the data root
        camera: left or right
        size: height and width in pixels; the files have 96
    """

    name = "small_norb"
    gives = ("Images", "Labelled", "Pairs")
    factors = (
        Factor("category", 5),
        Factor("instance", 10),
        Factor("elevation", 9),
        Factor("azimuth", 18),
        Factor("lighting", 6),
    )
    label = "category"
    nuisances = ("elevation", "azimuth", "lighting")
    class_names = ("animal", "human", "plane", "truck", "car")

    def __init__(self, *, path: str = "", camera: Literal["left", "right"] = "left", size: int = 64) -> None:
        if size < 1:
            raise UserError(f"size is {size}: a picture needs at least one pixel")
        folder = place(self.name, path)
        side = choice("camera", camera, CAMERAS)
        files = [
            [
                either(folder, (f"{stem}-{what}.mat.gz", f"{stem}-{what}.mat"), self.name)
                for what in ("dat", "cat", "info")
            ]
            for stem in STEMS
        ]
        self.shape = (1, size, size)
        sources = [path for part in files for path in part]
        self._read = cached(
            f"{self.name}-{camera}-{size}",
            sources,
            (len(self), *self.shape),
            lambda: sorted_pictures(files, self.sizes, side, size),
        )

    def render(self, values: Values) -> Bytes:
        found: Bytes = self._read(np.ravel_multi_index(tuple(values.T), self.sizes))
        return found


def sorted_pictures(files: list[list[Path]], sizes: tuple[int, ...], side: int, size: int) -> Iterator[Bytes]:
    """The pictures of one camera in the factors' order, those of a category at a time."""
    half = int(np.prod(sizes)) // len(files)
    numbers, pictures = [], []
    for dat, cat, info in files:
        numbers.append(read_factors(cat, info, half, sizes))
        pixels = read_norb(dat, (half, 2, 96, 96)).astype(np.uint8, copy=False)[:, side : side + 1]
        pictures.append(resize(pixels, size).copy())  # lets go of the other camera's pictures
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
            raise UserError(f"{file} has a factor outside its {top} values")
    numbers: NDArray[np.int64] = np.ravel_multi_index(tuple(values.T), sizes).astype(np.int64)
    return numbers
