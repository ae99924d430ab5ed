"""Images from which backgrounds are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid import machine
from unbraid.data.table import Bytes, Rows, Table
from unbraid.errors import UserError


def sklearn_photograph(name: str) -> Path:
    """A photograph that ships with scikit-learn: china.jpg or flower.jpg."""
    from importlib.util import find_spec

    package = find_spec("sklearn")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "datasets" / "images" / name


def colour_picture(path: Path | str, *, within: tuple[int, int] | None = None, least: int = 1) -> Bytes:
    """A colour image, [3, h, w], shrunk to fit a box (width, height); refused if a side is shorter than `least`."""
    return np.ascontiguousarray(np.moveaxis(_read(Path(path), "RGB", within, least), -1, 0))


def any_picture(path: Path | str, *, least: int = 1) -> Bytes:
    """An image as it is, grey [1, h, w] or colour [3, h, w]."""
    pixels = _read(Path(path), "", None, least)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(np.moveaxis(pixels, -1, 0))


def cut_squares(picture: Bytes, where: NDArray[np.float32], size: int) -> Bytes:
    """Squares cut from an image [c, h, w], their corners given in [0, 1) as (down, right), [n, c, size, size]."""
    room = np.array(picture.shape[1:]) - size + 1
    top, left = np.minimum((where * room).astype(np.int64), room - 1).T
    views = np.lib.stride_tricks.sliding_window_view(picture, (size, size), (1, 2))  # [c, down, right, size, size]
    return np.ascontiguousarray(views[:, top, left].swapaxes(0, 1))


def enlarged(picture: Bytes, times: int) -> Bytes:
    """An image [c, h, w] with `times` as many pixels on each side."""
    from PIL import Image

    _, height, width = picture.shape
    size = (times * width, times * height)
    machine.require_memory(
        picture.size * times**2, f"a texture of {size[0]:,} x {size[1]:,} pixels", "choose a smaller zoom"
    )
    return np.stack([np.asarray(Image.fromarray(c).resize(size, Image.Resampling.BICUBIC)) for c in picture])


class Patches(Table):
    """Squares of an image [c, h, w], with their corners in [0, 1)^2, [n, 2]."""

    name = "patches"

    def __init__(self, picture: Bytes, side: int, corners: NDArray[np.float32]) -> None:
        self.picture, self.corners = picture, corners
        self.shape = (len(picture), side, side)

    def __len__(self) -> int:
        return len(self.corners)

    def images(self, rows: Rows) -> Bytes:
        return cut_squares(self.picture, self.corners[rows], self.shape[1])


def _read(path: Path, mode: str, within: tuple[int, int] | None, least: int) -> Bytes:
    from PIL import Image

    try:
        with Image.open(path) as file:
            picture = file.convert(mode or ("L" if file.mode in ("1", "L", "LA", "I;16") else "RGB"))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} cannot be read as an image ({error}); give a PNG or JPEG file") from error
    if within:
        picture.thumbnail(within, Image.Resampling.BICUBIC)
    if min(picture.size) < least:
        width, height = picture.size
        raise UserError(f"{path} is too small: pieces of {least} x {least} are cut from {width} x {height} pixels")
    return np.asarray(picture)
