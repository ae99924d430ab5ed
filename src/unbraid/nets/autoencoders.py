"""Encoders and decoders by name. A decoder carries its likelihood."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.errors import UserError, unknown
from unbraid.maths.negative_binomial import negative_log_probability
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.nets.layers import Shape, channels_last, dense, group_norm, halvings

LIKELIHOODS = ("bernoulli", "gaussian", "negative_binomial")
NETS = ("conv", "mlp", "dense", "contrast")
GAUSSIAN_SCALE = 0.1  # standard deviation of the gaussian likelihood unless another is given, for images in [0, 1]


def encoder(net: str, shape: Shape, outputs: int, *, width: int) -> nn.Module:
    """Images [b, c, h, w] -> [b, outputs].

    `conv` is the network of Locatello et al. 2019 (arXiv:1811.12359, table 1): at 64x64, convolutions with width,
    width, 2 width and 2 width channels, then 256 units. Smaller images get fewer convolutions: these halve the image
    down to 4x4, or for as long as its side is even. `mlp` has two layers of 1200 units, `dense` one of 16 width and
    one of 8 width units. `contrast` is the network of the comparison of methods for target and background sets: 5
    convolutions at 28x28, 7 at 64x64 and 96x96, each with a normalisation and leaky ReLUs (here the normalisation is
    over groups of channels of one image, so that no information passes between the images of a batch). Feature
    vectors get `dense` in place of `conv` and `contrast`.
    """
    net = _for_features(net, shape)
    if net == "conv":
        channels, side = halvings(shape, width)
        layers: list[nn.Module] = []
        for depth, (before, after) in enumerate(zip([shape[0], *channels], channels, strict=False)):
            layers += [_down(before, after, depth), nn.ReLU()]
        flat = channels[-1] * side**2
        layers += [nn.Flatten(), nn.Linear(flat, 256), nn.ReLU(), nn.Linear(256, outputs)]
        return channels_last(nn.Sequential(*layers))
    if net == "mlp":
        return nn.Sequential(nn.Flatten(), *dense(math.prod(shape), 1200, 1200, outputs))
    if net == "dense":
        return nn.Sequential(nn.Flatten(), *dense(math.prod(shape), 16 * width, 8 * width, outputs))
    if net == "contrast":
        return channels_last(nn.Sequential(*_contrast_down(shape, outputs, width)))
    raise unknown("network", net, NETS)


def block_encoder(net: str, shape: Shape, blocks: tuple[int, int], *, width: int, separate: bool) -> nn.Module:
    """Images [b, c, h, w] -> means of two blocks, then their log variances, [b, 2 d]; two networks where `separate`."""
    if not separate or 0 in blocks:
        return encoder(net, shape, 2 * sum(blocks), width=width)
    first, second = (encoder(net, shape, 2 * size, width=width) for size in blocks)
    return SeparateEncoders(first, second)


def decoder(
    net: str,
    shape: Shape,
    inputs: int,
    *,
    width: int,
    likelihood: str,
    sigma: float = GAUSSIAN_SCALE,
    learn_sigma: bool = False,
) -> Decoder:
    """Codes [b, inputs] -> images [b, c, h, w]; the mirror image of the encoder."""
    net = _for_features(net, shape)
    ending = partial(Decoder, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma, features=math.prod(shape))
    if net == "conv":
        channels, side = halvings(shape, width)
        top = channels[-1]
        layers: list[nn.Module] = [nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, top * side**2), nn.ReLU()]
        layers += [nn.Unflatten(1, (top, side, side))]
        outputs = [*channels[-2::-1], shape[0]]
        for before, after in zip([top, *outputs], outputs, strict=False):
            layers += [DoublingConv(before, after), nn.ReLU()]
        return ending(channels_last(nn.Sequential(*layers[:-1])))
    if net == "mlp":
        layers = [*dense(inputs, 1200, 1200, math.prod(shape)), nn.Unflatten(1, shape)]
        return ending(nn.Sequential(*layers))
    if net == "dense":
        layers = [*dense(inputs, 8 * width, 16 * width, math.prod(shape)), nn.Unflatten(1, shape)]
        return ending(nn.Sequential(*layers))
    if net == "contrast":
        return ending(channels_last(nn.Sequential(*_contrast_up(shape, inputs, width))))
    raise unknown("network", net, NETS)


class SeparateEncoders(nn.Module):
    """An encoder for each of two blocks of a Gaussian code, which share no weights."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        """[b, c, h, w] -> [b, 2 d], the means of both blocks and then the log variances of both"""
        parts = [network(x).chunk(2, -1) for network in (self.first, self.second)]
        means, log_variances = zip(*parts, strict=True)
        return torch.cat([*means, *log_variances], -1)


class Decoder(nn.Module):
    """A network and the meaning of its output.

    bernoulli: the logit of a Bernoulli distribution for each pixel value.
    gaussian: the logit of the mean of a Gaussian with standard deviation `sigma`, which is one
        number for all pixels: fixed, or learnt with the other weights from `sigma` on.
    negative_binomial: of counts, which are given as x = log(1 + count): the logits of the share of each feature in the
        sum of a row, its library size, which is taken as it is. theta, the other number of a negative binomial
        distribution, is learnt for each feature, from 1 on.
    """

    log_sigma: nn.Parameter | None
    log_theta: nn.Parameter | None

    def __init__(
        self,
        net: nn.Module,
        likelihood: str,
        sigma: float = GAUSSIAN_SCALE,
        learn_sigma: bool = False,
        features: int = 1,
    ) -> None:
        super().__init__()
        if likelihood not in LIKELIHOODS:
            raise unknown("likelihood", likelihood, LIKELIHOODS)
        if learn_sigma and likelihood != "gaussian":
            raise UserError(f"learn_sigma needs the gaussian likelihood: {likelihood} has no standard deviation")
        self.net, self.likelihood, self.given = net, likelihood, sigma
        self.log_sigma = nn.Parameter(torch.tensor(math.log(sigma))) if learn_sigma else None
        self.log_theta = nn.Parameter(torch.zeros(features)) if likelihood == "negative_binomial" else None

    @property
    def sigma(self) -> float:
        """The standard deviation of the gaussian likelihood, as it was given or as it has been learnt."""
        return self.given if self.log_sigma is None else self.log_sigma.exp().item()

    def forward(self, z: Tensor) -> Tensor:
        logits: Tensor = self.net(z)
        return logits

    def mean(self, z: Tensor, library: float = 1.0) -> Tensor:
        """The expected image, in [0, 1]; of counts, log(1 + expected count) in rows with this sum."""
        if self.log_theta is not None:
            return torch.log1p(library * self(z).softmax(-1))
        return torch.sigmoid(self(z))

    def nll(self, z: Tensor, x: Tensor) -> Tensor:
        """-log p(x|z) in nats, summed over the image. [b]"""
        return self.nll_of(self(z), x)

    def nll_of(self, logits: Tensor, x: Tensor) -> Tensor:
        """-log p(x|z), given the output of this decoder, in nats, summed over the image. [b]"""
        if self.likelihood == "bernoulli":
            return F.binary_cross_entropy_with_logits(logits, x, reduction="none").flatten(1).sum(1)
        if self.log_theta is not None:
            return counts_nll(F.log_softmax(logits.flatten(1), 1), x, self.log_theta)
        squares = ((x - torch.sigmoid(logits)) ** 2).flatten(1).sum(1)
        if self.log_sigma is not None:
            normaliser = x[0].numel() * (self.log_sigma + 0.5 * math.log(2 * math.pi))
            return squares * (-2 * self.log_sigma).exp() / 2 + normaliser
        return squares / (2 * self.given**2) + x[0].numel() * (math.log(self.given) + 0.5 * math.log(2 * math.pi))

    def divergence_of(self, logits: Tensor, reference: Tensor) -> Tensor:
        """KL(pixels under the output `reference` || pixels under the output `logits`), summed over the image. [b]"""
        mean = torch.sigmoid(reference)
        return self.nll_of(logits, mean) - self.nll_of(reference, mean)


def counts_nll(log_shares: Tensor, x: Tensor, log_theta: Tensor) -> Tensor:
    """-log p of rows of counts in nats, given the share of each feature in the sum of a row. -> [b]

    Args:
        log_shares: [b, d]
        x: log(1 + count), [b, 1, 1, d]
        log_theta: [d]
    """
    counts = torch.expm1(x.flatten(1)).round()
    log_library = counts.sum(1, keepdim=True).clamp(min=1).log()
    return negative_log_probability(counts, log_shares + log_library, log_theta).sum(1)


def _down(before: int, after: int, depth: int) -> nn.Module:
    """Halves the image; 4x4 kernels in the first two layers and 2x2 in the others, as in the paper."""
    return HalvingConv(before, after) if depth < 2 else nn.Conv2d(before, after, 2, 2)


def _for_features(net: str, shape: Shape) -> str:
    return "dense" if net in ("conv", "contrast") and shape[:2] == (1, 1) else net


def _contrast_sizes(shape: Shape, width: int) -> tuple[list[int], list[int], list[int]]:
    """Channels and strides of the convolutions, and the side of the image before each and after the last.

    They halve the image until its side is 6 or less, with one more convolution between each two halvings.
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
        layers += [nn.Conv2d(before, after, 3, stride, 1), group_norm(after), nn.LeakyReLU(0.2)]
    return [*layers, nn.Flatten(), nn.Linear(channels[-1] * sides[-1] ** 2, outputs)]


def _contrast_up(shape: Shape, inputs: int, width: int) -> list[nn.Module]:
    channels, strides, sides = (sizes[::-1] for sizes in _contrast_sizes(shape, width))
    layers: list[nn.Module] = [nn.Linear(inputs, channels[0] * sides[0] ** 2), nn.LeakyReLU(0.2)]
    layers += [nn.Unflatten(1, (channels[0], sides[0], sides[0]))]
    for (before, after), stride, side in zip(pairwise(channels), strides, sides[1:], strict=True):
        extra = 1 if stride == 2 and side % 2 == 0 else 0
        layers += [nn.ConvTranspose2d(before, after, 3, stride, 1, extra), group_norm(after), nn.LeakyReLU(0.2)]
    return layers[:-2]
