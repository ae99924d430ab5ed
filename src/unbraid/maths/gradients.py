"""Gradients of one loss for several parts of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def one_backward_pass(total: Tensor, *parts: nn.Module) -> list[Tensor]:
    """For each part a scalar with the value of `total` and its gradient with respect to that part's parameters."""
    owned = [list(part.parameters()) for part in parts]
    gradients = iter(torch.autograd.grad(total, [p for own in owned for p in own], retain_graph=True))
    linear = [sum(((p - p.detach()) * next(gradients)).sum() for p in own) for own in owned]
    return [total.detach() + each for each in linear]
