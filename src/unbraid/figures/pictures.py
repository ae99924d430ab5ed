"""Pictures for pages and files: rows of images, sheets, and an empty figure of matplotlib."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

INK = "#1f2933"
GAP = 2  # pixels between images in a row
LARGE = 24_000  # bytes of a row above which it is written with loss
LARGEST = 96  # pixels on a side of an image in a page


def strip(images: NDArray[np.uint8], gap: int = GAP) -> str:
    """Images [n, c, h, w] side by side, as a data address; one can see through the gaps."""
    side = max(images.shape[2:])
    if side > LARGEST:
        images = np.stack([_smaller(image, LARGEST / side) for image in images])
    row = _side_by_side(images, gap)
    kind, data = "png", _png(row)
    if len(data) > LARGE:
        buffer = io.BytesIO()
        row.convert("RGBA").save(buffer, "WEBP", quality=80, method=5)
        kind, data = "webp", buffer.getvalue()
    return f"data:image/{kind};base64," + base64.b64encode(data).decode()


def sheet(rows: list[tuple[str, NDArray[np.uint8]]], *, height: int = 96, margin: int = 170) -> bytes:
    """Labelled rows of images, one below the other, as a PNG file."""
    font = ImageFont.load_default(15)
    strips = []
    for _, images in rows:
        picture = _opaque(_side_by_side(images, GAP))
        scale = height / picture.height
        strips.append(picture.resize((round(picture.width * scale), height), Image.Resampling.NEAREST))
    page = Image.new("RGB", (margin + max(s.width for s in strips), len(rows) * (height + 8)), "white")
    for place, ((label, _), picture) in enumerate(zip(rows, strips, strict=True)):
        page.paste(picture, (margin, place * (height + 8)))
        ImageDraw.Draw(page).multiline_text((4, place * (height + 8) + 20), label, fill=INK, font=font)
    return _png(page)


def new_figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _smaller(image: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    size = round(image.shape[2] * scale), round(image.shape[1] * scale)
    return np.stack([np.asarray(Image.fromarray(c).resize(size, Image.Resampling.LANCZOS)) for c in image])


def _side_by_side(images: NDArray[np.uint8], gap: int) -> Image.Image:
    """The gaps have a colour that no image has, which is marked as transparent."""
    n, channels, height, width = images.shape
    colour = _unused(images)
    canvas = np.full((height, n * (width + gap) - gap, channels), 255 if colour is None else colour, np.uint8)
    for i, image in enumerate(images):
        canvas[:, i * (width + gap) : i * (width + gap) + width] = image.transpose(1, 2, 0)
    picture = Image.fromarray(canvas if channels == 3 else canvas[..., 0])
    if colour is not None:
        picture.info["transparency"] = tuple(map(int, colour)) if channels == 3 else int(colour[0])
    return picture


def _unused(images: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """A colour that does not occur, the lightest grey if there is one."""
    pixels = images.transpose(0, 2, 3, 1).reshape(-1, images.shape[1])
    greys = pixels[(pixels == pixels[:, :1]).all(1), 0]
    free = np.setdiff1d(np.arange(256), greys)
    return np.full(images.shape[1], free[-1], np.uint8) if len(free) else None


def _opaque(picture: Image.Image) -> Image.Image:
    clear = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
