"""The sprites of dSprites: their outlines, fitted to the published frames, drawn at any size."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Bytes, Factor, Values

FACTORS = (
    Factor("shape", 3, ordered=False),
    Factor("scale", 6),
    Factor("orientation", 40),
    Factor("posX", 32),
    Factor("posY", 32),
)
SCALE = np.linspace(0.5, 1.0, 6)
ANGLE = np.linspace(
    0.0, 2 * np.pi, 40
)  # both ends included, as in the original: the first and the last are the same angle
CENTRE = 16 + 32 * np.linspace(0.0, 1.0, 32)  # pixels of the 64 x 64 image, as all lengths below

SQUARE = 9.6  # half a side
ELLIPSE = (12.765, 7.215)  # semi-axes
HEART_WIDTH, HEART_DOWN, HEART_UNIT = 9.5943, -1.4366, 0.66207
REACH = 13.6  # no outline extends further from its centre

Floats = NDArray[np.float32]


def sprites(values: Values, size: int) -> Bytes:
    """Sprites with these factors, [n, size, size], 0 outside and 255 inside."""
    fine = 1 if size == 64 else max(2, -(-64 // size))  # binary points along a pixel's side
    shape, scale, angle = values[:, 0], SCALE[values[:, 1]], ANGLE[values[:, 2]]
    width = min(int(np.ceil(2 * REACH * size / 64)) + 1, size)  # of the window that holds any sprite
    corner, x = _window(CENTRE[values[:, 3]], width, size, fine)
    top, y = _window(CENTRE[values[:, 4]], width, size, fine)
    cos, sin = ((f(angle) / scale).astype(np.float32)[:, None, None] for f in (np.cos, np.sin))
    u = cos * x[:, None, :] - sin * y[:, :, None]  # [n, window, window], along the sprite's own axes
    v = sin * x[:, None, :] + cos * y[:, :, None]
    inside = np.empty(u.shape, bool)
    for kind, outline in enumerate((_in_square, _in_ellipse, _in_heart)):
        chosen = np.flatnonzero(shape == kind)
        inside[chosen] = outline(u[chosen], v[chosen])
    n, cells = len(values), np.arange(width)
    picture = np.zeros((n, size, size), np.uint8)
    rows, columns = (top[:, None] + cells)[:, :, None], (corner[:, None] + cells)[:, None, :]
    picture[np.arange(n)[:, None, None], rows, columns] = np.rint(_counted(inside, fine) * np.float32(255 / fine**2))
    return picture


def _window(centre: NDArray[np.float64], width: int, size: int, fine: int) -> tuple[NDArray[np.int64], Floats]:
    """First pixel of a window around each centre, [n], and its points' distances from the centre, [n, width * fine]."""
    first = np.clip(np.floor((centre - REACH) * size / 64).astype(np.int64), 0, size - width)
    points = (first[:, None] + (np.arange(width * fine) + 0.5) / fine) * (64 / size)
    return first, (points - centre[:, None]).astype(np.float32)


def _counted(inside: NDArray[np.bool_], fine: int) -> NDArray[np.uint16]:
    """How many points of each pixel are inside; numpy's sum over two short axes is slow."""
    counts = inside.astype(np.uint16)
    for _ in range(2):  # along rows, then along columns
        counts = reduce(np.add, (counts[:, i::fine] for i in range(fine))).swapaxes(1, 2)
    return counts


def _in_square(u: Floats, v: Floats) -> NDArray[np.bool_]:
    return np.maximum(np.abs(u), np.abs(v)) <= SQUARE


def _in_ellipse(u: Floats, v: Floats) -> NDArray[np.bool_]:
    across, along = u / np.float32(ELLIPSE[0]), v / np.float32(ELLIPSE[1])
    return across * across + along * along <= 1


def _in_heart(u: Floats, v: Floats) -> NDArray[np.bool_]:
    """The curve u = a sin^3 t, v = b - c (13 cos t - 5 cos 2t - 2 cos 3t - cos 4t), as two functions of |u|."""
    step = np.minimum(np.abs(u) * np.float32(HEART_STEPS / HEART_WIDTH), HEART_STEPS + 1).astype(np.int32)
    return (HEART_TOP[step] <= v) & (v <= HEART_BOTTOM[step])


def _heart() -> tuple[Floats, Floats]:
    """Where the heart begins and ends, downwards, at |u| = (i + 1/2) a / HEART_STEPS; nowhere for the last i."""
    sin = np.cbrt((np.arange(HEART_STEPS) + 0.5) / HEART_STEPS)
    t = np.stack([np.arcsin(sin), np.pi - np.arcsin(sin)])
    edges = HEART_DOWN - HEART_UNIT * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t))
    top, bottom = np.pad(edges, ((0, 0), (0, 2)), constant_values=np.nan).astype(np.float32)
    return top, bottom


HEART_STEPS = 8192
HEART_TOP, HEART_BOTTOM = _heart()
