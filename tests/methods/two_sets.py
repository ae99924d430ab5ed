"""A target and a background of squares, and codes that are told, for the tests of their methods."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import TargetBackground
from unbraid.data.samplers import sampler
from unbraid.methods.contract import Method

TABLE = Squares()
SMALL: dict[str, Any] = {"net": "dense", "width": 2, "common": 4, "salient": 3}
B = 8


def batch() -> TargetBackground:
    drawn = sampler(TABLE, TargetBackground, batch=B, seed=0)(0).on("cpu")
    assert isinstance(drawn, TargetBackground)
    return drawn


def build(kind: type[Method[TargetBackground]], **arguments: Any) -> Any:
    torch.manual_seed(0)
    return kind(TABLE.spec, **SMALL, **arguments)


def loss(method: Any, of: TargetBackground | None = None) -> dict[str, Any]:
    torch.manual_seed(1)
    return dict(method.losses(of or batch(), 0))


class Told(nn.Module):
    """An encoder that gives what it was told, so that losses can be computed by hand."""

    def __init__(self, outputs: Tensor) -> None:
        super().__init__()
        self.outputs = nn.Parameter(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs


def told(method: Any) -> tuple[Tensor, Tensor]:
    """Gives the method means and log variances of its own, targets first."""
    torch.manual_seed(5)
    outputs = torch.randn(2 * B, 14)
    method.encoder = Told(outputs)
    return outputs[:, :7], outputs[:, 7:]
