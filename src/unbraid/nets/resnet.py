"""Image encoders that need no decoder: residual networks with a stem for small images, and small plain ones."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UserError, unknown
from unbraid.nets.layers import Shape, channels_last, group_norm, he_normal

BLOCKS = {"resnet10": (1, 1, 1, 1), "resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3)}  # of each of the four stages
NAMES = ("conv4", "pooled4", *BLOCKS)


def encoder(net: str, shape: Shape, *, width: int) -> nn.Module:
    """Images [b, c, h, w] -> [b, 8 width].

    `resnet34`, `resnet18` and the small `resnet10` are those of He et al. 2016 (arXiv:1512.03385, table 1) with a stem
    for small images: one 3x3 convolution of stride 1 and no pooling. They have 64 channels, and so 512 outputs, at
    width 64. They normalise groups of channels of each image alone (Wu & He 2018, arXiv:1803.08494), where He et al.
    normalise over the batch, so that a code does not depend on what else is encoded. `conv4` is four 3x3 convolutions
    of stride 2 with width to 8 width channels and a dense layer, without normalisation. `pooled4` has four such
    convolutions too (the last of stride 1), normalises like the residual ones, and a dense layer sees the mean over
    places, as they do: less than a quarter of the time of resnet10.
    """
    if net not in NAMES:
        raise unknown("network", net, NAMES)
    if min(shape[1:]) < 8 or width < 1:
        raise UserError(f"{net} needs images of 8 pixels or more and a width of 1 or more, not {shape} and {width}")
    if net == "conv4":
        layers = _conv4(shape, width)
    else:
        layers = _pooled4(shape[0], width) if net == "pooled4" else _resnet(shape[0], BLOCKS[net], width)
    return channels_last(nn.Sequential(*layers))


def _conv4(shape: Shape, width: int) -> list[nn.Module]:
    channels, height, across = [shape[0], width, 2 * width, 4 * width, 8 * width], *shape[1:]
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        layers += [he_normal(nn.Conv2d(before, after, 3, 2, 1)), nn.ReLU()]
        height, across = -(-height // 2), -(-across // 2)
    return [*layers, nn.Flatten(), nn.Linear(8 * width * height * across, 8 * width)]


def _pooled4(channels: int, width: int) -> list[nn.Module]:
    layers, before = list[nn.Module](), channels
    for scale, stride in ((1, 2), (2, 2), (4, 2), (8, 1)):
        layers += [he_normal(nn.Conv2d(before, scale * width, 3, stride, 1)), group_norm(scale * width), nn.ReLU()]
        before = scale * width
    return [*layers, MeanOverPlaces(), nn.Flatten(), nn.Linear(before, before)]


def _resnet(channels: int, blocks: tuple[int, ...], width: int) -> list[nn.Module]:
    layers: list[nn.Module] = [nn.Conv2d(channels, width, 3, 1, 1, bias=False), group_norm(width), nn.ReLU()]
    before = width
    for stage, count in enumerate(blocks):
        for place in range(count):
            after = width * 2**stage
            layers.append(Residual(before, after, 2 if stage and not place else 1))
            before = after
    return [*layers, MeanOverPlaces(), nn.Flatten()]


class MeanOverPlaces(nn.Module):
    """AdaptiveAvgPool2d(1), with a gradient that has channels last like its input. [b, c, h, w] -> [b, c, 1, 1]"""

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, x.shape[2:])


class Residual(nn.Module):
    """Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False),
            group_norm(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            group_norm(after),
        )
        changes = stride > 1 or before != after
        self.shortcut = (
            nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), group_norm(after))
            if changes
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.shortcut(x) + self.body(x))
