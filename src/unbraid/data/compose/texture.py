"""Images from which backgrounds are cut."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid import machine
from unbraid.data.io.image_files import plain, upright
from unbraid.data.table import Bytes, Rows, Table
from unbraid.errors import UserError

GREY = ("1", "L", "LA", "I;16", "I;16B", "I;16L")  # modes of grey images
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")  # of the images in a folder of textures


def sklearn_photograph(name: str) -> Path:
    """A photograph that ships with scikit-learn: china.jpg or flower.jpg."""
    from importlib.util import find_spec

    package = find_spec("sklearn")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "datasets" / "images" / name


def colour_picture(path: Path | str, *, within: tuple[int, int] | None = None, least: int = 1) -> Bytes:
    """A colour image, [3, h, w], shrunk to fit a box (width, height); refused if a side is shorter than `least`."""
    return np.ascontiguousarray(np.moveaxis(_read(Path(path), "rgb", within, least), -1, 0))


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


def pictures(paths: Sequence[str], *, least: int = 1) -> list[Bytes]:
    """The images of files, and of folders in the order of their names, as they are; all grey if one of them is."""
    found = [any_picture(file, least=least) for path in paths for file in _files(Path(path).expanduser())]
    return [_grey(picture) for picture in found] if any(len(picture) == 1 for picture in found) else found


class Patches(Table):
    """Squares of images [c, h, w], with their corners in [0, 1)^2, [n, 2], and the number of the image of each, [n]."""

    name = "patches"

    def __init__(
        self, pictures: Sequence[Bytes], side: int, corners: NDArray[np.float32], chosen: NDArray[np.int64]
    ) -> None:
        self.pictures, self.corners, self.chosen = pictures, corners, chosen
        self.shape = (len(pictures[0]), side, side)

    def __len__(self) -> int:
        return len(self.corners)

    def images(self, rows: Rows) -> Bytes:
        found = np.empty((len(rows), *self.shape), np.uint8)
        for number, picture in enumerate(self.pictures):
            of_it = self.chosen[rows] == number
            found[of_it] = cut_squares(picture, self.corners[rows[of_it]], self.shape[1])
        return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
    if not found:
        raise UserError(f"{path} has no image in it: textures are files that end with {', '.join(SUFFIXES)}")
    return found


def _grey(picture: Bytes) -> Bytes:
    from PIL import Image

    if len(picture) == 1:
        return picture
    return np.asarray(Image.fromarray(np.ascontiguousarray(np.moveaxis(picture, 0, -1))).convert("L"))[None]


def _read(path: Path, mode: str, within: tuple[int, int] | None, least: int) -> Bytes:
    from PIL import Image

    try:
        with Image.open(path) as file:
            picture = plain(upright(file), mode or ("grey" if file.mode in GREY else "rgb"))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UserError(f"{path} cannot be read as an image ({error}); give a PNG or JPEG file") from error
    if within:
        picture.thumbnail(within, Image.Resampling.BICUBIC)
    if min(picture.size) < least:
        width, height = picture.size
        raise UserError(f"{path} is too small: pieces of {least} x {least} are cut from {width} x {height} pixels")
    return np.asarray(picture)
