"""Critics: networks that tell two distributions of codes, or of images with their codes, apart."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets import autoencoders
from unbraid.nets.layers import Shape, dense

LEAK = 0.2


def critic(inputs: int, *, hidden: int = 1000, layers: int = 6) -> nn.Module:
    """Two logits from a code: FactorVAE's discriminator (Kim & Mnih 2018, arXiv:1802.05983, appendix A)."""
    return dense(inputs, *[hidden] * layers, 2, leak=LEAK)


def log_odds(logits: Tensor) -> Tensor:
    """log D - log(1 - D), where D is the softmax of two logits, the first for "joint". [b, 2] -> [b]"""
    joint, product = logits.unbind(-1)
    return joint - product


class JointCritic(nn.Module):
    """Log odds from an image and a code: the image's features and the code go through two hidden layers."""

    def __init__(self, net: str, shape: Shape, inputs: int, *, width: int, hidden: int) -> None:
        super().__init__()
        self.look = autoencoders.encoder(net, shape, hidden, width=width)
        self.judge = critic(hidden + inputs, hidden=hidden, layers=2)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        """[b, c, h, w] and [b, inputs] -> [b]"""
        return log_odds(self.judge(torch.cat([F.leaky_relu(self.look(x), LEAK), code], -1)))
