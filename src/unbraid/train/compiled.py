"""Networks compiled by torch.compile while they are trained.

Each network of a method is compiled by itself, and is its plain self again afterwards: weights keep their names, noise
is drawn outside of the networks as ever, and a run may be continued with or without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from unbraid.errors import UserError
from unbraid.methods.contract import Method

OPTIONS: dict[str, Any] = {"fallback_random": True}  # random numbers, such as dropout's, are those of the plain network
RECOMPILED = 8  # times that each network may be compiled, for other sizes of batches


def check_compiler(device: torch.device) -> None:
    """Refuses where nothing can be compiled, before anything is begun."""
    try:
        torch.compile(torch.cos)(torch.zeros(2, device=device))
    except Exception as error:  # each backend raises its own kind where its compiler is missing
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UserError(
            f"torch.compile does not work here ({reason}): install a C++ compiler, or leave compile out"
        ) from error


@contextmanager
def compiled(method: Method[Any]) -> Iterator[None]:
    """The networks of a method are compiled within; the first steps take a minute longer."""
    import torch._dynamo.config
    import torch._functorch.config  # both take seconds

    networks = list(_networks(method))
    for network in networks:
        network.forward = torch.compile(network.forward, options=OPTIONS)
    try:
        donated = torch._functorch.config.patch(donated_buffer=False)  # several groups go back through one graph
        limit = torch._dynamo.config.patch(recompile_limit=RECOMPILED * len(networks))  # networks of one class share it
        with donated, limit, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")  # by the compiler
            yield
    except RuntimeError as error:
        if "double backward" not in str(error):
            raise
        name = type(method).__module__.rpartition(".")[2]
        raise UserError(
            f"{name} takes gradients of gradients, which torch.compile does not support: leave compile out"
        ) from error
    finally:
        for network in networks:
            del network.forward
        torch.compiler.reset()  # what was compiled is of no more use


def _networks(module: nn.Module) -> Iterator[nn.Module]:
    """The largest modules that can be called."""
    for child in module.children():
        if isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from _networks(child)
        elif not isinstance(child, nn.ParameterList | nn.ParameterDict):
            yield child
