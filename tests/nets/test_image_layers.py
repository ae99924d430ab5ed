from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.nets import image_layers
from unbraid.nets.image_layers import Double, DoublingConv, Halve, HalvingConv, doubled

Layers = tuple[nn.Module, nn.Module, tuple[int, ...]]


def twins(kind: str, channels: int) -> Layers:
    ours: nn.Module
    torchs: nn.Module
    if kind == "halving":
        ours, torchs, shape = HalvingConv(channels, 5), nn.Conv2d(channels, 5, 4, 2, 1), (2, channels, 6, 10)
    else:
        ours, torchs, shape = DoublingConv(5, channels), nn.ConvTranspose2d(5, channels, 4, 2, 1), (2, 5, 3, 5)
    torchs.load_state_dict(ours.state_dict())
    return ours.double(), torchs.double(), shape


@pytest.mark.parametrize("channels", [1, 3, 4, 7])
@pytest.mark.parametrize("kind", ["halving", "doubling"])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_values_and_all_gradients_are_those_of_torchs_layer(
    kind: str, channels: int, layout: torch.memory_format
) -> None:
    ours, torchs, shape = twins(kind, channels)
    x = torch.randn(shape, dtype=torch.float64).contiguous(memory_format=layout)
    found: list[list[Tensor]] = []
    for layer in (ours, torchs):
        layer.to(memory_format=layout)  # type: ignore[call-overload]
        image = x.clone().requires_grad_()
        output = layer(image)
        first = torch.autograd.grad(output.square().sum(), [image, *layer.parameters()], create_graph=True)
        second = torch.autograd.grad(torch.stack([(g**3).sum() for g in first]).sum(), [image, *layer.parameters()])
        found.append([output, *first, *second])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


def test_the_functions_know_their_own_derivatives() -> None:
    small, image = torch.randn(1, 3, 2, 3), torch.randn(1, 2, 4, 6)
    weight = torch.randn(3, 2, 4, 4)
    for function, x in ((Double, small), (Halve, image)):
        arguments = [t.double().requires_grad_() for t in (x, weight)]
        assert torch.autograd.gradcheck(function.apply, arguments)
        assert torch.autograd.gradgradcheck(function.apply, arguments)


def test_each_output_pixel_is_the_sum_of_its_four_sources() -> None:
    x, weight = torch.randn(1, 2, 3, 3, dtype=torch.float64), torch.randn(2, 1, 4, 4, dtype=torch.float64)
    expected = torch.zeros(6, 6, dtype=torch.float64)
    for row in range(3):
        for column in range(3):
            for r in range(4):
                for c in range(4):
                    at = 2 * row + r - 1, 2 * column + c - 1
                    if 0 <= at[0] < 6 and 0 <= at[1] < 6:
                        expected[at] += (x[0, :, row, column] * weight[:, 0, r, c]).sum()
    torch.testing.assert_close(doubled(x, weight)[0, 0], expected)


def test_the_fast_form_is_taken_in_training_alone_and_for_few_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[int]()

    def counted(x: Tensor, weight: Tensor) -> Tensor:
        calls.append(weight.shape[1])
        return F.conv_transpose2d(x, weight, stride=2, padding=1)

    monkeypatch.setattr(image_layers, "doubled", counted)
    x = torch.randn(2, 5, 4, 4)
    for channels in (1, 3, 8):
        DoublingConv(5, channels)(x)
        with torch.no_grad():
            DoublingConv(5, channels)(x)
    assert calls == [1, 3]
    for channels in (1, 3, 8):
        image = torch.randn(2, channels, 4, 4)
        HalvingConv(channels, 5)(image).sum().backward()  # nobody asks for the gradient of the image
        HalvingConv(channels, 5)(image.requires_grad_()).sum().backward()
    assert calls == [1, 3, 1, 3]
