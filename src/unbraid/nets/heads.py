"""Small parts that methods with classes and known nuisances share."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.data.table import Spec
from unbraid.errors import UserError


def perceptron(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes with a ReLU between two of them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def need_classes(spec: Spec, method: str) -> None:
    if not spec.classes:
        raise UserError(f"{method} predicts a class, and this data set has none: choose one whose rows have a label")


def need_nuisances(spec: Spec, method: str) -> None:
    if not spec.nuisances:
        raise UserError(f"{method} needs nuisances whose values are known, and this data set names none")


def one_hot(s: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Every nuisance as a row of zeros with a one, side by side. [b, m] -> [b, sum of sizes]"""
    return torch.cat([F.one_hot(s[:, i], n) for i, n in enumerate(sizes)], -1).float()


def no_nuisance(n: int, sizes: tuple[int, ...]) -> Tensor:
    """In the place of `one_hot` where nothing is known: every value of a nuisance alike. -> [n, sum of sizes]"""
    return torch.cat([torch.full((n, size), 1 / size) for size in sizes], -1)
