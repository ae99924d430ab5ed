"""Batch and spectral normalisation whose state changes after a step only, so that computing a loss changes nothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

MOMENTUM = 0.1  # of the running mean and variance
ROUNDS = 15  # of the power method at the start; one more follows each step


class BatchNorm(nn.Module):
    """Ioffe and Szegedy 2015 (arXiv:1502.03167); the running statistics change in `absorb`, not in the forward pass."""

    mean: Tensor
    variance: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))
        self.seen: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias)
        variance, mean = torch.var_mean(x.detach(), [d for d in range(x.ndim) if d != 1])
        self.seen = mean, variance
        return F.batch_norm(x, None, None, self.weight, self.bias, training=True)

    @torch.no_grad()
    def absorb(self) -> None:
        """Moves the running statistics towards those of the last batch."""
        if self.seen:
            self.mean.lerp_(self.seen[0], MOMENTUM)
            self.variance.lerp_(self.seen[1], MOMENTUM)
        self.seen = None


class SpectralNorm(nn.Module):
    """Divides a weight by its largest singular value (Miyato et al. 2018, arXiv:1802.05957).

    The singular vectors u and v come from the power method and are constants in the gradient.
    """

    u: Tensor
    v: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("u", F.normalize(torch.randn(len(weight)), dim=0))
        self.register_buffer("v", torch.zeros(weight[0].numel()))
        self.refine(weight, ROUNDS)

    def forward(self, weight: Tensor) -> Tensor:
        return weight / (self.u @ weight.flatten(1) @ self.v)

    @torch.no_grad()
    def refine(self, weight: Tensor, rounds: int = 1) -> None:
        """Improves the estimate of the singular vectors by rounds of the power method."""
        flat = weight.flatten(1)
        for _ in range(rounds):
            self.v.copy_(F.normalize(flat.T @ self.u, dim=0))
            self.u.copy_(F.normalize(flat @ self.v, dim=0))


def spectral(layer: nn.Module) -> nn.Module:
    """The layer with its weight divided by its largest singular value."""
    return parametrize.register_parametrization(layer, "weight", SpectralNorm(layer.weight))  # type: ignore[arg-type]


def update_normalisation(method: nn.Module) -> None:
    """Updates all running statistics and singular vectors; a method calls it when the updates of a step are done."""
    for module in method.modules():
        if isinstance(module, BatchNorm):
            module.absorb()
        if isinstance(module, parametrize.ParametrizationList):
            for part in module:
                if isinstance(part, SpectralNorm):
                    part.refine(module.original)
