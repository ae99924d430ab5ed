"""Codes and factors, checked once: what every metric works on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import UserError
from unbraid.metrics.contract import Codes, Factors, Score

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Number = float | np.floating[Any]

EXACT = 2**53  # from here on whole numbers have gaps in double precision
SQUARED = {
    np.dtype(np.float32): 1e15,
    np.dtype(np.float64): 1e100,
}  # larger numbers, or less than 1 / that, are rescaled
TOGETHER = 64  # rows of codes that are compared as one
LEAST = 1e-150  # the square of a smaller number is 0 in double precision, or nearly
CONSTANT = 1e-6  # a latent whose range is below this share of its largest value is constant up to rounding


@dataclass(frozen=True)
class Column:
    """One factor: labels 0 .. size - 1, or real numbers where size is 0."""

    values: NDArray[Any]  # [n]
    size: int

    @property
    def continuous(self) -> bool:
        return self.size == 0

    def binned(self, bins: int) -> Column:
        """A continuous factor cut at its quantiles; a discrete one as it is."""
        if not self.continuous:
            return self
        edges = np.unique(np.quantile(self.values, np.linspace(0, 1, bins + 1)[1:-1]))
        return labelled(np.searchsorted(edges, self.values, side="right"))


@dataclass(frozen=True)
class Arrays:
    """Finite codes, the factors that vary, and the units that latents are grouped into."""

    codes: Floats  # [n, d]
    factors: tuple[Column, ...]
    kept: tuple[int, ...]  # places of these factors among those given
    units: tuple[Ints, ...]  # columns of each latent unit
    warnings: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.codes)

    @cached_property
    def alive(self) -> Bools:  # [units]
        """Which units have a latent that varies."""
        varying = varies(self.codes)
        return np.array([varying[unit].any() for unit in self.units])

    def score(
        self, value: float | np.floating[Any], parts: Mapping[str, Any], notes: Iterable[str] = (), **params: Any
    ) -> Score:
        """A metric's result on these arrays, in plain lists and floats."""
        plain = {
            name: part.tolist() if isinstance(part, np.ndarray | np.generic) else part for name, part in parts.items()
        }
        factors = {"factors": list(self.kept)} if self.factors else {}
        return Score(float(value), plain, n=self.n, params=params | factors, warnings=(*self.warnings, *notes))

    def undefined(self, reason: str, **params: Any) -> Score:
        """The score is not defined for these arrays."""
        return self.score(float("nan"), {}, [reason], **params)


def check_arrays(codes: Codes, factors: Factors | None, units: Sequence[int] | None = None) -> Arrays:
    """Refuses arrays that cannot be scored; leaves out, with a warning, factors that have a single value."""
    codes = _squarable(check_codes(codes))
    columns, kept, notes = [], [], []
    for k, values in enumerate(_factor_columns(factors, len(codes))):
        column = as_column(values, f"factor {k}")
        if column.size == 1:
            notes.append(f"factor {k} has a single value and is left out")
            continue
        columns.append(column)
        kept.append(k)
    if factors is not None and not columns:
        raise UserError("every factor has a single value: there is nothing to score against")
    return Arrays(codes, tuple(columns), tuple(kept), _columns_of_units(units, codes.shape[1]), tuple(notes))


def check_codes(given: Any, name: str = "codes") -> Floats:
    """Finite real codes, [n, d]."""
    codes: NDArray[Any] = np.asarray(given)
    if codes.ndim == 1:
        codes = codes[:, None]
    if codes.ndim != 2 or 0 in codes.shape:
        raise UserError(f"{name} must have the shape [samples, latents], not {list(codes.shape)}")
    if codes.dtype.kind not in "fiub":
        raise UserError(f"{name} must be real numbers, not {codes.dtype}")
    if codes.dtype not in (np.float32, np.float64):
        codes = codes.astype(np.float64)
    bad = ~np.isfinite(codes)
    if bad.any():
        columns = ", ".join(str(c) for c in np.flatnonzero(bad.any(0))[:8])
        raise UserError(f"{name} contain {bad.sum()} values that are NaN or infinite, in latents {columns}")
    return codes


def _squarable(codes: Floats) -> Floats:
    """Columns that are too large or too small to be squared, divided by a power of two: such a unit means nothing."""
    low, high = extremes(codes)
    largest, limit = np.maximum(np.abs(low), np.abs(high)), SQUARED[codes.dtype]
    odd = (largest > limit) | ((largest > 0) & (largest < 1 / limit))
    if not odd.any():
        return codes
    exponents = np.where(odd, np.frexp(largest)[1], 0)
    return np.ldexp(codes, -exponents)


def as_column(values: NDArray[Any], name: str) -> Column:
    """Whole numbers, booleans and strings are labels; other numbers are a continuous factor."""
    if values.dtype.kind in "US":
        return labelled(np.unique(values, return_inverse=True)[1])
    if values.dtype.kind not in "fiub":
        raise UserError(f"{name} must be numbers or labels, not {values.dtype}")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise UserError(f"{name} contains values that are NaN or infinite: leave those samples out")
        if (values != np.rint(values)).any():
            return Column(_squarable(values.astype(np.float64)[:, None])[:, 0], 0)
    if not -EXACT < values.min() <= values.max() < EXACT:  # labels like any other, but no places in an array
        values = np.unique(values, return_inverse=True)[1]
    return labelled(values.astype(np.int64))


def labelled(values: NDArray[Any]) -> Column:
    """Whole numbers as labels 0, 1, 2, ... without gaps."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values):
        unique, labels = np.unique(values, return_inverse=True)
        return Column(labels.astype(np.int64), len(unique))
    present = np.bincount(values - low) > 0
    return Column((np.cumsum(present) - 1)[values - low], int(present.sum()))


def varies(codes: Floats) -> Bools:  # [n, d] -> [d]
    """Which columns vary by more than rounding."""
    return np.asarray(vary_between(*extremes(codes)))


def vary_between(low: Any, high: Any) -> Any:
    """Whether values from `low` to `high` vary by more than rounding, and not so little that squares are 0."""
    return high - low > np.maximum(CONSTANT * np.maximum(np.abs(low), np.abs(high)), LEAST)


def extremes(codes: Floats) -> tuple[Floats, Floats]:  # [n, d] -> [d], [d]
    """The least and the largest value of each column."""
    n, d = codes.shape
    if n < 2 * TOGETHER or not codes.flags.c_contiguous:
        return codes.min(0), codes.max(0)
    rest = n % TOGETHER
    rows = codes[rest:].reshape(-1, TOGETHER * d)  # numpy compares long rows many times faster than short ones
    low, high = (np.concatenate([f(rows, 0).reshape(TOGETHER, d), codes[:rest]]) for f in (np.min, np.max))
    return low.min(0), high.max(0)


def standardised(codes: Floats, rows: Ints | None = None) -> Floats:
    """Codes with mean 0 and variance 1 over the given rows (all by default), in double precision; 0 if constant."""
    codes = _squarable(codes) if codes.dtype in SQUARED else codes
    fitted = codes if rows is None else codes[rows]
    scale = np.where(varies(fitted), fitted.std(0, dtype=np.float64), np.inf)
    return np.asarray((codes - fitted.mean(0, dtype=np.float64)) / scale)


def gap_to_second(matrix: Floats) -> Floats:  # [units, k] -> [k]
    """For each factor, the best unit's score less the second best's (less 0 if there is one unit only)."""
    best: Floats = np.sort(matrix, 0)[::-1]
    return np.asarray(best[0] - (best[1] if len(best) > 1 else 0))


def quantities(arrays: Arrays, factors: Factors, kinds: Sequence[int]) -> list[bool]:
    """Which of the factors that vary are numbers with more than two values, other than `kinds`."""
    check_places("kinds", kinds, factors)
    numbers = np.asarray(factors).dtype.kind not in "US"
    columns = zip(arrays.kept, arrays.factors, strict=True)
    return [c.continuous or (numbers and c.size > 2 and k not in kinds) for k, c in columns]


def check_places(name: str, places: Sequence[int], factors: Factors) -> None:
    """Refuses places of factors that do not exist."""
    width = np.asarray(factors).reshape(len(factors), -1).shape[1]
    if strange := set(places) - set(range(width)):
        raise UserError(f"{name} names factor {strange.pop()}, and there are the factors 0 to {width - 1}")


def _factor_columns(factors: Any, n: int) -> list[NDArray[Any]]:
    if factors is None:
        return []
    factors = np.asarray(factors)
    if factors.ndim == 1:
        factors = factors[:, None]
    if factors.ndim != 2 or factors.shape[1] == 0:
        raise UserError(f"factors must have the shape [samples, factors], not {list(factors.shape)}")
    if len(factors) != n:
        raise UserError(f"codes have {n} samples and factors {len(factors)}: they must be the same samples")
    return list(factors.T)


def _columns_of_units(units: Sequence[int] | None, width: int) -> tuple[Ints, ...]:
    if units is None:
        return tuple(np.array([j]) for j in range(width))
    ids = np.asarray(units)
    if ids.shape != (width,):
        raise UserError(f"units must name the unit of each of the {width} latents, not {list(ids.shape)} of them")
    return tuple(np.flatnonzero(ids == u) for u in np.unique(ids))
