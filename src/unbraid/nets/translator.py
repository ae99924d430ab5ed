"""The translator between images, whose difficulty of learning is measured."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.errors import UserError
from unbraid.nets.layers import Shape

EDGE = 0.001  # pixels are kept this far from 0 and 1, where their logits are infinite


class Translator(nn.Module):
    """Images -> logits of images; before training, the logits of the input images.

    Two convolutions halve the image, two restore its size, and their output is added to the logits of the input. The
    initial weights are always the same: the difficulty of a task must not depend on a random draw.
    """

    def __init__(self, shape: Shape, *, width: int) -> None:
        super().__init__()
        if shape[1] % 4 or shape[2] % 4:
            raise UserError(f"a translator needs images with sides divisible by 4, not {shape[1]}x{shape[2]}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            down = [nn.Conv2d(shape[0], width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.ReLU()]
            up = [nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.ReLU()]
            last = nn.ConvTranspose2d(width, shape[0], 4, 2, 1)
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
        self.net = nn.Sequential(*down, *up, last)

    def forward(self, u: Tensor) -> Tensor:
        """[b, c, h, w] -> [b, c, h, w]"""
        logits: Tensor = torch.logit(u, EDGE) + self.net(u)
        return logits
