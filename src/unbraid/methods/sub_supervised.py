"""Supervised upper bound for sub_infomax: each slice learns from the labels of its own factor (Burns et al. 2021).

"Unsupervised disentanglement without autoencoding", appendix A.2: the k-th slice r_k of the representation learns from
the labels of the k-th factor that two views share, and from no others.

    sum_k SupCon(r_k; labels of factor k)

Vectors in dot products have length one.

Differs from the paper: losses are means over samples, not sums; the trunk is small by default.
"""

from __future__ import annotations

from math import prod
from typing import Literal

import torch
from torch import Tensor

from unbraid.config import Rate, Share, Size, Weight
from unbraid.data.batch import Views
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths.augment import Augment
from unbraid.maths.contrast import supcon
from unbraid.maths.slices import named
from unbraid.methods.contract import Loss, Method, minimise, numbered
from unbraid.nets import resnet


class SubSupervised(Method[Views]):
    """One slice for each factor that views share, learned from its labels; blocks r, r0, r1, ...

    Args:
        temperature: temperature of the contrastive loss
        net: network of the trunk; the paper has resnet34 with width 64
        width: channels of the first convolution; r has 8 times as many dimensions
        least_crop: smallest share of the image that a random crop keeps; 1: no cropping
        flip: mirror images at random
        colour: strength of random colour distortion; 0: none
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        temperature: Rate = 0.1,
        net: Literal["conv4", "pooled4", "resnet10", "resnet18", "resnet34"] = "conv4",
        width: Size = 32,
        least_crop: Share = 1.0,
        flip: bool = False,
        colour: Weight = 0.0,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.sizes = spec.shared or ((spec.classes,) if spec.classes else ())
        if not self.sizes or 8 * width % len(self.sizes):
            raise UserError(
                f"sub_supervised needs a slice of r for each factor that two views share: {8 * width} dimensions "
                f"cannot be cut into {len(self.sizes)}; choose another width, or a data set whose views share factors"
            )
        self.temperature, self.width = temperature, width
        self.view = Augment(least_crop, flip, colour)
        self.trunk = resnet.encoder(net, spec.shape, width=width)

    def losses(self, batch: Views, step: int) -> dict[str, Loss]:
        if step == 0 and int(batch.y.max()) >= prod(self.sizes):
            raise UserError("sub_supervised learns from classes that two views share: use --views-of class")
        x = torch.cat([self.view(batch.x1), self.view(batch.x2)])  # [2 b, c, h, w]
        parts = self.trunk(x).chunk(len(self.sizes), 1)  # [2 b, 8 width / k] each
        each = [supcon(r, y.repeat(2), self.temperature) for r, y in zip(parts, self.labels(batch.y), strict=True)]
        return {"model": minimise(torch.stack(each).sum(), **{f"infomax_r{k}": loss for k, loss in enumerate(each)})}

    def labels(self, y: Tensor) -> list[Tensor]:
        """The values of each shared factor, from the number that stands for all of them. [b]"""
        strides = [prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]
        return [y // stride % size for stride, size in zip(strides, self.sizes, strict=True)]

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return named("r", self.trunk(x), len(self.sizes))

    @property
    def units(self) -> dict[str, list[int]]:
        return {"r": numbered(len(self.sizes), 8 * self.width // len(self.sizes))}
