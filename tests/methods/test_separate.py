"""One encoder for both blocks of a code, or one for each."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.toys import Squares
from unbraid import catalogue
from unbraid.methods.contract import Method
from unbraid.nets import autoencoders as nets

TABLE = Squares()
SIZES = {
    **{name: {"salient": 3, "common": 4} for name in ("salient_vae", "cvae", "rb_vae", "srb_vae")},
    "swap_vae": {"predictive": 3, "nuisance": 4},
}


def build(name: str, *, separate: bool) -> Method[Any]:
    torch.manual_seed(0)
    method: Method[Any] = catalogue.find("methods", name).load()(
        TABLE.spec, net="dense", width=2, separate=separate, **SIZES[name]
    )
    return method


@pytest.mark.parametrize("name", SIZES)
def test_a_change_of_one_encoder_changes_its_block_alone(name: str) -> None:
    method, x = build(name, separate=True), torch.rand(5, *TABLE.shape)
    first = next(iter(method.blocks))  # in the order of the networks
    before = method.posterior(x)
    for weight in method.encoder.first.parameters():  # type: ignore[union-attr]
        nn.init.normal_(weight)
    for block, (mu, log_var) in method.posterior(x).items():
        assert mu.shape == (5, method.blocks[block])
        for found, kept in zip((mu, log_var), before[block], strict=True):
            assert torch.equal(found, kept) == (block != first)


@pytest.mark.parametrize("name", SIZES)
def test_one_encoder_for_both_unless_asked_for(name: str) -> None:
    one, two = (build(name, separate=flag) for flag in (False, True))
    assert isinstance(one.encoder, nn.Sequential)
    sizes = [sum(p.numel() for p in m.encoder.parameters()) for m in (one, two)]
    apart = [nets.encoder("dense", TABLE.shape, 2 * d, width=2) for d in (3, 4)]
    assert sizes[1] == sum(p.numel() for network in apart for p in network.parameters()) > 1.9 * sizes[0]


def test_means_come_before_log_variances() -> None:
    class Constant(nn.Module):
        def __init__(self, *values: float) -> None:
            super().__init__()
            self.values = torch.tensor(values)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.values.expand(len(x), -1)

    both = nets.SeparateEncoders(Constant(1, 2, -1, -2), Constant(3, -3))
    assert both(torch.zeros(2, 1, 8, 8)).tolist() == [[1, 2, 3, -1, -2, -3]] * 2


def test_a_code_of_one_block_has_one_encoder() -> None:
    assert isinstance(nets.block_encoder("dense", (1, 8, 8), (0, 4), width=2, separate=True), nn.Sequential)
