"""Gradients of one loss for several parts of a model."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def one_backward_pass(total: Tensor, *parts: nn.Module) -> list[Tensor]:
    """For each part a scalar of value 0 that has the gradient of `total` with respect to that part's parameters."""
    owned = [[p for p in part.parameters() if p.requires_grad] for part in parts]
    gradients = iter(torch.autograd.grad(total, [p for own in owned for p in own]))
    zero = torch.zeros_like(total)
    return [sum((((p - p.detach()) * next(gradients)).sum() for p in own), zero) for own in owned]


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """x, through which gradients pass `factor` times as large."""
    same = x.view_as(x)
    if same.requires_grad:
        same.register_hook(lambda gradient: factor * gradient)  # type: ignore[no-untyped-call]
    return same
