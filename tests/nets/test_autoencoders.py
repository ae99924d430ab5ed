from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from unbraid.errors import UserError
from unbraid.nets import autoencoders as nets


def layers(module: nn.Module) -> list[str]:
    return [
        f"{'Conv2d' if isinstance(m, nn.Conv2d) else 'ConvTranspose2d'} {m.out_channels} {m.kernel_size[0]}"
        for m in module.modules()
        if isinstance(m, nn.Conv2d | nn.ConvTranspose2d)
    ]


def test_the_network_of_the_study_at_64() -> None:
    assert layers(nets.encoder("conv", (1, 64, 64), 20, width=32)) == [
        "Conv2d 32 4",
        "Conv2d 32 4",
        "Conv2d 64 2",
        "Conv2d 64 2",
    ]
    decoder = nets.decoder("conv", (3, 64, 64), 10, width=32, likelihood="bernoulli")
    assert layers(decoder) == [f"ConvTranspose2d {c} 4" for c in (64, 32, 32, 3)]
    assert [m.out_features for m in decoder.modules() if isinstance(m, nn.Linear)] == [256, 1024]


@pytest.mark.parametrize(
    ("side", "strides"), [(28, [2, 1, 2, 1, 2]), (64, [2, 1, 2, 1, 2, 1, 2]), (96, [2, 1, 2, 1, 2, 1, 2])]
)
def test_the_network_for_two_sets_has_the_layers_of_the_paper(side: int, strides: list[int]) -> None:
    """5 convolutions and a dense layer at 28x28, 8 layers at 64x64 and 96x96, and the same backwards."""
    encoder = nets.encoder("contrast", (3, side, side), 48, width=32)
    decoder = nets.decoder("contrast", (3, side, side), 24, width=32, likelihood="gaussian")
    for net, kind, expected in ((encoder, nn.Conv2d, strides), (decoder, nn.ConvTranspose2d, strides[::-1])):
        found = [m.stride[0] for m in net.modules() if isinstance(m, kind)]
        assert found == expected
        assert sum(isinstance(m, nn.Linear) for m in net.modules()) == 1
        assert sum(isinstance(m, nn.GroupNorm) for m in net.modules()) == len(strides) - (kind is nn.ConvTranspose2d)


def test_an_image_does_not_see_the_others_of_its_batch() -> None:
    net = nets.encoder("contrast", (1, 28, 28), 5, width=8)
    x = torch.rand(4, 1, 28, 28)
    torch.testing.assert_close(net(x)[:1], net(x[:1]))


@pytest.mark.parametrize("width", [1, 12, 28])
def test_widths_that_are_no_multiple_of_8_can_be_normalised(width: int) -> None:
    x = torch.rand(2, 1, 28, 28)
    code = nets.encoder("contrast", (1, 28, 28), 5, width=width)(x)
    decoder = nets.decoder("contrast", (1, 28, 28), 5, width=width, likelihood="gaussian")
    assert decoder.mean(code).shape == x.shape


def test_vectors_of_features_get_dense_layers() -> None:
    net = nets.encoder("contrast", (1, 1, 40), 5, width=2)
    assert [m.out_features for m in net.modules() if isinstance(m, nn.Linear)] == [32, 16, 5]


@pytest.mark.parametrize("net", nets.NETS)
@pytest.mark.parametrize("shape", [(1, 64, 64), (3, 32, 32), (1, 28, 28), (3, 96, 96), (1, 12, 12)])
def test_decoders_mirror_encoders_at_every_size(net: str, shape: tuple[int, int, int]) -> None:
    x = torch.rand(2, *shape)
    code = nets.encoder(net, shape, 7, width=8)(x)
    assert code.shape == (2, 7)
    assert nets.decoder(net, shape, 7, width=8, likelihood="bernoulli").mean(code).shape == x.shape


def test_likelihoods_are_normalised_densities() -> None:
    """exp(-nll) sums to one over {0, 1}, and integrates to one over the line."""
    logits = torch.tensor([[[[0.3, -1.2]]]])
    bernoulli = nets.Decoder(nn.Identity(), "bernoulli")
    total = sum(
        bernoulli.nll_of(logits, torch.tensor([[[[float(a), float(b)]]]])).neg().exp() for a in (0, 1) for b in (0, 1)
    )
    assert float(total) == pytest.approx(1, rel=1e-6)
    line = torch.linspace(-3, 4, 70_001).view(-1, 1, 1, 1)
    densities = nets.Decoder(nn.Identity(), "gaussian").nll_of(torch.full_like(line, 0.3), line)
    # one image of 70,001 pixels would be a product; these are 70,001 images of one pixel
    assert densities.neg().exp().sum().item() * 1e-4 == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_divergence_is_that_between_the_distributions_of_the_pixels(likelihood: str) -> None:
    decoder = nets.Decoder(nn.Identity(), likelihood)
    new, old = torch.randn(2, 3, 1, 12, 12).unbind(0)
    a, b = torch.sigmoid(old).double().numpy(), torch.sigmoid(new).double().numpy()
    if likelihood == "bernoulli":
        expected = (a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))).sum((1, 2, 3))
    else:
        expected = ((a - b) ** 2).sum((1, 2, 3)) / (2 * 0.1**2)
    assert decoder.divergence_of(new, old).tolist() == pytest.approx(expected, rel=1e-4)


def test_nll_sums_over_the_image() -> None:
    decoder = nets.Decoder(nn.Identity(), "bernoulli")
    small, large = torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 8, 8)
    assert decoder.nll_of(small, small).item() == pytest.approx(16 * math.log(2), rel=1e-6)
    assert decoder.nll_of(large, large).item() == pytest.approx(64 * math.log(2), rel=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nets.encoder("conf", (1, 64, 64), 2, width=8), "did you mean 'conv'"),
        (lambda: nets.decoder("conv", (1, 64, 64), 2, width=8, likelihood="bernouli"), "did you mean 'bernoulli'"),
        (lambda: nets.encoder("conv", (1, 30, 30), 2, width=8), "divisible by 4, not 30x30"),
        (lambda: nets.encoder("conv", (1, 64, 32), 2, width=8), "square images"),
    ],
)
def test_what_cannot_be_built_is_refused(make: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()  # type: ignore[operator]
