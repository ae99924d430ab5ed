"""The networks of "Unsupervised disentanglement learning by intervention" (tables 4 to 9), for images of any even size.

Images that can be halved down to 4x4 (64x64 and 32x32) get one 4x4 convolution for each halving and a layer of 4 width
units: tables 4 and 5 with a width of 32, tables 8 and 9 with 128 and 64. Others (28x28, halved to 7x7) get one more 3x3
convolution, and the layer, of 2 width units, only where the output is one number: tables 6 and 7 with a width of 64.
"""

from __future__ import annotations

from itertools import pairwise

from torch import nn

from unbraid.nets.autoencoders import Decoder
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.nets.layers import Shape, channels_last, halvings, he_normal


def encoder(shape: Shape, outputs: int, *, width: int) -> nn.Module:
    """Images [b, c, h, w] -> [b, outputs]"""
    layers, flat, hidden = _down(shape, width, leak=0.0)
    if halvings(shape, width)[1] == 4:
        layers, flat = [*layers, nn.Linear(flat, hidden), nn.ReLU()], hidden
    return channels_last(_keep_scale(nn.Sequential(*layers, nn.Linear(flat, outputs))))


def decoder(shape: Shape, inputs: int, *, width: int) -> Decoder:
    """Codes [b, inputs] -> images [b, c, h, w]"""
    channels, side = halvings(shape, width)
    top = channels[-1] if side == 4 else width
    layers: list[nn.Module] = []
    if side == 4:
        layers, inputs = [nn.Linear(inputs, 4 * width), nn.ReLU()], 4 * width
    layers += [nn.Linear(inputs, top * side**2), nn.ReLU(), nn.Unflatten(1, (top, side, side))]
    sizes = [*channels[::-1], shape[0]] if side == 4 else [width, *channels[-2::-1], shape[0]]
    for before, after in pairwise(sizes):
        layers += [DoublingConv(before, after), nn.ReLU()]
    return Decoder(channels_last(_keep_scale(nn.Sequential(*layers[:-1]))), "bernoulli")


def scalar(shape: Shape, *, width: int, layers: int, leak: float) -> nn.Module:
    """Images [b, c, h, w] -> [b, 1]: the logit of the critic, or the logarithm of a weight."""
    found, flat, hidden = _down(shape, width, leak)
    for before in [flat, *[hidden] * (layers - 1)]:
        found += [nn.Linear(before, hidden), nn.LeakyReLU(leak)]
    return channels_last(_keep_scale(nn.Sequential(*found, nn.Linear(hidden, 1))))


def _keep_scale(net: nn.Sequential) -> nn.Sequential:
    """Initial weights that keep the scale of rectified signals, and biases of 0; with torch's own, signals shrink to
    1/1000 on their way through encoder and decoder, and the code stays unused for hundreds of steps."""
    for layer in net:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            he_normal(layer)
        elif isinstance(layer, nn.ConvTranspose2d):  # with a kernel of 4 and a stride of 2 a pixel has 2x2 sources
            nn.init.normal_(layer.weight, 0.0, (2 / (4 * layer.in_channels)) ** 0.5)
        if isinstance(layer, nn.Conv2d | nn.Linear | nn.ConvTranspose2d) and layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return net


def _down(shape: Shape, width: int, leak: float) -> tuple[list[nn.Module], int, int]:
    """The convolutions, the number of values that they output, and the units of the layer that may follow."""
    channels, side = halvings(shape, width)
    layers: list[nn.Module] = []
    for before, after in zip([shape[0], *channels], channels, strict=False):
        layers += [HalvingConv(before, after), nn.LeakyReLU(leak)]
    if side != 4:
        layers += [nn.Conv2d(channels[-1], channels[-1], 3, 1, 1), nn.LeakyReLU(leak)]
    return [*layers, nn.Flatten()], channels[-1] * side**2, (4 if side == 4 else 2) * width
