from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid.errors import UserError
from unbraid.nets import resnet


def weights(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(("net", "published"), [("resnet34", 21_797_672), ("resnet18", 11_689_512)])
def test_residual_networks_have_the_weights_of_the_published_ones(net: str, published: int) -> None:
    """Those for ImageNet have a 7x7 stem and a classifier of 1,000 classes besides."""
    with torch.device("meta"):
        small = weights(resnet.encoder(net, (3, 64, 64), width=64))
    assert small == published - 1000 * 513 - 64 * 3 * (49 - 9)


@pytest.mark.parametrize(
    ("net", "layers"), [("resnet34", 34), ("resnet18", 18), ("resnet10", 10), ("conv4", 5), ("pooled4", 5)]
)
def test_the_names_count_the_layers_with_weights(net: str, layers: int) -> None:
    with torch.device("meta"):
        found = resnet.encoder(net, (3, 32, 32), width=8)
    weighted = [m for m in found.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    shortcuts = [m for m in weighted if getattr(m, "kernel_size", None) == (1, 1)]
    classifiers = 1 if net.startswith("resnet") else 0  # the published names count the classifier, which is not here
    assert len(weighted) - len(shortcuts) + classifiers == layers


def test_the_stem_keeps_small_images_whole_and_the_last_stage_sees_an_eighth() -> None:
    net = resnet.encoder("resnet18", (3, 32, 32), width=8)
    assert isinstance(net, nn.Sequential)
    x = torch.rand(2, 3, 32, 32)
    sides = []
    for layer in list(net)[:-2]:
        x = layer(x)
        sides.append(x.shape[-1])
    assert sides == [32, 32, 32, 32, 32, 16, 16, 8, 8, 4, 4]
    torch.testing.assert_close(net(torch.rand(2, 3, 32, 32)).shape, torch.Size([2, 64]))


def test_a_shortcut_carries_the_image_past_a_body_that_is_off() -> None:
    block = resnet.Residual(8, 8, 1)
    last = block.body[-1]
    assert isinstance(last, nn.GroupNorm)
    nn.init.zeros_(last.weight)
    x = torch.randn(2, 8, 5, 5)
    torch.testing.assert_close(block(x), x.relu())


@pytest.mark.parametrize("net", ["conv4", "pooled4", "resnet10"])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 64, 64), (1, 12, 12)])
def test_an_image_does_not_see_the_others_of_its_batch(net: str, shape: tuple[int, int, int]) -> None:
    found = resnet.encoder(net, shape, width=4)
    x = torch.rand(3, *shape)
    together, alone = found(x), found(x[:1])
    assert together.shape == (3, 32)
    torch.testing.assert_close(together[:1], alone, rtol=1e-4, atol=1e-5)
    assert (together[0] - together[1]).abs().max() > 1e-4


def test_signals_keep_their_scale_through_the_convolutions() -> None:
    """Torch's own start lets the mean square fall more than thirtyfold; zeros beyond the border cost a little."""
    torch.manual_seed(0)
    x = torch.randn(64, 3, 64, 64)
    net = resnet.encoder("conv4", (3, 64, 64), width=16)
    assert isinstance(net, nn.Sequential)
    assert 0.25 < (net[:-2](x) ** 2).mean().item() < 2


def test_a_pooled_network_has_features_wherever_a_thing_is_and_sees_no_contrast() -> None:
    torch.manual_seed(0)
    net = resnet.encoder("pooled4", (1, 96, 96), width=4)
    assert isinstance(net, nn.Sequential)
    thing, here, there = torch.rand(1, 1, 16, 16), *torch.zeros(2, 1, 1, 96, 96)
    here[..., 32:48, 32:48] = there[..., 40:56, 48:64] = thing
    torch.testing.assert_close(net(here), net(there), rtol=1e-3, atol=1e-4)
    with torch.no_grad():
        for layer in (net[0], net[3], net[6], net[9]):
            layer.bias.zero_()  # type: ignore[operator]
    torch.testing.assert_close(net(3 * here), net(here), rtol=1e-3, atol=1e-3)
    assert (net(here) - net(torch.rand(1, 1, 96, 96))).abs().max() > 0.01


@pytest.mark.parametrize("shape", [(4, 8, 5, 3), (2, 3, 1, 1), (3, 8, 4, 4)])
def test_the_mean_over_places_is_one_with_a_gradient_that_has_channels_last(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape).contiguous(memory_format=torch.channels_last).requires_grad_()
    slope = torch.randn(*shape[:2], 1, 1)
    found = resnet.MeanOverPlaces()(x)
    torch.testing.assert_close(found, x.mean((2, 3), keepdim=True))
    (gradient,) = torch.autograd.grad(found, x, slope)
    torch.testing.assert_close(gradient, slope.expand(shape) / (shape[2] * shape[3]))
    assert gradient.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("net", "shape", "message"),
    [("resnet43", (3, 32, 32), "did you mean 'resnet34'"), ("conv4", (1, 1, 40), "needs images of 8 pixels or more")],
)
def test_what_cannot_be_built_is_refused(net: str, shape: tuple[int, int, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        resnet.encoder(net, shape, width=8)
