"""The networks of "Unsupervised disentanglement learning by intervention" (tables 4 to 9), for images of any even size.

Images that halve down to 4x4 (64x64 and 32x32) have one 4x4 convolution for each halving and a layer of 4 width units:
tables 4 and 5 with a width of 32, 8 and 9 with 128 and 64. Others (28x28, down to 7x7) have a further 3x3 convolution,
and that layer, of 2 width units, only where one number comes out: tables 6 and 7 with a width of 64.
"""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from unbraid.nets import autoencoders as nets
from unbraid.nets.autoencoders import Shape


def encoder(shape: Shape, outputs: int, *, width: int) -> nn.Module:
    """Images [b, c, h, w] -> [b, outputs]"""
    layers, flat, hidden = _down(shape, width, leak=0.0)
    if nets.pyramid(shape, width)[1] == 4:
        layers, flat = [*layers, nn.Linear(flat, hidden), nn.ReLU()], hidden
    return nets.fast(_keeping_scale(nn.Sequential(*layers, nn.Linear(flat, outputs))))


def decoder(shape: Shape, inputs: int, *, width: int) -> nets.Decoder:
    """Codes [b, inputs] -> images [b, c, h, w]"""
    channels, side = nets.pyramid(shape, width)
    top = channels[-1] if side == 4 else width
    layers: list[nn.Module] = []
    if side == 4:
        layers, inputs = [nn.Linear(inputs, 4 * width), nn.ReLU()], 4 * width
    layers += [nn.Linear(inputs, top * side**2), nn.ReLU(), nn.Unflatten(1, (top, side, side))]
    sizes = [*channels[::-1], shape[0]] if side == 4 else [width, *channels[-2::-1], shape[0]]
    for before, after in pairwise(sizes):
        layers += [nn.ConvTranspose2d(before, after, 4, 2, 1), nn.ReLU()]
    return nets.Decoder(nets.fast(_keeping_scale(nn.Sequential(*layers[:-1]))), "bernoulli")


def judge(shape: Shape, *, width: int, layers: int, leak: float) -> nn.Module:
    """Images [b, c, h, w] -> [b, 1]: the discriminator's logit, or the logarithm of a weight."""
    found, flat, hidden = _down(shape, width, leak)
    for before in [flat, *[hidden] * (layers - 1)]:
        found += [nn.Linear(before, hidden), nn.LeakyReLU(leak)]
    return nets.fast(_keeping_scale(nn.Sequential(*found, nn.Linear(hidden, 1))))


def _keeping_scale(net: nn.Sequential) -> nn.Sequential:
    """Weights under which rectified signals neither grow nor fade (He et al. 2015, arXiv:1502.01852); torch's own let
    images fade to 1/1000 on their way through encoder and decoder, and the code is not used for hundreds of steps."""
    for layer in net:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        elif isinstance(layer, nn.ConvTranspose2d):  # with a kernel of 4 and a stride of 2 a pixel has 2x2 sources
            nn.init.normal_(layer.weight, 0.0, (2 / (4 * layer.in_channels)) ** 0.5)
        if isinstance(layer, nn.Conv2d | nn.Linear | nn.ConvTranspose2d) and layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return net


def _down(shape: Shape, width: int, leak: float) -> tuple[list[nn.Module], int, int]:
    """The convolutions, the number of values that come out of them, and the units of the layer that may follow."""
    channels, side = nets.pyramid(shape, width)
    layers: list[nn.Module] = []
    for before, after in zip([shape[0], *channels], channels, strict=False):
        layers += [nn.Conv2d(before, after, 4, 2, 1), nn.LeakyReLU(leak)]
    if side != 4:
        layers += [nn.Conv2d(channels[-1], channels[-1], 3, 1, 1), nn.LeakyReLU(leak)]
    return [*layers, nn.Flatten()], channels[-1] * side**2, (4 if side == 4 else 2) * width
