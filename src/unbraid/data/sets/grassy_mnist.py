"""Digits on grass against grass alone: a target and a background set, for contrastive disentanglement.

Grassy MNIST of Abid and Zou (2019), as used for contrastive disentanglement with a Wasserstein term (section 4): with
a patch y and a digit t in [0, 1], linear x = rho y + (1 - rho) t; non-linear x = 1[y > 0.3] (rho y + (1 - rho) t).
Differs from the paper: patches come from images that you give instead of ImageNet's grass; those of the target and
those of the background come from different halves of each, which tells the sets apart where the halves differ. With
`halves` off both come from all of it, as in the paper.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import Count, FilePaths, Share, Size, split_paths
from unbraid.data.compose import digits
from unbraid.data.compose.texture import Patches, enlarged, pictures, sklearn_photograph
from unbraid.data.io.paths import data_root
from unbraid.data.table import Bytes, Factor, Rows, Table, Values

SIDE = 28
THRESHOLD = 0.3


class GrassyMNIST(Table):
    """Rows are digits on patches of a texture; `background` has patches without digits.

    Args:
        texture: image files or folders, separated by commas; empty: grass.png in the data root, else a photograph
        combine: linear or nonlinear
        ratio: rho, the share of the patch in the sum
        halves: cut patches of targets from the left half of the texture, of backgrounds from the right; else from all
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
        texture: FilePaths = "",
        combine: Literal["linear", "nonlinear"] = "linear",
        ratio: Share = 0.5,
        halves: bool = True,
        zoom: Size = 1,
        per_class: Size = 4986,
        patches: Size = 4986,
        draw: Count = 0,
    ) -> None:
        files = split_paths(texture or str(_grass()))
        grass = [
            enlarged(picture, zoom) for picture in pictures(files, least=2 * SIDE if halves else SIDE)
        ]  # [c, h, w]
        left = [picture[:, :, : picture.shape[2] // 2] for picture in grass] if halves else grass
        right = [picture[:, :, picture.shape[2] // 2 :] for picture in grass] if halves else grass
        self.shape = (len(grass[0]), SIDE, SIDE)
        self.linear, self.ratio = combine == "linear", ratio
        rng = np.random.default_rng(draw)
        images, labels, *_ = digits.load()
        per_class = min(per_class, int(np.bincount(labels).min()))
        chosen = np.concatenate([rng.permutation(np.flatnonzero(labels == y))[:per_class] for y in range(10)])
        self.digits: Bytes = images[chosen]
        self.labels: NDArray[np.int64] = labels[chosen]
        corners = [rng.random((count, 2), np.float32) for count in (len(self.labels), patches)]
        which = [rng.integers(len(grass), size=len(corner)) for corner in corners]  # each picture as often
        self.behind = Patches(left, SIDE, corners[0], which[0])
        self.background = Patches(right, SIDE, corners[1], which[1])

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
