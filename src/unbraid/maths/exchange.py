"""What the images of a pair, or of a class, are taken to share: swapped between the two, or averaged over all.

"Reconstruction for disentanglement, contrast for invariance" (under review at ICLR 2022), eq. 3 to 5 and 8.
"""

from __future__ import annotations

import torch
from torch import Tensor


def unchanged(distance: Tensor, k: Tensor, share: float) -> Tensor:
    """The dimensions taken as unchanged: all but the k most distant, or only the nearest of them for share 0.

    [b, d], [b] -> bool [b, d]
    """
    most = distance.shape[1] - k  # [b]
    count = (1 + share * (most - 1)).floor().minimum(most)
    rank = distance.argsort(dim=-1, stable=True).argsort(-1)
    return rank < count[:, None]


def swap(z: Tensor, swapped: Tensor) -> Tensor:
    """Codes of all first images, then of all second ones, swapped within each pair where asked. [2 b, d], [b, d]"""
    z1, z2 = z.chunk(2)
    return torch.where(swapped.repeat(2, 1), torch.cat([z2, z1]), z)


def class_average(mean: Tensor, variance: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance averaged over the samples of each class; those of class -1 stay as they are. [b, d]"""
    same = (y[:, None] == y) & (y >= 0) | torch.eye(len(y), dtype=torch.bool, device=y.device)
    weights = same.to(mean) / same.sum(1, keepdim=True)
    return weights @ mean, weights @ variance
