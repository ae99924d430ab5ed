"""What a metric gives back.

A metric is one file in this folder; its function has the file's name and the signature
`fn(codes, factors, rng, *, ...) -> Score`. It sees arrays only: never a model, never a data set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.floating[Any]]  # [n, d]
Factors = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]  # [n, k]


@dataclass(frozen=True)
class Score:
    """A value, what it is made of, and how far to trust it; NaN where there is none, and a warning says why."""

    value: float
    parts: dict[str, Any] = field(default_factory=dict)  # per factor, per latent, sub-scores; plain lists and floats
    low: float | None = None  # bootstrap interval
    high: float | None = None
    null: float | None = None  # the same metric on codes shuffled against the factors
    n: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The score in plain JSON types; NaN and infinity become None."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


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
