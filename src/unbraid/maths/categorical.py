"""Categorical variables, such as classes and nuisances, side by side in one vector."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def one_hot(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Each variable as a one-hot vector, side by side. [b, m] -> [b, sum of sizes]"""
    return torch.cat([F.one_hot(values[:, i], n) for i, n in enumerate(sizes)], -1).float()


def uniform(n: int, sizes: tuple[int, ...]) -> Tensor:
    """In place of `one_hot` where the values are unknown: equal weight for each. -> [n, sum of sizes]"""
    return torch.cat([torch.full((n, size), 1 / size) for size in sizes], -1)


def cross_entropy_where_known(logits: Tensor, y: Tensor) -> Tensor:
    """Averaged over the samples whose class is known; 0 if there are none. [b, classes], [b] with -1: unknown -> []"""
    return F.cross_entropy(logits, y, ignore_index=-1, reduction="sum") / (y >= 0).sum().clamp(min=1)
