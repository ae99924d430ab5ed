"""The translator between images, whose difficulty of learning is measured."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.errors import UserError
from unbraid.machine import forked_rng, seed_torch
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.nets.layers import Shape, channels_last

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
        with forked_rng("cpu"):
            seed_torch(0, "cpu")
            down = [HalvingConv(shape[0], width), nn.ReLU(), HalvingConv(width, 2 * width), nn.ReLU()]
            up = [DoublingConv(2 * width, width), nn.ReLU()]
            last = DoublingConv(width, shape[0])
        for parameter in last.parameters():
            nn.init.zeros_(parameter)
        self.net = channels_last(nn.Sequential(*down, *up, last))

    def forward(self, u: Tensor) -> Tensor:
        """[b, c, h, w] -> [b, c, h, w]"""
        logits: Tensor = torch.logit(u, EDGE) + self.net(u)
        return logits
