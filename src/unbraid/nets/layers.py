"""The parts that networks are built from."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UserError

Shape = tuple[int, int, int]  # channels, height, width
Weighted = TypeVar("Weighted", bound=nn.Conv2d | nn.Linear)


def dense(*sizes: int, leak: float = 0.0) -> nn.Sequential:
    """Linear layers of these sizes with a ReLU between each two, leaky if asked. [b, first size] -> [b, last size]"""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.LeakyReLU(leak) if leak else nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class LinearOnDirection(nn.Linear):
    """A linear layer that sees the direction of its input only, not its length."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.normalize(x, dim=-1))


def group_norm(channels: int) -> nn.GroupNorm:
    """Normalises groups of about 8 channels of each image alone (Wu & He 2018, arXiv:1803.08494)."""
    groups = next(groups for groups in range(max(1, channels // 8), 0, -1) if channels % groups == 0)
    return nn.GroupNorm(groups, channels)


def he_normal(layer: Weighted) -> Weighted:
    """Initial weights that keep the scale of rectified signals (He et al. 2015, arXiv:1502.01852)."""
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return layer


def halvings(shape: Shape, width: int) -> tuple[list[int], int]:
    """The channels of each convolution that halves the image, down to 4x4 if possible, and the side of the last map."""
    _, height, side = shape
    if height != side or side < 8 or side % 4:
        raise UserError(
            f"convolutions need square images with a side divisible by 4, not {height}x{side}: choose another size, "
            "or --net mlp where the method has it"
        )
    depth = 0
    while side > 4 and side % 2 == 0:
        side, depth = side // 2, depth + 1
    return [width if i < (depth + 1) // 2 else 2 * width for i in range(depth)], side


def channels_last(net: nn.Sequential) -> nn.Sequential:
    """Stores channels last in memory, which makes convolutions up to 1.5 times as fast."""
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
