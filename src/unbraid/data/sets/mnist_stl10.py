"""Digits on photographs: views share two of digit, background class and location, and differ in the third.

MNIST/STL-10 of "Unsupervised disentanglement without autoencoding" (Burns et al. 2021, appendix A.1): a digit of
28 x 28 over a 64 x 64 piece of an STL-10 image, taking the larger value of each pixel, at one of two rows and four
columns; 90 % of the pooled digits and images are for training. Differs from the paper: rows are composed on demand, so
that no JPEG compression intervenes.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count, Share, Size
from unbraid.data.compose import digits, photographs
from unbraid.data.moves import until_found
from unbraid.data.table import Bytes, Factor, Product, Rows, Values
from unbraid.errors import UserError

SHARED = {"dc-bc": ("digit", "background"), "dc-dl": ("digit", "location"), "bc-dl": ("background", "location")}
TOP, LEFT = (2, 34), (0, 12, 24, 36)  # of the digit, in pixels of 64 x 64


class MNISTSTL10(Product):
    """Each row is a digit, a photograph and a location, drawn once.

    Args:
        variant: what the two views of a pair share: dc-bc (digit and background class), dc-dl, bc-dl (digit location)
        size: 64, or 32 with digits of 14 x 14 in the same places
        backgrounds: stl10 or cifar10
        brightness: factor on the photograph; at 1 small contrastive nets see only the background, try 0.6
        train_rows: number of training rows
        test_rows: number of test rows, with other digits and photographs
        draw: seed of the rows that are drawn
    """

    name = "mnist_stl10"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("digit", 10), Factor("background", 10, ordered=False), Factor("location", 8, ordered=False))
    label = "digit"
    nuisances = ("background", "location")
    pools: list[Rows]  # the digits and the photographs that are used, by number

    def __init__(
        self,
        *,
        variant: Literal["dc-bc", "dc-dl", "bc-dl"] = "dc-bc",
        size: Size = 64,
        backgrounds: Literal["stl10", "cifar10"] = "stl10",
        brightness: Share = 1.0,
        train_rows: Size = 100_000,
        test_rows: Size = 10_000,
        draw: Count = 0,
    ) -> None:
        if size not in (64, 32):
            raise UserError(f"size of mnist_stl10 must be 64 or 32, not {size}")
        self.shape, self.shared, self.brightness = (3, size, size), SHARED[variant], brightness
        images, self.digit_labels = digits.pool()
        self.digits = images if size == 64 else _halved(images)
        self.photographs = photographs.load(backgrounds, size)
        self.photograph_labels = self.photographs.labels
        rng = np.random.default_rng(draw)
        pools = [rng.permutation(len(labels)) for labels in (self.digit_labels, self.photograph_labels)]
        test = self.copy()
        test.pools = [pool[round(0.9 * len(pool)) :] for pool in pools]
        self.pools = [pool[: round(0.9 * len(pool))] for pool in pools]
        for table, count in ((self, train_rows), (test, test_rows)):
            table.chosen = rng.integers(0, math.prod(table.axes), count)
        self.test = test

    @property
    def axes(self) -> tuple[int, ...]:
        return len(self.pools[0]), len(self.pools[1]), 8

    def instances(self, rows: Rows) -> Values:
        """Numbers of the digit and of the photograph, and the location, [n, 3]."""
        digit, photograph, location = self.positions(rows).T
        return np.stack([self.pools[0][digit], self.pools[1][photograph], location], -1)

    def values(self, rows: Rows) -> Values:
        digit, photograph, location = self.instances(rows).T
        return np.stack([self.digit_labels[digit], self.photograph_labels[photograph], location], -1)

    def images(self, rows: Rows) -> Bytes:
        digit, photograph, location = self.instances(rows).T
        pictures = self.photographs.images(photograph)
        if self.brightness < 1:
            pictures = np.rint(np.arange(256) * self.brightness).astype(np.uint8)[pictures]
        side = self.digits.shape[1]
        for number, (top, left) in enumerate((top, left) for top in TOP for left in LEFT):
            here = np.flatnonzero(location == number)
            down, across = (slice(first * side // 28, first * side // 28 + side) for first in (top, left))
            below = pictures[here, :, down, across]
            pictures[here, :, down, across] = np.maximum(below, self.digits[digit[here], None])
        return pictures

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Rows with the same shared classes but other instances of them, and another value of the third factor."""
        order, first, count = self._groups
        third = next(i for i, factor in enumerate(self.factors) if factor.name not in self.shared)

        def propose(rows: Rows, group: NDArray[np.int64]) -> Rows:
            others = order[first[group] + rng.integers(0, count[group])]
            here, there = self.instances(rows), self.instances(others)
            good = self.values(rows)[:, third] != self.values(others)[:, third]
            for axis in {0, 1} - {third}:
                good &= here[:, axis] != there[:, axis]
            return np.where(good, others, -1)

        return until_found(propose, rows, self.shared_label(rows))

    @cached_property
    def _groups(self) -> tuple[Rows, Rows, Rows]:
        """Rows sorted by shared label, the start of each label in that order, and its number of rows."""
        labels = self.shared_label(np.arange(len(self)))
        count = np.bincount(labels)
        return np.argsort(labels, kind="stable"), np.cumsum(count) - count, count


def _halved(images: Bytes) -> Bytes:
    """Digits of 14 x 14, each pixel the mean of four."""
    pixels: Bytes = np.rint(images.reshape(-1, 14, 2, 14, 2).mean((2, 4), dtype=np.float32)).astype(np.uint8)
    return pixels
