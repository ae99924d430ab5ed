"""What the methods with a generator and a discriminator share: networks, and the losses of InfoGAN.

No random number is drawn and no state changes while a loss is computed: batch normalisation keeps what it saw, and the
spectral norm is refined, in `settle`, which a method calls when the step's updates are done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

from unbraid.errors import UserError
from unbraid.nets.autoencoders import Shape, pyramid

MOMENTUM = 0.1  # of the running mean and variance
ROUNDS = 15  # of the power method at the start; one more follows each step


class Generator(nn.Module):
    """Codes and noise [b, inputs] -> images in [0, 1]: two dense layers, then convolutions that double the side."""

    def __init__(self, shape: Shape, inputs: int, width: int) -> None:
        super().__init__()
        channels, side = pyramid(shape, width)
        top = channels[-1]
        layers: list[nn.Module] = [nn.Linear(inputs, 4 * width), BatchNorm(4 * width), nn.ReLU()]
        layers += [nn.Linear(4 * width, top * side**2), BatchNorm(top * side**2), nn.ReLU()]
        layers += [nn.Unflatten(1, (top, side, side))]
        outputs = [*channels[-2::-1], shape[0]]
        for before, after in zip([top, *outputs], outputs, strict=False):
            layers += [nn.ConvTranspose2d(before, after, 4, 2, 1), BatchNorm(after), nn.ReLU()]
        self.net = nn.Sequential(*layers[:-2], nn.Sigmoid())

    def forward(self, z: Tensor) -> Tensor:
        if self.training and len(z) < 2:
            raise UserError("the generator's batch normalisation needs a batch of two or more")
        images: Tensor = self.net(z)
        return images


class Discriminator(nn.Module):
    """The log odds that an image is real [b], and the mean of the code that it was generated from [b, codes]."""

    def __init__(self, shape: Shape, codes: int, width: int) -> None:
        super().__init__()
        self.trunk, self.real = trunk(shape, width), spectral(nn.Linear(4 * width, 1))
        self.code = nn.Sequential(nn.Linear(4 * width, 4 * width), nn.LeakyReLU(0.2), nn.Linear(4 * width, codes))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.trunk(x)
        return self.real(seen).squeeze(1), self.code(seen)


def trunk(shape: Shape, width: int) -> nn.Sequential:
    """Images [b, c, h, w] -> [b, 4 width]; every layer has the spectral norm 1."""
    channels, side = pyramid(shape, width)
    layers: list[nn.Module] = []
    for before, after in zip([shape[0], *channels], channels, strict=False):
        layers += [spectral(nn.Conv2d(before, after, 4, 2, 1)), nn.LeakyReLU(0.2)]
    layers += [nn.Flatten(), spectral(nn.Linear(channels[-1] * side**2, 4 * width)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers)


@dataclass(frozen=True)
class Play:
    """The terms of InfoGAN's two losses on one batch, each the mean over its images."""

    judged: Tensor  # -log D(x) - log(1 - D(x'))
    fooled: Tensor  # -log D(x')
    nll: Tensor  # -log Q(c|x') in nats, summed over the codes
    information: Tensor  # H(c) - nll, no more than I(c; x')
    error: Tensor  # squared distance of a code from Q's mean; 1/3 where Q knows nothing


def play(discriminator: Discriminator, x: Tensor, drawn: Tensor, c: Tensor) -> Play:
    """Real images x, and images drawn from the codes c, before the discriminator; Q is N(mean, 1)."""
    odds, mean = discriminator(torch.cat([x, drawn]))
    real, fake = odds.split([len(x), len(drawn)])
    squares = (mean[len(x) :] - c) ** 2  # [b, codes]
    nll = (0.5 * squares + 0.5 * math.log(2 * math.pi)).sum(1).mean()
    judged = F.softplus(-real).mean() + F.softplus(fake).mean()
    return Play(judged, F.softplus(-fake).mean(), nll, c.shape[1] * math.log(2) - nll, squares.mean())


def uniform(n: int, dimensions: int, like: Tensor) -> Tensor:
    """Draws from U[-1, 1]."""
    return 2 * torch.rand(n, dimensions, device=like.device) - 1


def draw_pairs(n: int, codes: int, gap: float, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Codes of n pairs [n, codes] from U[-1, 1], equal in one and at least `gap` apart in the others, and which one.

    The distance of two such draws has the density proportional to 2 - distance, on [gap, 2].
    """
    apart, place, swap = torch.rand(3, n, codes, device=like.device)
    distance = 2 - (2 - gap) * apart.sqrt()
    low = -1 + (2 - distance) * place
    high = low + distance
    first, second = torch.where(swap < 0.5, low, high), torch.where(swap < 0.5, high, low)
    which = torch.randint(codes, (n,), device=like.device)
    same = F.one_hot(which, codes).bool()  # [n, codes]
    return first, torch.where(same, first, second), which


def settle(method: nn.Module) -> None:
    """Takes over what the normalisations saw in the step, and refines the spectral norms."""
    for module in method.modules():
        if isinstance(module, BatchNorm):
            module.absorb()
        if isinstance(module, parametrize.ParametrizationList):
            for part in module:
                if isinstance(part, Spectral):
                    part.refine(module.original)


class BatchNorm(nn.Module):
    """Ioffe and Szegedy 2015 (arXiv:1502.03167); the running statistics move in `absorb`, not in the forward pass."""

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
        if self.seen:
            self.mean.lerp_(self.seen[0], MOMENTUM)
            self.variance.lerp_(self.seen[1], MOMENTUM)
        self.seen = None


class Spectral(nn.Module):
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
        flat = weight.flatten(1)
        for _ in range(rounds):
            self.v.copy_(F.normalize(flat.T @ self.u, dim=0))
            self.u.copy_(F.normalize(flat @ self.v, dim=0))


def spectral(layer: nn.Module) -> nn.Module:
    return parametrize.register_parametrization(layer, "weight", Spectral(layer.weight))  # type: ignore[arg-type]
