"""The generator and the discriminator of InfoGAN and InfoGAN-CR."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.errors import UserError
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.nets.layers import Shape, halvings
from unbraid.nets.normalisation import BatchNorm, spectral


class Generator(nn.Module):
    """Codes and noise [b, inputs] -> images in [0, 1]: two dense layers, then convolutions that double the side."""

    def __init__(self, shape: Shape, inputs: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        channels, side = halvings(shape, width)
        top = channels[-1]
        layers: list[nn.Module] = [nn.Linear(inputs, 4 * width), BatchNorm(4 * width), nn.ReLU()]
        layers += [nn.Linear(4 * width, top * side**2), BatchNorm(top * side**2), nn.ReLU()]
        layers += [nn.Unflatten(1, (top, side, side))]
        outputs = [*channels[-2::-1], shape[0]]
        for before, after in zip([top, *outputs], outputs, strict=False):
            layers += [DoublingConv(before, after), BatchNorm(after), nn.ReLU()]
        self.net = nn.Sequential(*layers[:-2], nn.Sigmoid())

    def forward(self, z: Tensor) -> Tensor:
        if self.training and len(z) < 2:
            raise UserError("the generator's batch normalisation needs a batch of two or more")
        images: Tensor = self.net(z)
        return images

    def without_noise(self, c: Tensor) -> Tensor:
        """Images from codes [b, codes], with the noise at 0."""
        images: Tensor = self(torch.cat([c, c.new_zeros(c.shape[0], self.inputs - c.shape[1])], 1))
        return images


class Discriminator(nn.Module):
    """The log odds that an image is real [b], and the mean of the code that it was generated from [b, codes]."""

    def __init__(self, shape: Shape, codes: int, width: int) -> None:
        super().__init__()
        self.trunk, self.real = image_features(shape, width), spectral(nn.Linear(4 * width, 1))
        self.code = nn.Sequential(nn.Linear(4 * width, 4 * width), nn.LeakyReLU(0.2), nn.Linear(4 * width, codes))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.trunk(x)
        return self.real(features).squeeze(1), self.code(features)

    def compare(self, x: Tensor, generated: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The log odds of real images and of generated ones, and the means of the codes of the latter, in one pass."""
        odds, mean = self(torch.cat([x, generated]))
        return odds[: len(x)], odds[len(x) :], mean[len(x) :]


def shared_code(shape: Shape, codes: int, width: int) -> nn.Sequential:
    """Two images as the channels of one [b, 2 c, h, w] -> logits of the one code that they share [b, codes]."""
    channels, height, side = shape
    last = spectral(nn.Linear(4 * width, codes))
    return nn.Sequential(image_features((2 * channels, height, side), width), last)


def image_features(shape: Shape, width: int) -> nn.Sequential:
    """Images [b, c, h, w] -> [b, 4 width]; every layer has a spectral norm of 1."""
    channels, side = halvings(shape, width)
    layers: list[nn.Module] = []
    for before, after in zip([shape[0], *channels], channels, strict=False):
        layers += [spectral(HalvingConv(before, after)), nn.LeakyReLU(0.2)]
    layers += [nn.Flatten(), spectral(nn.Linear(channels[-1] * side**2, 4 * width)), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers)
