"""The result of a metric, and the check of its arguments.

A metric is one file in this folder; its function has the file's name, the signature
`fn(codes, factors, rng, *, ...) -> Score` and the decorator `@metric`. It works on arrays alone: never on a model,
never on a data set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Literal, ParamSpec

import numpy as np
from numpy.typing import NDArray

from unbraid import config

Codes = NDArray[np.floating[Any]]  # [n, d]
Factors = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]  # [n, k]
P = ParamSpec("P")


@dataclass(frozen=True)
class Score:
    """A value with its parts, interval, chance level and warnings; NaN if it is undefined, and a warning says why."""

    value: float
    parts: dict[str, Any] = field(default_factory=dict)  # per factor, per latent, sub-scores; plain lists and floats
    low: float | None = None  # 95 % interval of the score at this number of samples
    high: float | None = None
    null: float | None = None  # chance level: the same metric on codes shuffled against the factors
    n: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The score in plain JSON types; NaN and infinity become None."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True)
class Aim:
    """What is wanted of a score, and from where on it is bad."""

    best: Literal["high", "low", "chance"] = "high"  # a high score is bad where it is not above chance
    bad: float | None = None  # from this value on; where chance is best, from this share of the way to 1 on
    of: str = ""  # the part of the score that `bad` is a multiple of


def metric(function: Callable[P, Score]) -> Callable[P, Score]:
    """Makes a metric check its keyword arguments against its annotations, however it is called."""
    arguments = config.arguments_of(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Score:
        config.check(function.__name__, arguments, kwargs)
        return function(*args, **kwargs)

    return checked


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
