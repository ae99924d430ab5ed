"""What a metric gives back.

A metric is one file in this folder; its function has the file's name and the signature
`fn(codes, factors, rng, *, ...) -> Score`. It sees arrays only: never a model, never a data set.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.floating[Any]]  # [n, d]
Factors = NDArray[np.integer[Any]] | NDArray[np.floating[Any]]  # [n, k]


@dataclass(frozen=True)
class Score:
    """A value, what it is made of, and how far to trust it."""

    value: float
    parts: dict[str, Any] = field(default_factory=dict)  # per factor, per latent, sub-scores; plain lists and floats
    low: float | None = None  # bootstrap interval
    high: float | None = None
    null: float | None = None  # the same metric on codes shuffled against the factors
    n: int = 0
    params: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
