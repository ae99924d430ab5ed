"""What InfoGAN and InfoGAN-CR draw, and the terms of their losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Terms:
    """The terms of InfoGAN's two losses on one batch, each the mean over its images x and generated images x'."""

    judged: Tensor  # -log D(x) - log(1 - D(x'))
    fooled: Tensor  # -log D(x')
    nll: Tensor  # -log Q(c|x') in nats, summed over the codes
    information: Tensor  # H(c) - nll, a lower bound of I(c; x')
    error: Tensor  # squared distance between a code and Q's mean; 1/3 for a Q that ignores the image


def terms(real: Tensor, generated: Tensor, mean: Tensor, c: Tensor) -> Terms:
    """From D's log odds of real and of generated images, Q's means and the codes c; Q is N(mean, 1). [b], [b, codes]"""
    squares = (mean - c) ** 2
    nll = (0.5 * squares + 0.5 * math.log(2 * math.pi)).sum(1).mean()
    judged = F.softplus(-real).mean() + F.softplus(generated).mean()
    return Terms(judged, F.softplus(-generated).mean(), nll, c.shape[1] * math.log(2) - nll, squares.mean())


def uniform(n: int, dimensions: int, like: Tensor) -> Tensor:
    """Draws from U[-1, 1]. -> [n, dimensions]"""
    return 2 * torch.rand(n, dimensions, device=like.device) - 1


def draw_pairs(n: int, codes: int, gap: float, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of codes from U[-1, 1], equal in one dimension and at least `gap` apart in the others, and which one it is.

    -> [n, codes], [n, codes], [n]. The distance of two such draws has a density proportional to 2 - distance on
    [gap, 2].
    """
    apart, place, swap = torch.rand(3, n, codes, device=like.device)
    distance = 2 - (2 - gap) * apart.sqrt()
    low = -1 + (2 - distance) * place
    high = low + distance
    first, second = torch.where(swap < 0.5, low, high), torch.where(swap < 0.5, high, low)
    which = torch.randint(codes, (n,), device=like.device)
    same = F.one_hot(which, codes).bool()  # [n, codes]
    return first, torch.where(same, first, second), which
