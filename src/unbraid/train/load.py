"""Data sets and methods by name, and the trained method of a run.

Code of a user's own, named in a run as 'file.py:Class' or 'package.module:Class', is imported only where the user names
it too, or says `trust=True`: a run's directory that comes from a stranger runs nothing of theirs.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from unbraid import catalogue, config
from unbraid.data.counts import Counts
from unbraid.data.features import Scaling
from unbraid.data.table import PART, Spec, Table
from unbraid.errors import UserError
from unbraid.machine import forked_rng, seed_torch
from unbraid.methods.contract import Method
from unbraid.methods.networks import replace_networks
from unbraid.train.checkpoint import load_weights
from unbraid.train.run import SCALING, Plan, Run

NETWORKS = [argument.name for argument in catalogue.NETWORKS]


def load_data(name: str | type[Table], **arguments: Any) -> Table:
    """A data set by name; `unbraid list data` shows the names and their arguments.

    Your own is given as 'file.py:Class' or as its class.
    """
    entry = catalogue.entry_of("data", name)
    catalogue.check(entry, arguments)
    table: Table = entry.load()(**{argument: config.plain(value) for argument, value in arguments.items()})
    table.origin = entry.name if not entry.folder else None
    return table


def build(name: str | type[Method[Any]], data: Table, *, seed: int = 0, **arguments: Any) -> Method[Any]:
    """A method for a data set, with initial weights drawn from `seed`; `unbraid list methods` shows the names.

    A method of your own is given as 'file.py:Class' or as its class. `encoder` and `decoder` of any method may be
    networks of your own (methods/networks.py).
    """
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed must be 0 or more and have less than 64 bits, and is {seed}")
    entry = catalogue.entry_of("methods", name)
    catalogue.check(entry, {n: value for n, value in arguments.items() if n not in NETWORKS})
    try:
        return built(entry, data.spec, {n: config.plain(value) for n, value in arguments.items()}, seed)
    except RuntimeError as error:
        if "allocate" not in str(error):
            raise
        size = "x".join(map(str, data.shape[1:]))
        raise UserError(f"the networks of {entry.name} for images of {size} do not fit into memory") from error


def built(entry: catalogue.Entry, spec: Spec, arguments: dict[str, Any], seed: int) -> Method[Any]:
    """A method with initial weights drawn from the seed; its arguments may name an encoder and a decoder."""
    own = {name: arguments[name] for name in NETWORKS if arguments.get(name) is not None}
    with forked_rng("cpu"):
        seed_torch(int(seed), "cpu")
        method: Method[Any] = entry.load()(spec, **{n: v for n, v in arguments.items() if n not in NETWORKS})
        replace_networks(method, **own)
    method.seed = int(seed)
    return method


def load_method(
    path: Path | str,
    method: str | type[Method[Any]] | None = None,
    *,
    encoder: Any = None,
    decoder: Any = None,
    trust: bool = False,
) -> Method[Any]:
    """The trained method of a run's directory.

    Args:
        path: the run's directory
        method: a method of your own, as its class or as 'file.py:Class'
        encoder: the encoder of your own that the run was made with, if it was
        decoder: the decoder
        trust: import whatever code of its own the run names
    """
    run = Run(path)
    named = {"method": method, "encoder": encoder, "decoder": decoder}
    check_trust(run.plan, {name for name, given in named.items() if given is not None}, trust or run.trusted, run.path)
    entry = catalogue.entry_of("methods", method or run.plan.method)
    own = {name: given for name, given in named.items() if name in NETWORKS and given is not None}
    try:
        saved: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in run.config["spec"].items()}
        loaded = built(entry, Spec(**saved), run.plan.arguments | own, run.plan.seed)
    except UserError:
        raise
    except Exception as error:  # whatever a constructor does with values that it never had
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(
            f"{run.path} was made by another version of {run.plan.method}, or its run.json is damaged: {reason}"
        ) from error
    loaded.arguments, loaded.trained = run.plan.arguments, str(run.path)
    load_weights(loaded, run.path)
    _warn_of_changes(run)
    return loaded.eval()


def load_table(run: Run, *, trust: bool = False) -> Table:
    """The data set of a run."""
    plan = run.plan
    if plan.data == "arrays":
        raise UserError(f"{run.path} was trained on arrays, which it does not keep: give them in Python")
    if PART in plan.data_arguments:
        raise UserError(f"{run.path} was trained on a part of '{plan.data}', which it does not keep: give it in Python")
    if ":" in plan.data and not (trust or run.trusted):
        raise UserError(f"{run.path} was trained on {plan.data}, which is code of its own: {_REMEDY}")
    return load_data(plan.data, **plan.data_arguments)


def load_scaling(path: Path | str) -> Scaling | Counts | None:
    """The scaling of the features that a run was trained on; None where it was trained on images."""
    run = Run(path)
    if not (run.path / SCALING).exists():
        return None
    arrays = run.arrays(SCALING)
    names = tuple(map(str, arrays["names"]))
    if "library" in arrays:
        return Counts(arrays["spread"], float(arrays["library"]), names)
    return Scaling(arrays["mean"], arrays["spread"], names)


_REMEDY = "look at it, and say trust=True (--trust on the command line) to import it"


def check_trust(plan: Plan, named: set[str], trust: bool, path: Path) -> None:
    """Refuses to import code that only the run names."""
    if trust:
        return
    used = {"method": plan.method} | {name: plan.arguments[name] for name in NETWORKS if name in plan.arguments}
    for name, place in used.items():
        if ":" in str(place) and name not in named:
            raise UserError(
                f"{path} was made with {place}, which is code of its own: name it, as in "
                f"load_run(path, {name}={place!r}), or {_REMEDY}"
            )


def _warn_of_changes(run: Run) -> None:
    for place, digest in run.config.get("sources", {}).items():
        if catalogue.source_digest(place) not in (digest, None):
            warnings.warn(
                f"{place} has changed since {run.path} was made: its weights may mean something else", stacklevel=3
            )
