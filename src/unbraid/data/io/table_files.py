"""Tables in files: csv, tsv, parquet, npy, npz and h5ad. Every column is a feature unless it is named otherwise.

An h5ad file has its features in `X` and what is known of its rows in `obs`. A table of more than 1 GB is not read into
memory: npy files are mapped, parquet and h5ad files are copied once into the cache folder and mapped there.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import IN_MEMORY, StoredArray, npy, npz
from unbraid.data.io.column_files import OPEN, Source, gathered
from unbraid.data.samples import pieces
from unbraid.errors import UserError, unknown

if TYPE_CHECKING:
    from pandas import DataFrame

ARRAYS = (".npy", ".npz")
SUFFIXES = (".csv", ".tsv", ".parquet", ".h5ad", *ARRAYS)
NAMELESS = ("Unnamed: ", "__index_level_")  # what pandas calls a column without a name, and its own index in parquet


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are no features."""

    label: str | None = None
    factors: tuple[str, ...] = ()
    nuisances: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    id: str | None = None

    @property
    def known(self) -> list[str]:
        """Those that say something of each row."""
        return list(dict.fromkeys([*([self.label] if self.label else []), *self.factors, *self.nuisances]))

    @property
    def named(self) -> list[str]:
        return [*self.known, *self.ignore, *([self.id] if self.id else [])]


@dataclass(frozen=True)
class StoredTable:
    """A table that was read and checked."""

    where: str
    features: NDArray[Any]  # [n, d] finite numbers; mapped where they are large
    names: tuple[str, ...] = ()  # of the features, where the file has names
    known: DataFrame | None = None  # a column for the label and each factor
    label: str | None = None
    ids: tuple[str, ...] = ()  # of the rows, where they have names


def is_table(path: str) -> bool:
    """Whether a file is a table of features, not of images."""
    file = Path(path).expanduser()
    suffix = file.suffix.lower()
    return suffix in SUFFIXES and (suffix not in ARRAYS or len(_arrays(file)[0].shape) == 2)


def read_table(path: str, columns: Columns, *, like: StoredTable | None = None) -> StoredTable:
    """Reads and checks a table.

    Args:
        columns: those that are no features
        like: a table with the same features; this one needs neither label nor factors
    """
    file = Path(path).expanduser()
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"{path} is no table: the files that can be read end with {', '.join(SUFFIXES)}")
    if suffix in ARRAYS:
        stored = _from_array(file, columns)
        _check_alike(stored.where, (), stored.features.shape[1], like)
        return stored
    source = OPEN[suffix](file, columns.id)
    columns = _present(file, source, columns, optional=bool(like))
    names = [name for name in source.features if name not in columns.named]
    if not names or not source.rows:
        raise UserError(f"{file} has no {'rows' if names else 'column left to be a feature'}")
    _check_alike(str(file), names, len(names), like)
    names = list(like.names) if like else names
    others = source.read([*columns.known, *([columns.id] if columns.id else [])])
    ids = tuple(map(str, others[columns.id])) if columns.id else source.ids
    _check_ids(file, columns.id or "name", ids)
    features = gathered(file, source, names)
    _check_finite(str(file), features, names)
    known = others[columns.known] if columns.known else None
    return StoredTable(str(file), features, tuple(names), known, columns.label, ids)


def read_columns(path: str, patterns: Sequence[str], others: Sequence[str]) -> StoredTable:
    """Numbers from the columns whose names match one of the patterns ('z*'), and some other columns."""
    file = Path(path).expanduser()
    if file.suffix.lower() not in OPEN:
        raise UserError(f"{path} has no names of columns: the files that have end with {', '.join(OPEN)}")
    source = OPEN[file.suffix.lower()](file, None)
    names: list[str] = []
    for pattern in patterns:
        found = [name for name in source.features if name == pattern or fnmatchcase(name, pattern)]
        if not found:
            raise unknown(f"column of {file}", pattern, source.features)
        names += [name for name in found if name not in names and name not in others]
    for name in others:
        if name not in source.others:
            raise unknown(f"column of {file}", name, source.others)
    if not names or not source.rows:
        raise UserError(f"{file} has no {'rows' if names else 'column left for the codes'}")
    numbers = gathered(file, source, names)
    _check_finite(str(file), numbers, names)
    return StoredTable(str(file), numbers, tuple(names), source.read(list(others)))


def read_features(path: str, names: Sequence[str], id: str | None) -> StoredTable:
    """The features of these names, or all of them where none are given; columns besides them are ignored."""
    file = Path(path).expanduser()
    source = OPEN[file.suffix.lower()](file, id)
    _present(file, source, Columns(id=id), optional=False)
    missing = [name for name in names if name not in source.features]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise UserError(f"{file} lacks the features {', '.join(map(repr, missing[:3]))}{more}")
    wanted = list(names) or [name for name in source.features if name != id]
    if not wanted or not source.rows:
        raise UserError(f"{file} has no {'rows' if wanted else 'column left to be a feature'}")
    ids = tuple(map(str, source.read([id])[id])) if id else source.ids
    _check_ids(file, id or "name", ids)
    features = gathered(file, source, wanted)
    _check_finite(str(file), features, wanted)
    return StoredTable(str(file), features, tuple(wanted), ids=ids)


def column_names(text: str | None) -> tuple[str, ...]:
    """Names between commas; one that has a comma itself stands between double quotes."""
    words = next(csv.reader([text or ""], skipinitialspace=True), [])
    return tuple(word.strip() for word in words if word.strip())


def _present(file: Path, source: Source, columns: Columns, *, optional: bool) -> Columns:
    """Those of the columns that are there; refuses the others, unless all but the id are optional."""
    for name in columns.named:
        there = source.features if name in columns.ignore else source.others
        if name not in there and (not optional or name == columns.id):
            raise unknown(f"column of {file}", name, there)
    for name in source.features:
        if name.startswith(NAMELESS) and name not in columns.named:
            raise UserError(
                f"{file} has a column without a name, such as the index that pandas writes: "
                f"name it as the id or among those to ignore, as '{name}'"
            )
    label = columns.label if columns.label in source.others else None
    factors, nuisances = (
        tuple(name for name in names if name in source.others) for names in (columns.factors, columns.nuisances)
    )
    return Columns(label, factors, nuisances, columns.ignore, columns.id)


def _check_alike(where: str, names: Sequence[str], count: int, like: StoredTable | None) -> None:
    """Refuses a table that has not the features of the other one; their order may differ."""
    if like is None:
        return
    if bool(names) != bool(like.names):
        raise UserError(f"of {like.where} and {where} only one has names of columns: save both in one format")
    if not names and count != like.features.shape[1]:
        raise UserError(f"{like.where} has {like.features.shape[1]} features and {where} has {count}: they must agree")
    for one, other, missing in (
        (like.where, where, set(like.names) - set(names)),
        (where, like.where, set(names) - set(like.names)),
    ):
        if missing:
            raise UserError(
                f"{other} has no column '{min(missing)}', which is a feature of {one}: both need the same columns, "
                "but for those to ignore"
            )


def _check_ids(file: Path, column: str, ids: tuple[str, ...]) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in first:
            raise UserError(f"rows {first[name]} and {row} of {file} have the same {column}, '{name}': ids must differ")
        first[name] = row


def _check_finite(where: str, features: NDArray[Any], names: Sequence[str] = ()) -> None:
    if features.dtype.kind != "f":
        return
    for start, piece in pieces(features):
        if not np.isfinite(piece).all():
            row, column = np.argwhere(~np.isfinite(piece))[0]
            shown = f"'{names[column]}'" if names else column
            raise UserError(
                f"{where} has values that are NaN or infinite, the first in row {start + row}, column {shown}: "
                "impute them, or remove such rows or columns"
            )


def _from_array(file: Path, columns: Columns) -> StoredTable:
    """An npy or npz file: no names of columns, and classes only as `labels` of an npz file."""
    import pandas as pd

    if columns.named:
        raise UserError(f"{file} has no names of columns: '{columns.named[0]}' cannot be found; use csv or parquet")
    stored, labels = _arrays(file)
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "fiub":
        raise UserError(
            f"{stored.where} is {stored.dtype.name} {stored.shape}: features are numbers of shape [samples, features]"
        )
    features = stored.mapped() if stored.size > IN_MEMORY else stored.load()
    _check_finite(stored.where, features)
    if labels is None:
        return StoredTable(str(file), features)
    if labels.shape != (len(features),) or labels.dtype.kind not in "iu":
        raise UserError(
            f"{labels.where} is {labels.dtype.name} {labels.shape} instead of whole numbers ({len(features)},)"
        )
    found = labels.load().astype(np.int64)
    if not 0 <= found.min() <= found.max() < len(found):
        raise UserError(f"{labels.where} has values from {found.min()} to {found.max()}: number the classes from 0")
    if not found.max():
        return StoredTable(str(file), features)
    return StoredTable(str(file), features, known=pd.DataFrame({"class": found}), label="class")


def _arrays(path: Path) -> tuple[StoredArray, StoredArray | None]:
    """The array of features in a file, and the labels if it is an npz file that has some."""
    if path.suffix.lower() == ".npy":
        return npy(path), None
    found = npz(path)
    labels = found.pop("labels", None)
    chosen = found.get("features") or found.get("images") or (next(iter(found.values())) if len(found) == 1 else None)
    if chosen is None:
        raise UserError(
            f"{path} has the arrays {', '.join(found) or 'none'}: call the one with the features 'features'"
        )
    return chosen, labels
