"""Digits painted in several ways: every digit with every combination of colours and other factors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unbraid import machine
from unbraid.data.table import Bytes, Product, Rows, Values


class PaintedDigits(Product, ABC):
    """The first axis counts the digits, the others the values that each further factor may take here.

    Pairs show the same handwriting: two instances of a class would differ in more than the factors.
    """

    digits: Bytes  # [m, size, size]
    labels: NDArray[np.int64]  # [m], the values of the first factor
    choices: tuple[NDArray[np.int64], ...]  # values of the second factor, the third, ...
    fixed: tuple[str, ...] = ("digit",)

    @property
    def axes(self) -> tuple[int, ...]:
        return (len(self.labels), *map(len, self.choices))

    def values(self, rows: Rows) -> Values:
        first, *others = self.positions(rows).T
        return np.stack([self.labels[first], *(c[at] for c, at in zip(self.choices, others, strict=True))], -1)

    def images(self, rows: Rows) -> Bytes:
        return self.paint(self.digits[self.positions(rows)[:, 0]], self.values(rows))

    @abstractmethod
    def paint(self, digits: Bytes, values: Values) -> Bytes:
        """Images [n, c, h, w] of digits [n, size, size] with these factors."""

    def using(self, digits: Bytes, labels: NDArray[np.int64], choices: tuple[NDArray[np.int64], ...]) -> Self:
        """The same set made from other digits or with other values of its factors."""
        other = self.copy()
        other.digits, other.labels, other.choices = digits, labels, choices
        return other


def centred(digits: Bytes, size: int) -> Bytes:
    """Digits of 28 x 28 in the middle of larger squares."""
    machine.require_memory(len(digits) * size**2, f"{len(digits):,} digits of {size} x {size}", "choose a smaller size")
    before = (size - 28) // 2
    return np.pad(digits, ((0, 0), (before, size - 28 - before), (before, size - 28 - before)))


def blend(below: NDArray[np.float32], above: NDArray[np.float32], cover: Bytes) -> Bytes:
    """One colour over another, [n, 3] each, where a digit [n, h, w] covers it, as [n, 3, h, w]."""
    part = (cover.astype(np.float32) / 255)[:, None]
    picture = below[:, :, None, None] + part * (above - below)[:, :, None, None]
    pixels: Bytes = np.rint(picture, out=picture).astype(np.uint8)
    return pixels
