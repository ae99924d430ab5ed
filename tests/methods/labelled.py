"""Labelled batches with two nuisances, for the tests of classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from tests.toys import Squares
from unbraid.data.batch import Labelled
from unbraid.data.samplers import sampler
from unbraid.train.trainer import Trainer

TABLE = Squares()
SPEC = replace(TABLE.spec, nuisances=(*TABLE.spec.nuisances, 3))


def batch(n: int = 12) -> Labelled:
    """With a second nuisance of three values beside the table's own."""
    drawn = sampler(TABLE, Labelled, batch=n, seed=0)(0).on("cpu")
    assert isinstance(drawn, Labelled)
    return replace(drawn, s=torch.stack([drawn.s[:, 0], torch.arange(n) // 2 % 3], 1))


def build(kind: Any, **arguments: Any) -> Any:
    torch.manual_seed(0)
    return kind(SPEC, **{"width": 4, **arguments})


def losses(method: Any, step: int = 0) -> Any:
    torch.manual_seed(1)
    return method.losses(batch(), step)


def trained_gradients(method: Any, parameters: Any, step: int = 0) -> list[torch.Tensor]:
    torch.manual_seed(1)
    Trainer(method).step(batch(), step)
    return [parameter.grad.clone() for parameter in parameters]
