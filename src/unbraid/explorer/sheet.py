"""Many small pictures in one file."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

LARGEST = 600_000  # bytes of the file, above which its pictures are made smaller
SMALLEST = 16  # pixels on a side, down to which they are


def sheet(images: NDArray[np.uint8], *, largest: int = LARGEST) -> dict[str, Any]:
    """Pictures [n, c, h, w] row by row in one, for the page: data address, size of one, how many in a row."""
    while True:
        count, channels, height, width = images.shape
        columns = math.ceil(math.sqrt(count * height / width))
        rows = math.ceil(count / columns)
        canvas = np.zeros((rows * columns, channels, height, width), np.uint8)
        canvas[:count] = images
        tiles = canvas.reshape(rows, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
        file = _png(tiles.reshape(rows * height, columns * width, channels))
        if len(file) <= largest or min(height, width) < 2 * SMALLEST or height % 2 or width % 2:
            address = "data:image/png;base64," + base64.b64encode(file).decode()
            return {"address": address, "width": width, "height": height, "columns": columns}
        images = _halved(images)


def _halved(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    n, c, h, w = images.shape
    half: NDArray[np.uint8] = images.reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5)).round().astype(np.uint8)
    return half


def _png(pixels: NDArray[np.uint8]) -> bytes:  # [h, w, c]
    buffer = io.BytesIO()
    Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[..., 0]).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
