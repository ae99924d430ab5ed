"""Invariance of a code to a nuisance: gradient reversal, and the distance between groups of codes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def reverse(z: Tensor, strength: float) -> Tensor:
    """z itself, whose gradient is multiplied by -strength (Ganin et al. 2016, arXiv:1505.07818)."""
    reversed_: Tensor = _Reversal.apply(z, strength)  # type: ignore[no-untyped-call]
    return reversed_


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return z.view_as(z)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradients[0], None


def fourier_features(z: Tensor, frequencies: Tensor, phases: Tensor, bandwidth: float | Tensor) -> Tensor:
    """phi with E[phi(a) . phi(b)] = exp(-|a - b|^2 / bandwidth), Rahimi and Recht 2007. [n, d] -> [n, features]

    The mean is over frequencies [d, features] from a standard normal and phases [features] uniform on [0, 2 pi].
    """
    scale = math.sqrt(2 / phases.numel())
    return scale * torch.cos(z * (2 / bandwidth) ** 0.5 @ frequencies + phases)


def group_mmd(
    z: Tensor, group: Tensor, *, features: int = 500, bandwidth: float = 0.0, unbiased: bool = True
) -> Tensor:
    """The squared distance between the mean of phi in each group and over all, summed over groups. [n, d], [n] -> []

    Louizos et al. 2016 (arXiv:1511.00830, eq. 10 and 11 for two groups); the features are drawn at each call.

    Args:
        features: number of random features
        bandwidth: gamma of the kernel exp(-|a - b|^2 / gamma); 0: the median of |a - b|^2, so that shrinking all
            codes does not lower the distance
        unbiased: leave out the products of a sample with itself (a U-statistic), so that the mean is 0 if codes do not
            depend on the group; a sample that is alone in its group is then left out altogether. Otherwise finite
            groups are apart by chance, the more so the smaller they are
    """
    if len(z) < 2:
        return z.new_zeros(())
    frequencies = torch.randn(z.shape[1], features, device=z.device, dtype=z.dtype)
    phases = 2 * math.pi * torch.rand(features, device=z.device, dtype=z.dtype)
    scale = bandwidth or torch.pdist(z).square().median().clamp(min=1e-12)
    phi = fourier_features(z, frequencies, phases, scale)

    same = (group[:, None] == group).to(z)  # [n, n]
    members = same.sum(1)  # [n], in the group of each sample
    kept = (members > 1).to(z) if unbiased else torch.ones_like(members)
    each, n = kept / members, kept.sum().clamp(min=1)  # sums over samples with weight `each` are sums over groups
    mean = same @ phi / members[:, None]  # [n, features], of the group of each sample
    distance = (each * (mean - kept @ phi / n).square().sum(1)).sum()
    if not unbiased:
        return distance
    variance = same @ (phi - mean).square().sum(1) / (members - 1).clamp(min=1) / members  # [n], of the group's mean
    share = members / n
    by_chance = (1 - 2 * share) * variance + (each * share.square() * variance).sum()
    return distance - (each * by_chance).sum()
