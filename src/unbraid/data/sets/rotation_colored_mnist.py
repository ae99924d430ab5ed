"""Coloured digits that are also rotated; the test has grounds and angles that never occur in training.

Rotation-Colored-MNIST of the swap and class-average paper (section 4): trained at 0, ±22.5 and ±45 degrees, tested at
±65 and ±75. Class is the digit, known nuisances are both colours, the angle is an unknown nuisance.
Differs from the paper: its text also lists 0 among the test angles, its tables do not; here we follow the tables.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from unbraid.config import AtLeast, Weight
from unbraid.data.compose import digits
from unbraid.data.compose.painted_digits import PaintedDigits, blend, centred
from unbraid.data.compose.palette import DIGITS, grounds
from unbraid.data.table import Bytes, Factor, Values

ANGLES = (-75.0, -65.0, -45.0, -22.5, 0.0, 22.5, 45.0, 65.0, 75.0)  # degrees, anticlockwise
TRAIN, TEST = np.arange(2, 7), np.array([0, 1, 7, 8])


class RotationColoredMNIST(PaintedDigits):
    """Every digit at five angles in six colours on three grounds; the `test` has other angles and other grounds.

    Pairs are the same digit at the same angle in other colours.

    Args:
        size: height and width of the images in pixels, at least 28
        shade: brightness of the test grounds, which are the sums of two training grounds times this; 0: a fixed choice
        tuning: the last sixth of the training digits are those of the `test`, so that settings are chosen without a
            look at the test digits
    """

    name = "rotation_colored_mnist"
    gives = ("Images", "Labelled", "Pairs")
    factors = (
        Factor("digit", 10),
        Factor("angle", 9),
        Factor("background", 6, ordered=False),
        Factor("colour", 6, ordered=False),
    )
    label = "digit"
    nuisances = ("background", "colour")
    groups = ("angle", "background")
    fixed = ("digit", "angle")

    def __init__(self, *, size: Annotated[int, AtLeast(28)] = 28, shade: Weight = 0.0, tuning: bool = False) -> None:
        self.grounds = grounds(shade)
        self.shape = (3, size, size)
        images, self.labels, more, their_labels = digits.load(tuning)
        self.digits, self.choices = centred(images, size), (TRAIN, np.arange(3), np.arange(6))
        self.test = self.using(centred(more, size), their_labels, (TEST, np.arange(3, 6), np.arange(6)))

    def paint(self, digits: Bytes, values: Values) -> Bytes:
        return blend(self.grounds[values[:, 2]], DIGITS[values[:, 3]], turned(digits, values[:, 1]))


def turned(digits: Bytes, angles: NDArray[np.int64]) -> Bytes:
    """Digits [n, size, size] rotated about their centre by ANGLES[angles], with linear interpolation."""
    size = digits.shape[1]
    corners, shares = _corners(size)
    where, weights = corners[angles], shares[angles]  # [n, 4, pixels]
    padded = np.pad(digits.reshape(len(digits), -1), ((0, 0), (0, 1)))  # the last pixel is black: outside
    around = np.take_along_axis(padded, where.reshape(len(digits), -1), 1).reshape(weights.shape)
    pixels: Bytes = np.rint((around * weights).sum(1)).astype(np.uint8)
    return pixels.reshape(digits.shape)


@cache
def _corners(size: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each angle the four pixels around the source point of each pixel, and their weights, [angles, 4, pixels]."""
    middle = (size - 1) / 2
    y, x = (axis.ravel() - middle for axis in np.mgrid[:size, :size])
    theta = np.deg2rad(np.array(ANGLES))[:, None]
    across, down = np.cos(theta) * x - np.sin(theta) * y + middle, np.sin(theta) * x + np.cos(theta) * y + middle
    where, weights = [], []
    for right in (np.floor(across), np.floor(across) + 1):
        for below in (np.floor(down), np.floor(down) + 1):
            inside = (right >= 0) & (right < size) & (below >= 0) & (below < size)
            where.append(np.where(inside, below * size + right, size * size).astype(np.int64))
            weights.append((1 - np.abs(across - right)) * (1 - np.abs(down - below)))
    return np.stack(where, 1), np.stack(weights, 1).astype(np.float32)
