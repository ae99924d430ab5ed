"""Image files: reading their headers, decoding, resizing, and a cache of decoded images."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Bytes, Rows
from unbraid.errors import UserError

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[int, int, int, int]  # left, top, right, bottom
Reader = Callable[[Rows], Bytes]
Color = Literal["as_is", "grey", "rgb"]
GREY = ("1", "L", "LA", "La", "I;16", "I;16B", "I;16L")
RGB = ("RGB", "RGBA", "RGBa", "RGBX", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")
KEEP = 1 << 30  # bytes of decoded images that a table may keep in memory


def header(stream: IO[bytes], where: str) -> Literal["grey", "rgb"]:
    """Whether an image is grey or in colour, from its header."""
    with _opened(stream, where) as picture:
        return _color(picture, where)


def decode(
    stream: IO[bytes], where: str, *, size: int, color: Color = "as_is", crop: int = 0, box: Box | None = None
) -> Bytes:
    """An image's pixels, [c, size, size]: the largest centred square, resized.

    Args:
        crop: side of the centred square to cut instead; 0: the largest
        box: cut this part of the image first, as far as it lies within the image
    """
    with _opened(stream, where) as picture:
        mode = _color(picture, where) if color == "as_is" else color
        whole = plain(upright(picture), mode)
        return _square(whole.crop(_within(box, whole)) if box else whole, size, crop, where)


def resize(pixels: Bytes, size: int) -> Bytes:
    """Images [n, c, h, w] as [n, c, size, size], cropped to a centred square."""
    from PIL import Image

    if pixels.shape[2:] == (size, size):
        return pixels
    grey = pixels.shape[1] == 1
    pictures = (Image.fromarray(p[0] if grey else np.ascontiguousarray(p.transpose(1, 2, 0))) for p in pixels)
    squares = [_square(picture, size, 0, "an image") for picture in pictures]
    return np.stack(squares) if squares else np.zeros((0, pixels.shape[1], size, size), np.uint8)


class ImageCache:
    """Decodes images on demand and keeps as many as fit into memory, the first rows first.

    Rows are drawn uniformly, so that no choice of rows to keep is better than another.
    """

    def __init__(
        self,
        read: Callable[[int], NDArray[Any]],
        count: int,
        shape: tuple[int, ...],
        keep: int = KEEP,
        dtype: np.dtype[Any] = np.dtype(np.uint8),  # noqa: B008
    ) -> None:
        self._read = read
        self._shape = shape
        kept = min(count, keep // (int(np.prod(shape)) * dtype.itemsize))
        self._pixels = np.empty((kept, *shape), dtype)  # takes memory only as it is filled
        self._known: NDArray[np.bool_] = np.zeros(kept, bool)

    def __call__(self, rows: Rows) -> NDArray[Any]:
        keeps = rows < len(self._known)
        for row in rows[keeps][~self._known[rows[keeps]]].tolist():
            if not self._known[row]:  # it may be asked for twice
                self._pixels[row], self._known[row] = self._read(row), True
        if keeps.all():
            return self._pixels[rows]
        out = np.empty((len(rows), *self._shape), self._pixels.dtype)
        out[keeps] = self._pixels[rows[keeps]]
        for i in np.flatnonzero(~keeps):
            out[i] = self._read(int(rows[i]))
        return out


def resized(read: Reader, count: int, shape: tuple[int, int, int], size: int) -> Reader:
    """Reads images of this shape at another size."""
    if shape[1:] == (size, size):
        return read
    return ImageCache(lambda row: resize(read(np.array([row])), size)[0], count, (shape[0], size, size))


@contextmanager
def _opened(stream: IO[bytes], where: str) -> Iterator[Image]:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(stream) as picture:
                yield picture
    except UserError:
        raise
    except UnidentifiedImageError as error:
        raise UserError(f"{where} is not an image: remove or replace it") from error
    except Exception as error:  # decoders may raise anything on corrupt files
        raise UserError(f"{where} is a corrupt image: {error or type(error).__name__}") from error


def _color(picture: Image, where: str) -> Literal["grey", "rgb"]:
    if picture.mode in GREY:
        return "grey"
    if picture.mode in RGB:
        return "rgb"
    raise UserError(f"{where} has the pixel format '{picture.mode}': save it as 8-bit grey or RGB")


def plain(picture: Image, mode: str) -> Image:
    """8-bit grey or RGB."""
    from PIL import Image

    if picture.mode.startswith("I;16"):  # `convert` would clip the 16 bits rather than scale them
        wide = np.asarray(picture).astype(np.uint16)
        picture = Image.fromarray((wide >> 8).astype(np.uint8))
    return picture.convert("L" if mode == "grey" else "RGB")


def upright(picture: Image) -> Image:
    """Rotated as its EXIF data says."""
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture)


def _within(box: Box, picture: Image) -> Box:
    left, top, right, bottom = box
    part = max(left, 0), max(top, 0), min(right, picture.width), min(bottom, picture.height)
    return part if part[0] < part[2] and part[1] < part[3] else (0, 0, picture.width, picture.height)


def _square(picture: Image, size: int, crop: int, where: str) -> Bytes:
    from PIL import Image

    width, height = picture.size
    side = crop or min(width, height)
    if crop > min(width, height):
        raise UserError(f"{where} has {width} x {height} pixels, too few to crop a square of {crop} from it")
    left, top = (width - side) // 2, (height - side) // 2
    picture = picture.crop((left, top, left + side, top + side))
    if side != size:
        picture = picture.resize((size, size), Image.Resampling.LANCZOS)
    pixels: Bytes = np.asarray(picture)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
