"""Digits on grass against grass alone: a target and a background set, for contrastive disentanglement.

Grassy MNIST of Abid and Zou (2019), as used for contrastive disentanglement with a Wasserstein term (section 4): with
a patch y and a digit t in [0, 1], linear x = rho y + (1 - rho) t; non-linear x = 1[y > 0.3] (rho y + (1 - rho) t).
Differs from the paper: patches come from one picture of yours instead of ImageNet's grass; those of the target and
those of the background come from different halves of it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count
from unbraid.data.compose import digits
from unbraid.data.compose.texture import any_picture, pieces, shipped
from unbraid.data.io.paths import data_root
from unbraid.data.table import Bytes, Factor, Rows, Table, Values
from unbraid.errors import UserError, unknown

SIDE = 28
THRESHOLD = 0.3


class GrassyMNIST(Table):
    """Rows are digits on patches of the left half of a texture; `background` has patches of its right half.

    Args:
        texture: file with the picture; empty: grass.png in the data root, else a photograph that scikit-learn ships
        combine: linear or nonlinear
        ratio: rho, the share of the patch in the sum
        zoom: how many times the texture is enlarged before patches are cut: fine grass is noise to few latents
        per_class: number of target rows of each digit, fewer where there are fewer
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
        texture: str = "",
        combine: Literal["linear", "nonlinear"] = "linear",
        ratio: float = 0.5,
        zoom: int = 1,
        per_class: int = 4986,
        patches: int = 4986,
        draw: Count = 0,
    ) -> None:
        if combine not in ("linear", "nonlinear"):
            raise unknown("way to combine digits and grass", combine, ("linear", "nonlinear"))
        if not 0 <= ratio <= 1:
            raise UserError(f"ratio is {ratio}: the share of the patch lies between 0 and 1")
        if min(per_class, patches, zoom) < 1:
            raise UserError(f"per_class, patches and zoom must be at least 1, not {per_class}, {patches} and {zoom}")
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
        self.behind = Patches(picture[:, :, :middle], rng.random((len(self.labels), 2), np.float32))
        self.background = Patches(picture[:, :, middle:], rng.random((patches, 2), np.float32))

    def __len__(self) -> int:
        return len(self.labels)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def images(self, rows: Rows) -> Bytes:
        y, t = self.behind.images(rows).astype(np.float32), self.digits[rows][:, None].astype(np.float32)
        x = self.ratio * y + (1 - self.ratio) * t
        pixels: Bytes = np.rint(x if self.linear else (y > 255 * THRESHOLD) * x).astype(np.uint8)
        return pixels


class Patches(Table):
    """Squares of a picture [c, h, w], with their corners in [0, 1)^2, [n, 2]."""

    name = "patches"

    def __init__(self, picture: Bytes, corners: NDArray[np.float32]) -> None:
        self.picture, self.corners = picture, corners
        self.shape = (len(picture), SIDE, SIDE)

    def __len__(self) -> int:
        return len(self.corners)

    def images(self, rows: Rows) -> Bytes:
        return pieces(self.picture, self.corners[rows], SIDE)


def enlarged(picture: Bytes, times: int) -> Bytes:
    """A picture [c, h, w] with `times` as many pixels on each side."""
    from PIL import Image

    _, height, width = picture.shape
    size = (times * width, times * height)
    return np.stack([np.asarray(Image.fromarray(c).resize(size, Image.Resampling.BICUBIC)) for c in picture])


def _grass() -> Path:
    path = data_root() / "grass.png"
    if path.exists():
        return path
    warnings.warn(f"{path} does not exist: using a photograph of a flower amid leaves in its place", stacklevel=3)
    return shipped("flower.jpg")
