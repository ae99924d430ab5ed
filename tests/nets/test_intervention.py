from __future__ import annotations

import pytest
import torch
from torch import nn

from unbraid.nets import intervention


@pytest.mark.parametrize(
    ("shape", "width", "encoder", "decoder"),
    [
        ((1, 64, 64), 32, [32, 32, 64, 64, 128, 10], [128, 1024, 64, 32, 32, 1]),
        ((3, 28, 28), 64, [64, 128, 128, 10], [3136, 64, 3]),
        ((3, 64, 64), 128, [128, 128, 256, 256, 512, 10], [512, 4096, 256, 128, 128, 3]),
    ],
)
def test_networks_are_those_of_the_tables(
    shape: tuple[int, int, int], width: int, encoder: list[int], decoder: list[int]
) -> None:
    def outputs(net: nn.Module) -> list[int]:
        kinds = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
        return [
            m.out_features if isinstance(m, nn.Linear) else m.out_channels
            for m in net.modules()
            if isinstance(m, kinds)
        ]

    assert outputs(intervention.encoder(shape, 10, width=width)) == encoder
    assert outputs(intervention.decoder(shape, 10, width=width)) == decoder
    z = intervention.encoder(shape, 10, width=width)(torch.zeros(2, *shape))
    assert intervention.decoder(shape, 10, width=width)(z).shape == (2, *shape)


def test_critics_of_the_tables() -> None:
    units = [
        m.out_features
        for m in intervention.scalar((3, 64, 64), width=64, layers=2, leak=0.2).modules()
        if isinstance(m, nn.Linear)
    ]
    assert units == [256, 256, 1]
    units = [
        m.out_features
        for m in intervention.scalar((3, 28, 28), width=64, layers=1, leak=0.0).modules()
        if isinstance(m, nn.Linear)
    ]
    assert units == [128, 1]


@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 28, 28), (3, 64, 64)])
def test_untrained_networks_pass_differences_between_images_on(shape: tuple[int, int, int]) -> None:
    """Each layer keeps the scale, so that what differs at the input differs at the output."""
    torch.manual_seed(0)
    x = torch.randn(32, *shape)
    z = intervention.encoder(shape, 10, width=32)(x)
    assert 0.3 < z.std(0).mean() < 3
    assert 0.2 < intervention.decoder(shape, 10, width=32)(torch.randn(32, 10)).std(0).mean() < 3
    assert 0.2 < intervention.scalar(shape, width=32, layers=2, leak=0.2)(x).std(0).mean() < 4
