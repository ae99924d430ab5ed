"""Digits on photographs against photographs alone: a target and a background set that varies in more than texture.

With a photograph y and a digit t in [0, 1] a target is x = rho y + (1 - rho) t, as in Grassy MNIST. Photographs differ
from each other as faces do, in shape, light and surroundings: a substitute where CelebA and AffectNet are unavailable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count, FilePath, Share, Size
from unbraid.data.compose import digits
from unbraid.data.compose.photographs import GreyPhotographs
from unbraid.data.sets.cifar10 import CIFAR10
from unbraid.data.table import Bytes, Factor, Rows, Table, Values
from unbraid.errors import UserError

SIDE = 32


class PhotoMNIST(Table):
    """Rows are digits on photographs of CIFAR-10, in grey; `background` has other photographs.

    Args:
        path: folder or zip of CIFAR-10; empty: cifar10 or cifar10-images.zip in the data root
        ratio: rho, the share of the photograph in the sum
        per_class: largest number of target rows of each digit
        photographs: number of rows of the background
        draw: seed of digits and photographs
    """

    name = "photo_mnist"
    gives = ("Images", "Labelled", "TargetBackground")
    factors = (Factor("digit", 10),)
    label = "digit"
    shape = (1, SIDE, SIDE)

    def __init__(
        self,
        *,
        path: FilePath = "",
        ratio: Share = 0.5,
        per_class: Size = 1000,
        photographs: Size = 10_000,
        draw: Count = 0,
    ) -> None:
        whole = CIFAR10(path=path)
        rng = np.random.default_rng(draw)
        images, labels, *_ = digits.load()
        per_class = min(per_class, int(np.bincount(labels).min()))
        chosen = np.concatenate([rng.permutation(np.flatnonzero(labels == y))[:per_class] for y in range(10)])
        if len(chosen) + photographs > len(whole):
            raise UserError(
                f"{len(chosen):,} targets and {photographs:,} backgrounds are more than the {len(whole):,} photographs "
                "available: lower per_class or photographs"
            )
        order = rng.permutation(len(whole))
        self.ratio = ratio
        self.digits: Bytes = np.pad(images[chosen], ((0, 0), (2, 2), (2, 2)))
        self.labels: NDArray[np.int64] = labels[chosen]
        self.behind = GreyPhotographs(whole, order[: len(chosen)])
        self.background = GreyPhotographs(whole, order[len(chosen) :][:photographs])

    def __len__(self) -> int:
        return len(self.labels)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def images(self, rows: Rows) -> Bytes:
        y, t = self.behind.images(rows).astype(np.float32), self.digits[rows][:, None].astype(np.float32)
        pixels: Bytes = np.rint(self.ratio * y + (1 - self.ratio) * t).astype(np.uint8)
        return pixels
