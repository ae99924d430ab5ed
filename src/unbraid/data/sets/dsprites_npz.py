"""dSprites (Matthey et al., 2017) from the original npz file: 737,280 binary images of 64 x 64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.io.array_files import StoredArray, cached_rows, npz
from unbraid.data.io.image_files import resized
from unbraid.data.io.paths import single_file
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"


class DSpritesNpz(Grid):
    """The file's single colour is left out. Orientations 0 and 39 are the same angle and show the same images.

    The file is unpacked once, with eight pixels to a byte (377 MB), into the cache folder. Its metadata is a pickle and
    is not read.

    Args:
        path: the npz file, or its folder; empty: the folder dsprites_npz in the data root
        size: height and width in pixels; the file has 64
    """

    name = "dsprites_npz"
    gives = ("Images", "Pairs", "Transitions")
    factors = (
        Factor("shape", 3, ordered=False),
        Factor("scale", 6),
        Factor("orientation", 40),
        Factor("posX", 32),
        Factor("posY", 32),
    )

    def __init__(self, *, path: FilePath = "", size: Size = 64) -> None:
        file = single_file(self.name, path, FILE)
        count = len(self)
        pictures = npz(file, "imgs")["imgs"].expect((count, 64, 64), "uint8")
        classes = npz(file, "latents_classes")["latents_classes"].expect((count, 6), "int64")
        bits = cached_rows(self.name, [file], (count, 512), lambda: pack(pictures, classes, self.sizes))
        self.shape = (1, size, size)
        self._read = resized(lambda rows: unpack(bits(rows)), count, (1, 64, 64), size)

    def render(self, values: Values) -> Bytes:
        return self._read(np.ravel_multi_index(tuple(values.T), self.sizes))


def pack(pictures: StoredArray, classes: StoredArray, sizes: tuple[int, ...]) -> Iterator[NDArray[np.uint8]]:
    """The images, which hold 0 and 1, as bits, [n, 512] at a time; refused when in another order."""
    with_color = (1, *sizes)
    order = np.stack(np.unravel_index(np.arange(pictures.shape[0]), with_color), -1)
    if not np.array_equal(classes.load(), order):
        raise UserError(f"{classes.where} does not count through the factors {sizes} in their order")
    for piece in pictures.parts(4096):
        if piece.max() > 1:
            raise UserError(f"{pictures.where} holds the value {piece.max()} instead of 0 and 1")
        yield np.packbits(piece.reshape(len(piece), -1), axis=1)


def unpack(bits: NDArray[np.uint8]) -> Bytes:
    """Bits [n, 512] as images of 0 and 255, [n, 1, 64, 64]."""
    return np.unpackbits(bits, axis=1).reshape(-1, 1, 64, 64) * np.uint8(255)
