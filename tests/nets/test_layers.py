from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid.errors import UserError
from unbraid.nets import layers


@pytest.mark.parametrize(("leak", "unit"), [(0.0, nn.ReLU), (0.2, nn.LeakyReLU)])
def test_dense_layers_have_a_unit_between_each_two_and_none_at_the_end(leak: float, unit: type[nn.Module]) -> None:
    net = layers.dense(3, 5, 4, 2, leak=leak)
    assert [type(layer) for layer in net] == [nn.Linear, unit, nn.Linear, unit, nn.Linear]
    assert [(m.in_features, m.out_features) for m in net if isinstance(m, nn.Linear)] == [(3, 5), (5, 4), (4, 2)]
    assert [-m(torch.tensor(-1.0)).item() for m in net if isinstance(m, unit)] == pytest.approx([leak, leak])


@pytest.mark.parametrize(("channels", "groups"), [(1, 1), (8, 1), (16, 2), (28, 2), (36, 4), (37, 1), (64, 8)])
def test_groups_divide_the_channels(channels: int, groups: int) -> None:
    assert layers.group_norm(channels).num_groups == groups


def test_a_layer_on_the_direction_does_not_see_the_length() -> None:
    layer, x = layers.LinearOnDirection(4, 2), torch.randn(3, 4)
    torch.testing.assert_close(layer(7 * x), layer(x))
    unit = x / x.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(x), unit @ layer.weight.T + layer.bias)


@pytest.mark.parametrize(
    ("side", "channels", "last"), [(64, [8, 8, 16, 16], 4), (32, [8, 8, 16], 4), (28, [8, 16], 7), (12, [8, 16], 3)]
)
def test_images_are_halved_to_4_or_for_as_long_as_the_side_is_even(side: int, channels: list[int], last: int) -> None:
    assert layers.halvings((1, side, side), 8) == (channels, last)
    with pytest.raises(UserError, match="square images with a side divisible by 4"):
        layers.halvings((1, side, side + 2), 8)
