"""What is known of each sample of a user's own: factors, a label, nuisances and names, checked and as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.samples import to_array
from unbraid.data.table import Factor, Values
from unbraid.errors import UserError, unknown

CLASS = "class"  # the name of the label where it has none


@dataclass(frozen=True)
class Known:
    """What is known of each sample."""

    values: Values  # [n, k]
    factors: tuple[Factor, ...] = ()
    label: str | None = None
    nuisances: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # the values of the label as they were given
    names: tuple[str, ...] = ()  # of the samples


def known_of(
    n: int,
    factors: Any,
    factor_names: Sequence[str] | None,
    label: Any,
    nuisances: tuple[str, ...],
    names: Sequence[str] | None,
) -> Known:
    """What is known of n samples, checked; the arguments are those of `from_arrays`."""
    if names is not None and (len(names) != n or len(set(names)) != n):
        seen: set[str] = set()
        twice = next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
        wrong = f"'{twice}' stands for two samples" if twice is not None else f"there are {len(names)} for {n} samples"
        raise UserError(f"names of samples must be different, one for each: {wrong}")
    columns = _columns(factors, factor_names, n)
    if label is not None and not isinstance(label, str):
        columns = {CLASS: _column(label, "the label", n)} | columns
        label = CLASS
    coded = {name: _coded(name, column) for name, column in columns.items()}
    for name in (*nuisances, *([label] if label else [])):
        if name not in coded:
            raise unknown("factor", name, coded)
    values = np.stack([codes for codes, _ in coded.values()], 1) if coded else np.zeros((n, 0), np.int64)
    kinds = {name for name, (_, found) in coded.items() if name == label or found.dtype.kind not in "iufb"}
    known = tuple(Factor(name, len(found), ordered=name not in kinds) for name, (_, found) in coded.items())
    classes = tuple(map(str, coded[label][1])) if label else ()
    return Known(values, known, label, nuisances, classes, tuple(map(str, names or ())))


def _columns(factors: Any, names: Sequence[str] | None, n: int) -> dict[str, NDArray[Any]]:
    if factors is None:
        return {}
    if hasattr(factors, "columns"):
        found = [_column(factors[name], f"the factor '{name}'", n) for name in factors.columns]
        names = names or [str(name) for name in factors.columns]
    else:
        array = to_array(factors, "factors")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or len(array) != n:
            raise UserError(f"factors have the shape {list(array.shape)}: it is [samples, factors], with {n} samples")
        found = list(array.T)
        names = names or [f"factor{i}" for i in range(len(found))]
    if len(names) != len(found) or len(set(names)) != len(names):
        raise UserError(f"there are {len(found)} factors and the names {', '.join(names)}: one for each")
    return dict(zip(names, found, strict=True))


def _column(values: Any, what: str, n: int) -> NDArray[Any]:
    array = np.asarray(values) if hasattr(values, "dtype") and not hasattr(values, "detach") else to_array(values, what)
    if array.shape != (n,):
        raise UserError(f"{what} has the shape {list(array.shape)}: it is [{n}], one value for each sample")
    return array


def _coded(name: str, column: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """A factor's values as numbers from 0 on, and what they stand for."""
    if column.dtype.kind == "O":
        import pandas as pd

        if (gaps := pd.isna(column)).any():
            raise UserError(f"the factor '{name}' has no value in row {gaps.argmax()}: leave such samples out")
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise UserError(f"the factor '{name}' has NaN or infinite values: leave those samples out")
    if column.dtype.kind == "f" and (column != np.rint(column)).any():
        raise UserError(f"the factor '{name}' has fractions: cut it into a few classes first, as pandas.qcut does")
    found, codes = np.unique(column.astype(str) if column.dtype.kind == "O" else column, return_inverse=True)
    return codes.astype(np.int64), found
