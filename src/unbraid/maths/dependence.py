"""Dependence between the dimensions of a code."""

from __future__ import annotations

import torch
from torch import Tensor


def permute_dims(z: Tensor) -> Tensor:
    """Shuffles each column over the batch independently: samples of the product of the marginals. [b, k] -> [b, k]"""
    order = torch.rand_like(z).argsort(0)
    return z.gather(0, order)
