"""An option that reaches nothing is worse than none: each changes the score or its parts; threads change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import rng
from unbraid import catalogue
from unbraid.config import Argument

LEFT_OUT = {"clustering_accuracy", "group_accuracy", "probe_table", "udr", "w2"}  # they take other inputs
LEFT_OUT |= {"downstream", "label_efficiency"}  # many fits
ENTRIES = {
    name: entry
    for name, entry in catalogue.entries("metrics").items()
    if entry.folder == "metrics" and entry.arguments and name not in LEFT_OUT
}
FEWER: dict[str, Any] = {  # than usual, so that this takes seconds
    "points": 60, "test_points": 40, "votes": 60, "test_votes": 40, "batch": 8, "rounds": 5, "trees": 4,
    "permutations": 3, "features": (0, 8),
}  # fmt: skip
OTHER: dict[str, Any] = {
    "depths": [1, 1, 2], "units": [0, 0, 1, 2, 3], "features": (0, 12),
    "ordered": [0], "kinds": [0], "prune": 0.5, "quantile": 0.7, "active": 0.6, "train": 250, "points": 90,
}  # fmt: skip
WHERE: dict[tuple[str, str], dict[str, Any]] = {  # other options with which it matters
    ("dci", "trees"): {"predictor": "trees"},
    ("dci", "depths"): {"predictor": "regressor"},
    ("info_mec", "bins"): {"estimator": "equal"},
    ("sap", "standardise"): {"method": "logistic"},
    ("neuron_knockout", "trees"): {"predictor": "trees"},
}


def world() -> tuple[Any, Any]:
    """Five latents that mix two kinds and a quantity, with noise, in units of their own."""
    kinds, quantity = rng(1).integers(0, (3, 4), (400, 2)), rng(2).uniform(0, 1, (400, 1))
    factors = np.concatenate([kinds, quantity], 1)
    codes = factors @ rng(3).standard_normal((3, 5)) + 0.5 * rng(4).standard_normal((400, 5))
    codes[:, 4] *= 0.05  # hardly alive
    return codes * [1, 2, 0.1, 1, 1] + [0, 1, 0, 3, 0], factors


def another(argument: Argument) -> Any:
    default = argument.default
    if argument.name in OTHER:
        return OTHER[argument.name]
    if argument.choices:
        return argument.choices[-1 if argument.choices[-1] != default else 0]
    return not default if isinstance(default, bool) else max(2, FEWER.get(argument.name, default) // 2)


def taken(name: str, **options: Any) -> dict[str, Any]:
    """All that a score tells, as text, in which NaN is equal to itself."""
    known = {argument.name for argument in ENTRIES[name].arguments}
    few = {key: value for key, value in FEWER.items() if key in known}
    codes, factors = world()
    inputs = (codes,) if name == "mutual_info_score" else (codes, factors)
    score = ENTRIES[name].load()(*inputs, rng(), **{**few, **options})
    return {key: repr(value) for key, value in vars(score).items()}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_option_matters(name: str) -> None:
    ignored, usual = [], taken(name)
    for argument in ENTRIES[name].arguments:
        where = WHERE.get((name, argument.name), {})
        before = taken(name, **where) if where else usual
        changed = taken(name, **{**where, argument.name: 2 if argument.name == "jobs" else another(argument)})
        if (changed == before) != (argument.name == "jobs"):
            ignored.append(argument.name)
    assert not ignored
