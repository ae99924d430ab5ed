"""Random views of images: crop, flip and colour (Chen et al. 2020, SimCLR, arXiv:2002.05709, appendix A).

Every image of a batch gets its own random draw, and all are transformed at once. Random numbers come from torch's
global generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.errors import UserError

GREY = (0.299, 0.587, 0.114)  # luma of ITU-R BT.601


@dataclass(frozen=True)
class Augment:
    """Images in [0, 1], [b, c, h, w] -> a random view of each.

    Args:
        least_crop: smallest share of the area that a crop keeps before it is scaled to full size; 1: no cropping
        flip: mirror each image left to right with probability 1/2
        colour: strength of the distortion of brightness, contrast, saturation and hue; 1: that of SimCLR, 0: none
    """

    least_crop: float
    flip: bool
    colour: float

    def __post_init__(self) -> None:
        if not 0 < self.least_crop <= 1:
            raise UserError(f"least_crop must be a share of the image, above 0 and at most 1, not {self.least_crop}")
        if self.colour < 0:
            raise UserError(f"colour must be 0 or more, not {self.colour}")

    @property
    def changes_nothing(self) -> bool:
        """Whether a view is the image itself."""
        return self.least_crop == 1 and not self.flip and not self.colour

    def __call__(self, x: Tensor) -> Tensor:
        if self.least_crop < 1 or self.flip:
            x = _cropped(x, self.least_crop, self.flip)
        return _recoloured(x, self.colour) if self.colour > 0 else x


def _cropped(x: Tensor, crop: float, flip: bool) -> Tensor:
    """A random window with a random share of the area, and a ratio of its sides from 3/4 to 4/3."""
    b = len(x)
    area = crop + (1 - crop) * _uniform(b, x)
    most = torch.minimum(-area.log(), torch.full_like(area, math.log(4 / 3)))  # beyond that a side would not fit
    ratio = (most * (2 * _uniform(b, x) - 1)).exp()
    sides = torch.stack([(area * ratio).sqrt(), (area / ratio).sqrt()], 1)  # [b, 2] across and down
    centre = (2 * torch.rand(b, 2, device=x.device, dtype=x.dtype) - 1) * (1 - sides)
    mirror = torch.where(_uniform(b, x) < 0.5, -1.0, 1.0) if flip else x.new_ones(b)
    height, width = x.shape[2:]
    across = centre[:, :1] + (sides[:, 0] * mirror)[:, None] * _middles(width, x)  # [b, w], from -1 to 1
    down = centre[:, 1:] + sides[:, 1:] * _middles(height, x)  # [b, h]
    grid = torch.stack([across[:, None].expand(-1, height, -1), down[:, :, None].expand(-1, -1, width)], -1)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _recoloured(x: Tensor, strength: float) -> Tensor:
    """Changes brightness, contrast, saturation and hue of four images in five, and makes one in five grey."""
    b = len(x)
    reach = 0.8 * strength

    def factor() -> Tensor:
        return (1 + reach * (2 * _uniform(b, x) - 1)).clamp(min=0).view(b, 1, 1, 1)

    changed = (x * factor()).clamp(0, 1)
    changed = _towards(changed, _grey(changed).mean((1, 2, 3), keepdim=True), factor())
    if x.shape[1] == 3:
        changed = _towards(changed, _grey(changed), factor())
        changed = rotate_hue(changed, 0.2 * strength * (2 * _uniform(b, x) - 1))
    seen = torch.where(_uniform(b, x).view(b, 1, 1, 1) < 0.8, changed, x)
    return torch.where(_uniform(b, x).view(b, 1, 1, 1) < 0.2, _grey(seen).expand_as(seen), seen)


def rotate_hue(x: Tensor, turns: Tensor) -> Tensor:
    """Rotates the colours about the grey axis of YIQ space by [b] full turns. [b, 3, h, w]"""
    to_yiq = torch.tensor([GREY, (0.5959, -0.2746, -0.3213), (0.2115, -0.5227, 0.3112)], dtype=x.dtype, device=x.device)
    angle = 2 * math.pi * turns
    turned = torch.zeros(len(x), 3, 3, dtype=x.dtype, device=x.device)
    turned[:, 0, 0] = 1
    turned[:, 1, 1], turned[:, 1, 2] = angle.cos(), -angle.sin()
    turned[:, 2, 1], turned[:, 2, 2] = angle.sin(), angle.cos()
    return torch.einsum("bij,bjhw->bihw", torch.linalg.inv(to_yiq) @ turned @ to_yiq, x).clamp(0, 1)


def _towards(x: Tensor, base: Tensor, factor: Tensor) -> Tensor:
    """Scales the difference from the base."""
    return (base + factor * (x - base)).clamp(0, 1)


def _grey(x: Tensor) -> Tensor:
    """[b, c, h, w] -> [b, 1, h, w]"""
    if x.shape[1] != 3:
        return x.mean(1, keepdim=True)
    return (x * torch.tensor(GREY, dtype=x.dtype, device=x.device)[:, None, None]).sum(1, keepdim=True)


def _middles(side: int, like: Tensor) -> Tensor:
    """The middles of pixels of a line from -1 to 1. [side]"""
    return (2 * torch.arange(side, device=like.device, dtype=like.dtype) + 1) / side - 1


def _uniform(b: int, like: Tensor) -> Tensor:
    return torch.rand(b, device=like.device, dtype=like.dtype)
