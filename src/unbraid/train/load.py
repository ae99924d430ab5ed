"""Data sets and methods by name, and the trained method of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from unbraid import catalogue, config
from unbraid.data.features import Scaling
from unbraid.data.table import Spec, Table
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.train.checkpoint import load_weights
from unbraid.train.run import SCALING, Run


def load_data(name: str, **arguments: Any) -> Table:
    """A data set by name; `unbraid list data` shows the names and their arguments."""
    return _construct("data", name, arguments)  # type: ignore[no-any-return]


def build(name: str, data: Table, *, seed: int = 0, **arguments: Any) -> Method[Any]:
    """A method for a data set, with initial weights drawn from `seed`; `unbraid list methods` shows the names."""
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed must be 0 or more and have less than 64 bits, and is {seed}")
    with torch.random.fork_rng():
        torch.manual_seed(int(seed))
        try:
            return _construct("methods", name, arguments, data.spec)  # type: ignore[no-any-return]
        except RuntimeError as error:
            if "allocate" not in str(error):
                raise
            size = "x".join(map(str, data.shape[1:]))
            raise UserError(f"the networks of {name} for images of {size} do not fit into memory") from error


def load_method(path: Path | str, method: type[Method[Any]] | None = None) -> Method[Any]:
    """The trained method of a run's directory; a method of your own is given as its class."""
    run = Run(path)
    saved: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in run.config["spec"].items()}
    spec = Spec(**saved)
    kind = method or catalogue.find("methods", run.plan.method).load()
    try:
        loaded: Method[Any] = kind(spec, **run.plan.arguments)
    except TypeError as error:
        raise UserError(f"{run.path} was made by another version of {run.plan.method}: {error}") from error
    load_weights(loaded, run.path)
    return loaded.eval()


def load_scaling(path: Path | str) -> Scaling | None:
    """The scaling of the features that a run was trained on; None where it was trained on images."""
    run = Run(path)
    if not (run.path / SCALING).exists():
        return None
    arrays = run.arrays(SCALING)
    return Scaling(arrays["mean"], arrays["spread"], tuple(map(str, arrays["names"])))


def _construct(kind: str, name: str, arguments: dict[str, Any], *positional: Any) -> Any:
    entry = catalogue.find(kind, name)
    catalogue.check(entry, arguments)
    return entry.load()(*positional, **{argument: config.plain(value) for argument, value in arguments.items()})
