"""Digits on grass against grass alone: a target and a background set, for contrastive disentanglement.

Grassy MNIST of Abid and Zou (2019), as used for contrastive disentanglement with a Wasserstein term (section 4): with
a patch y and a digit t in [0, 1], linear x = rho y + (1 - rho) t; non-linear x = 1[y > 0.3] (rho y + (1 - rho) t).
Differs from the paper: patches come from one image that you give instead of ImageNet's grass; those of the target
and those of the background come from different halves of it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count, FilePath, Share, Size
from unbraid.data.compose import digits
from unbraid.data.compose.texture import Patches, any_picture, enlarged, sklearn_photograph
from unbraid.data.io.paths import data_root
from unbraid.data.table import Bytes, Factor, Rows, Table, Values

SIDE = 28
THRESHOLD = 0.3


class GrassyMNIST(Table):
    """Rows are digits on patches of the left half of a texture; `background` has patches of its right half.

    Args:
        texture: file with the image; empty: grass.png in the data root, else a photograph from scikit-learn
        combine: linear or nonlinear
        ratio: rho, the share of the patch in the sum
        zoom: factor by which the texture is enlarged before patches are cut: fine grass is noise to a few latents
        per_class: largest number of target rows of each digit
        patches: number of rows of the background
        draw: seed of digits and patches
    """

    name = "grassy_mnist"
    gives = ("Images", "Labelled", "TargetBackground")
    factors = (Factor("digit", 10),)
    label = "digit"

    def __init__(
        self,
        *,
        texture: FilePath = "",
        combine: Literal["linear", "nonlinear"] = "linear",
        ratio: Share = 0.5,
        zoom: Size = 1,
        per_class: Size = 4986,
        patches: Size = 4986,
        draw: Count = 0,
    ) -> None:
        picture = enlarged(any_picture(texture or _grass(), least=2 * SIDE), zoom)  # [c, h, w]
        middle = picture.shape[2] // 2
        self.shape = (len(picture), SIDE, SIDE)
        self.linear, self.ratio = combine == "linear", ratio
        rng = np.random.default_rng(draw)
        images, labels, *_ = digits.load()
        per_class = min(per_class, int(np.bincount(labels).min()))
        chosen = np.concatenate([rng.permutation(np.flatnonzero(labels == y))[:per_class] for y in range(10)])
        self.digits: Bytes = images[chosen]
        self.labels: NDArray[np.int64] = labels[chosen]
        self.behind = Patches(picture[:, :, :middle], SIDE, rng.random((len(self.labels), 2), np.float32))
        self.background = Patches(picture[:, :, middle:], SIDE, rng.random((patches, 2), np.float32))

    def __len__(self) -> int:
        return len(self.labels)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def images(self, rows: Rows) -> Bytes:
        y, t = self.behind.images(rows).astype(np.float32), self.digits[rows][:, None].astype(np.float32)
        x = self.ratio * y + (1 - self.ratio) * t
        pixels: Bytes = np.rint(x if self.linear else (y > 255 * THRESHOLD) * x).astype(np.uint8)
        return pixels


def _grass() -> Path:
    path = data_root() / "grass.png"
    if path.exists():
        return path
    warnings.warn(f"{path} does not exist: using a photograph of a flower among leaves instead", stacklevel=3)
    return sklearn_photograph("flower.jpg")
