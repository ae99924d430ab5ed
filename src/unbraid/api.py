"""The whole path in Python: load data, build a method, fit, represent, score, report; and load a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid import catalogue
from unbraid.checkpoint import load_weights
from unbraid.data.table import Spec, Table
from unbraid.errors import Problem
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Score
from unbraid.metrics.suite import score as score_arrays
from unbraid.reports.page import report
from unbraid.representation import represent
from unbraid.run import Run, read_arrays
from unbraid.train import fit

__all__ = ["build", "fit", "load_data", "load_run", "report", "represent", "score", "score_arrays", "score_file"]


def load_data(name: str, **arguments: Any) -> Table:
    """A data set by name; `unbraid list data` shows the names and their arguments."""
    return _construct("data", name, arguments)  # type: ignore[no-any-return]


def build(name: str, data: Table, *, seed: int = 0, **arguments: Any) -> Method[Any]:
    """A method for a data set, with initial weights drawn from `seed`; `unbraid list methods` shows the names."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _construct("methods", name, arguments, data.spec)  # type: ignore[no-any-return]


def load_run(path: Path | str, method: type[Method[Any]] | None = None) -> Method[Any]:
    """The trained method of a run's directory, ready to encode; a method of your own is given as its class."""
    run = Run(path)
    spec = run.config["spec"]
    spec = Spec(tuple(spec["shape"]), spec["n_train"], spec["classes"], tuple(spec["nuisances"]))
    kind = method or catalogue.find("methods", run.plan.method).load()
    try:
        loaded: Method[Any] = kind(spec, **run.plan.arguments)
    except TypeError as error:
        raise Problem(f"{run.path} was made by another version of {run.plan.method}: {error}") from error
    load_weights(loaded, run.path)
    return loaded.eval()


def score(run: Run, *, block: str | None = None, metrics: list[str] | None = None, seed: int = 0) -> dict[str, Score]:
    """Scores the codes of a run and writes scores.json.

    Args:
        block: of the code; the first unless given
        metrics: their names; the default suite unless given
        seed: of whatever the metrics draw
    """
    scores = score_file(run.path / "codes.npz", block=block, metrics=metrics, seed=seed)
    run.write_json("scores.json", {name: value.as_dict() for name, value in scores.items()})
    return scores


def score_file(
    path: Path | str, *, block: str | None = None, metrics: list[str] | None = None, seed: int = 0
) -> dict[str, Score]:
    """Scores an npz file with the arrays `codes` [n, d] (or `codes_<block>`) and `factors` [n, k]."""
    arrays = read_arrays(Path(path))
    codes = _codes(arrays, block, Path(path))
    if "factors" not in arrays:
        raise Problem(f"{path} has no array 'factors' [n, k]: there is nothing to score the codes against")
    if arrays["factors"].ndim == 2 and arrays["factors"].shape[1] == 0:
        return {}
    names = [str(name) for name in arrays["factor_names"]] if "factor_names" in arrays else None
    return score_arrays(codes, arrays["factors"], metrics=metrics, seed=seed, names=names)


def _codes(arrays: dict[str, NDArray[Any]], block: str | None, path: Path) -> NDArray[np.floating[Any]]:
    blocks = {name.removeprefix("codes_"): array for name, array in arrays.items() if name.startswith("codes_")}
    if block is None and "codes" in arrays:
        return arrays["codes"]
    if not blocks:
        raise Problem(f"{path} has no array 'codes' [n, d]; it has: {', '.join(arrays) or 'nothing'}")
    if block is not None and block not in blocks:
        raise Problem(f"{path} has no block '{block}'; it has: {', '.join(blocks)}")
    return blocks[block or next(iter(blocks))]


def _construct(kind: str, name: str, arguments: dict[str, Any], *positional: Any) -> Any:
    entry = catalogue.find(kind, name)
    catalogue.check(entry, arguments)
    return entry.load()(*positional, **arguments)
