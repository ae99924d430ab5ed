"""Encoders and decoders by name, and critics. Decoders carry their likelihood."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UserError, unknown

Shape = tuple[int, int, int]
Likelihood = Literal["bernoulli", "gaussian"]

TRANSLATOR_EDGE = 0.001  # pixels are taken to be this far from 0 and 1
GAUSSIAN_SCALE = 0.1  # standard deviation of the gaussian likelihood, for images in [0, 1]


def encoder(net: str, shape: Shape, outputs: int, *, width: int) -> nn.Module:
    """Images [b, c, h, w] -> [b, outputs].

    `conv` is the network of Locatello et al. 2019 (arXiv:1811.12359, table 1): at 64x64 convolutions of width,
    width, 2 width, 2 width channels, then 256 units. Smaller images have fewer convolutions: they halve the image
    down to 4x4, or as far as its size is even. `mlp` is two layers of 1200 units, `dense` one of 16 width and one of
    8 width. `contrast` has the layers that the comparison of methods for target and background sets describes: 5
    convolutions at 28x28, 7 at 64x64 and 96x96, each with leaky units and a normalisation (here of groups of channels
    of each image alone, so that nothing passes from one image of a batch to another); vectors of features get `dense`.
    """
    net = _for_features(net, shape)
    if net == "conv":
        channels, side = pyramid(shape, width)
        layers: list[nn.Module] = []
        for depth, (before, after) in enumerate(zip([shape[0], *channels], channels, strict=False)):
            layers += [_down(before, after, depth), nn.ReLU()]
        flat = channels[-1] * side**2
        layers += [nn.Flatten(), nn.Linear(flat, 256), nn.ReLU(), nn.Linear(256, outputs)]
        return fast(nn.Sequential(*layers))
    if net == "mlp":
        return nn.Sequential(nn.Flatten(), *_dense(math.prod(shape), 1200, 1200, outputs))
    if net == "dense":
        return nn.Sequential(nn.Flatten(), *_dense(math.prod(shape), 16 * width, 8 * width, outputs))
    if net == "contrast":
        return fast(nn.Sequential(*_contrast_down(shape, outputs, width)))
    raise unknown("network", net, NETS)


def decoder(net: str, shape: Shape, inputs: int, *, width: int, likelihood: str) -> Decoder:
    """Codes [b, inputs] -> images [b, c, h, w]; the mirror image of the encoder."""
    net = _for_features(net, shape)
    if net == "conv":
        channels, side = pyramid(shape, width)
        top = channels[-1]
        layers: list[nn.Module] = [nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, top * side**2), nn.ReLU()]
        layers += [nn.Unflatten(1, (top, side, side))]
        outputs = [*channels[-2::-1], shape[0]]
        for before, after in zip([top, *outputs], outputs, strict=False):
            layers += [nn.ConvTranspose2d(before, after, 4, 2, 1), nn.ReLU()]
        return Decoder(fast(nn.Sequential(*layers[:-1])), likelihood)
    if net == "mlp":
        dense = _dense(inputs, 1200, 1200, math.prod(shape))
        return Decoder(nn.Sequential(*dense, nn.Unflatten(1, shape)), likelihood)
    if net == "dense":
        dense = _dense(inputs, 8 * width, 16 * width, math.prod(shape))
        return Decoder(nn.Sequential(*dense, nn.Unflatten(1, shape)), likelihood)
    if net == "contrast":
        return Decoder(fast(nn.Sequential(*_contrast_up(shape, inputs, width))), likelihood)
    raise unknown("network", net, NETS)


def critic(inputs: int, *, hidden: int = 1000, layers: int = 6) -> nn.Module:
    """Two logits from a code: FactorVAE's discriminator (Kim & Mnih 2018, arXiv:1802.05983, appendix A)."""
    sizes = [inputs, *[hidden] * layers]
    stack: list[nn.Module] = []
    for before, after in pairwise(sizes):
        stack += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
    return nn.Sequential(*stack, nn.Linear(sizes[-1], 2))


class JointCritic(nn.Module):
    """One logit from an image and a code: the image's features and the code go through two hidden layers."""

    def __init__(self, net: str, shape: Shape, inputs: int, *, width: int, hidden: int) -> None:
        super().__init__()
        self.look = encoder(net, shape, hidden, width=width)
        self.judge = critic(hidden + inputs, hidden=hidden, layers=2)

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
        """[b, c, h, w] and [b, inputs] -> [b]"""
        first, second = self.judge(torch.cat([F.leaky_relu(self.look(x), 0.2), code], -1)).unbind(-1)
        difference: Tensor = first - second
        return difference


class Translator(nn.Module):
    """Images -> logits of images; before it has learned anything, those of the images themselves.

    Two convolutions halve the image, two bring it back, and what they say is added to the logits of the input. The
    weights are always the same at the start: a task's difficulty must not depend on a draw.
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
        logits: Tensor = torch.logit(u, TRANSLATOR_EDGE) + self.net(u)
        return logits


class Decoder(nn.Module):
    """A network and what its output means.

    bernoulli: logits of a Bernoulli for each pixel value.
    gaussian: logits of the mean of a Gaussian with standard deviation GAUSSIAN_SCALE.
    """

    def __init__(self, net: nn.Module, likelihood: str) -> None:
        super().__init__()
        if likelihood not in LIKELIHOODS:
            raise unknown("likelihood", likelihood, LIKELIHOODS)
        self.net, self.likelihood = net, likelihood

    def forward(self, z: Tensor) -> Tensor:
        logits: Tensor = self.net(z)
        return logits

    def mean(self, z: Tensor) -> Tensor:
        """The expected image, in [0, 1]."""
        return torch.sigmoid(self(z))

    def nll(self, z: Tensor, x: Tensor) -> Tensor:
        """-log p(x|z) in nats, summed over the image. [b]"""
        return self.nll_of(self(z), x)

    def nll_of(self, logits: Tensor, x: Tensor) -> Tensor:
        """-log p(x) under an output of this decoder, in nats, summed over the image. [b]"""
        if self.likelihood == "bernoulli":
            return F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)
        squares = ((x - torch.sigmoid(logits)) ** 2).flatten(1).sum(1) / (2 * GAUSSIAN_SCALE**2)
        return squares + x[0].numel() * (math.log(GAUSSIAN_SCALE) + 0.5 * math.log(2 * math.pi))


LIKELIHOODS = ("bernoulli", "gaussian")
NETS = ("conv", "mlp", "dense", "contrast")


def pyramid(shape: Shape, width: int) -> tuple[list[int], int]:
    """Channels of each convolution, and the side of the last feature map."""
    _, height, side = shape
    if height != side or side < 8 or side % 4:
        raise UserError(
            f"convolutions need square images with a side divisible by 4, not {height}x{side}: choose another size, "
            "or --net mlp where the method has it"
        )
    depth = 0
    while side > 4 and side % 2 == 0:
        side, depth = side // 2, depth + 1
    return [width if i < (depth + 1) // 2 else 2 * width for i in range(depth)], side


def _down(before: int, after: int, depth: int) -> nn.Module:
    """Halves the image; 4x4 kernels in the first two layers and 2x2 in the others, as in the study."""
    return nn.Conv2d(before, after, 4, 2, 1) if depth < 2 else nn.Conv2d(before, after, 2, 2)


def _for_features(net: str, shape: Shape) -> str:
    return "dense" if net == "contrast" and shape[1] == 1 else net


def _contrast_sizes(shape: Shape, width: int) -> tuple[list[int], list[int], list[int]]:
    """Channels and strides of the convolutions, and the sides of the image before each and after the last.

    They halve the image until its side is 6 or less, with one more convolution between two halvings.
    """
    channels, strides, sides = [shape[0]], list[int](), [shape[1]]
    while sides[-1] > 6:
        if strides:
            channels, strides, sides = [*channels, channels[-1]], [*strides, 1], [*sides, sides[-1]]
        channels.append(width if len(strides) == 0 else 2 * width)
        strides.append(2)
        sides.append(-(-sides[-1] // 2))
    if shape[1] != shape[2] or not strides:
        raise UserError(
            f"the contrast network needs square images of 7 pixels or more, not {shape[1]}x{shape[2]}: "
            "choose another size, or --net dense"
        )
    return channels, strides, sides


def _contrast_down(shape: Shape, outputs: int, width: int) -> list[nn.Module]:
    channels, strides, sides = _contrast_sizes(shape, width)
    layers: list[nn.Module] = []
    for (before, after), stride in zip(pairwise(channels), strides, strict=True):
        layers += [nn.Conv2d(before, after, 3, stride, 1), _normalise(after), nn.LeakyReLU(0.2)]
    return [*layers, nn.Flatten(), nn.Linear(channels[-1] * sides[-1] ** 2, outputs)]


def _contrast_up(shape: Shape, inputs: int, width: int) -> list[nn.Module]:
    channels, strides, sides = (sizes[::-1] for sizes in _contrast_sizes(shape, width))
    layers: list[nn.Module] = [nn.Linear(inputs, channels[0] * sides[0] ** 2), nn.LeakyReLU(0.2)]
    layers += [nn.Unflatten(1, (channels[0], sides[0], sides[0]))]
    for (before, after), stride, side in zip(pairwise(channels), strides, sides[1:], strict=True):
        extra = 1 if stride == 2 and side % 2 == 0 else 0
        layers += [nn.ConvTranspose2d(before, after, 3, stride, 1, extra), _normalise(after), nn.LeakyReLU(0.2)]
    return layers[:-2]


def _normalise(channels: int) -> nn.Module:
    return nn.GroupNorm(max(1, channels // 8), channels)


def fast(net: nn.Sequential) -> nn.Sequential:
    """Convolutions run up to half as fast again with their channels last in memory."""
    return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _dense(*sizes: int) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return layers[:-1]
