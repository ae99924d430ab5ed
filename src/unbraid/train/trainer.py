"""The only optimiser code: one step of training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from unbraid.data.batch import Batch
from unbraid.errors import UserError
from unbraid.methods.contract import Group, Method


class Trainer:
    """Takes each group's gradient with respect to that group's parameters only, then steps those groups."""

    def __init__(self, method: Method[Any]) -> None:
        self.method, self.groups = method, {name: _trainable(name, group) for name, group in method.groups().items()}
        owned = [id(p) for group in self.groups.values() for p in group.parameters]
        if len(owned) != len(set(owned)):
            raise ValueError("two groups share a parameter")
        self.optimisers = {name: _optimiser(group) for name, group in self.groups.items()}
        self.rates = {  # as they were given: a checkpoint holds those of its step
            name: [part["lr"] for part in optimiser.param_groups] for name, optimiser in self.optimisers.items()
        }

    def scale_rates(self, share: float, step: int = 0) -> None:
        """Every learning rate becomes this share of the one that was given, by the schedule of its group."""
        for name, optimiser in self.optimisers.items():
            schedule = self.groups[name].schedule
            for part, rate in zip(optimiser.param_groups, self.rates[name], strict=True):
                part["lr"] = share * rate * (1.0 if schedule is None else schedule(step))

    def step(self, batch: Batch, step: int) -> dict[str, Tensor]:
        """One update; gives the loss and its terms."""
        losses = self.method.losses(batch, step)
        record: dict[str, Tensor] = {}
        for i, (name, loss) in enumerate(losses.items(), 1):
            parameters = self.groups[name].parameters
            gradients = torch.autograd.grad(loss.value, parameters, retain_graph=i < len(losses), allow_unused=True)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient if gradient is None else _laid_out_like(parameter, gradient)
            record |= {"loss" if name == "model" else name: loss.value.detach(), **loss.terms}
        for name in losses:
            self.optimisers[name].step()
        self.method.after_step(step)
        return record


def _laid_out_like(parameter: Tensor, gradient: Tensor) -> Tensor:
    """The fused Adam walks both through memory, so they must lie there alike."""
    if gradient.stride() == parameter.stride():
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


def _trainable(name: str, group: Group) -> Group:
    """The group without the weights that are frozen."""
    parameters = [parameter for parameter in group.parameters if parameter.requires_grad]
    if not parameters:
        raise UserError(f"there is nothing to train: all weights of the group '{name}' are frozen (requires_grad)")
    return replace(group, parameters=parameters)


def _optimiser(group: Group) -> torch.optim.Optimizer:
    if group.optimiser is not None:
        return group.optimiser(group.parameters)
    return torch.optim.Adam(group.parameters, lr=group.lr, betas=group.betas, fused=True)
