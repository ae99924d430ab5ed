"""An argument that reaches nothing is worse than none: each changes networks, rates, losses or gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.test_contract import NAMES, SMALL, TABLE
from unbraid import catalogue
from unbraid.config import Argument
from unbraid.data.samplers import sampler
from unbraid.train.trainer import Trainer

STEPS = (0, 3)
SMALLER = {**SMALL, "features": 3, "inner_steps": 2, "translator_width": 4}
OTHER: dict[str, Any] = {"lambda_d": 1.0, "contrast_from": 2, "c_steps": 2, "adversary_steps": 2, "heads": "one"}
WHERE: dict[str, dict[str, Any]] = {  # other arguments with which it matters
    **{name: {"likelihood": "gaussian"} for name in ("sigma", "learn_sigma")},
    **{name: {"contrast_from": 1, "gap": 1.0, "gap_steps": 10} for name in ("contrast", "gap", "gap_steps")},
    **{name: {"hessian": 0.1} for name in ("warm_up", "hessian_per_sample")},
    "literal_infomin": {"infomin": 0.1},
    "weight": {"two_step": False},
}


UNSEEN = {"swap_vae": ["divergence"]}  # it moves a threshold, and these codes are all on one side; see test_swap_vae


def another(argument: Argument) -> Any:
    """A value that is not the default."""
    default = argument.default
    if argument.name in OTHER:
        return OTHER[argument.name]
    if argument.type.startswith("Literal"):
        return next(choice for choice in argument.choices if choice != default)
    if isinstance(default, bool):
        return not default
    return default + 2 if isinstance(default, int) else default / 2 or 0.5


def everything(name: str, arguments: dict[str, Any]) -> list[Any]:
    """All that training sees of a method: its networks, its rates, losses at several steps and their gradients."""
    entry = catalogue.find("methods", name)
    small = {a.name: SMALLER[a.name] for a in entry.arguments if a.name in SMALLER}
    torch.manual_seed(0)
    method = entry.load()(TABLE.spec, **{**small, **arguments})
    draw = sampler(TABLE, method.batch_kind, batch=16, seed=0)
    found: list[Any] = [{key: tuple(value.shape) for key, value in method.state_dict().items()}]
    groups = method.groups()
    parts = [part for optimiser in Trainer(method).optimisers.values() for part in optimiser.param_groups]
    found += [{**part, "params": len(part["params"])} for part in parts]
    found += [[group.schedule(step) for step in STEPS] for group in groups.values() if group.schedule]
    for step in STEPS:
        torch.manual_seed(step)
        for key, loss in method.losses(draw(step).on("cpu"), step).items():
            parameters = [p for p in groups[key].parameters if p.requires_grad]
            gradients = torch.autograd.grad(loss.value, parameters, allow_unused=True, retain_graph=True)
            sizes = [None if g is None else g.double().square().sum().item() for g in gradients]
            found.append((step, key, loss.value.item(), {k: t.item() for k, t in loss.terms.items()}, sizes))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_matters(name: str) -> None:
    arguments = [a for a in catalogue.find("methods", name).arguments if a not in catalogue.NETWORKS]
    known = {argument.name for argument in arguments}
    contexts: dict[str, list[Any]] = {}
    ignored = []
    for argument in arguments:
        where = {key: value for key, value in WHERE.get(argument.name, {}).items() if key in known - {argument.name}}
        if str(where) not in contexts:
            contexts[str(where)] = everything(name, where)
        before = contexts[str(where)]
        if everything(name, {**where, argument.name: another(argument)}) == before:
            ignored.append(argument.name)
    assert ignored == UNSEEN.get(name, [])
