"""Tables in files: csv, tsv, parquet, npy, npz and h5ad. Every column is a feature unless it is named otherwise.

An h5ad file has its features in `X` and what is known of its rows in `obs`. A table of more than 1 GB is not read into
memory: npy files are mapped, parquet and h5ad files are copied once into the cache folder and mapped there.
"""

from __future__ import annotations

import csv
import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import IN_MEMORY, StoredArray, cached_copy, npy, npz
from unbraid.data.io.formats import reading
from unbraid.data.io.h5ad_files import H5ad
from unbraid.data.samples import PIECE, pieces
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


@dataclass(frozen=True)
class Source:
    """A file with named columns, some of which can be read alone."""

    features: list[str]  # columns that may be features
    others: list[str]  # columns that may be label, factors and id
    rows: int
    kind: Callable[[list[str]], type[np.floating[Any]]]  # float32 where that holds all of these columns
    read: Callable[[list[str]], DataFrame]
    parts: Callable[[list[str]], Iterable[Any]]  # features, some rows at a time: frames or arrays
    ids: tuple[str, ...] = ()  # names of the rows that the file has anyway


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
    features = _gathered(file, source, names)
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
    numbers = _gathered(file, source, names)
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
    features = _gathered(file, source, wanted)
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


def _open_csv(file: Path, text: str | None = None) -> Source:
    import pandas as pd

    separator = "\t" if file.suffix.lower() == ".tsv" else ","
    with reading(file, "a table with a line of column names"):
        if not file.stat().st_size:
            raise UserError(f"{file} is empty: a table has a line of column names and a line for each sample")
        with file.open(newline="", encoding="utf-8-sig") as lines:
            header = next(csv.reader(lines, delimiter=separator), [])
        _check_twins(file, header)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                kinds = {text: str} if text else None
                frame = pd.read_csv(file, sep=separator, encoding="utf-8-sig", index_col=False, dtype=kinds)
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise UserError(
                f"{file} has lines with more values than there are names of columns ({str(error).strip()})"
            ) from error
    names = [str(name) for name in frame.columns]
    return Source(
        names,
        names,
        len(frame),
        lambda wanted: np.float64,
        lambda wanted: frame[wanted],
        lambda wanted: [frame[wanted]],
    )


def _open_parquet(file: Path, text: str | None = None) -> Source:
    from pyarrow import ArrowInvalid, parquet

    with reading(file, "a parquet file"):
        try:
            stored = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 16)
        except ArrowInvalid as error:
            raise UserError(f"{file} is no parquet file ({str(error).rstrip('.')})") from error
    names = list(stored.schema_arrow.names)
    _check_twins(file, names)
    single = {name for name in names if str(stored.schema_arrow.field(name).type) in ("float", "halffloat")}
    rows = max(1, PIECE // max(1, len(names)))

    def read(wanted: list[str]) -> Any:
        with reading(file, "a parquet file"):
            return stored.read(wanted).to_pandas(ignore_metadata=True)

    def parts(wanted: list[str]) -> Iterable[Any]:
        with reading(file, "a parquet file"):
            for part in stored.iter_batches(rows, columns=wanted):
                yield part.to_pandas(ignore_metadata=True)[wanted]

    def kind(wanted: list[str]) -> type[np.floating[Any]]:
        return np.float32 if single.issuperset(wanted) else np.float64

    return Source(names, names, stored.metadata.num_rows, kind, read, parts)


def _open_h5ad(file: Path, text: str | None = None) -> Source:
    stored = H5ad(file)
    rows = max(1, PIECE // max(1, len(stored.features)))
    _check_twins(file, stored.features)
    kind = np.float32 if stored.kind.itemsize <= 4 and stored.kind.kind == "f" else np.float64

    def parts(wanted: list[str]) -> Iterable[Any]:
        places = [stored.features.index(name) for name in wanted]
        return (part[:, places] for part in stored.parts(rows))

    return Source(stored.features, stored.columns, len(stored.ids), lambda _: kind, stored.frame, parts, stored.ids)


OPEN: dict[str, Callable[[Path, str | None], Source]] = {  # by a file and the column to be read as text, such as 007
    ".csv": _open_csv,
    ".tsv": _open_csv,
    ".parquet": _open_parquet,
    ".h5ad": _open_h5ad,
}


def _gathered(file: Path, source: Source, names: list[str]) -> NDArray[Any]:
    """The features as one array, in memory or mapped."""
    shape, kind = (source.rows, len(names)), np.dtype(source.kind(names))

    def numbers() -> Iterable[NDArray[Any]]:
        first = 0
        for part in source.parts(names):
            yield _numbers(file, part, first).astype(kind, copy=False)
            first += len(part)

    if shape[0] * shape[1] * kind.itemsize > IN_MEMORY:
        chosen = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
        return npy(cached_copy(f"{file.stem}-{chosen}", [file], shape, numbers, kind)).mapped()
    return np.concatenate(list(numbers()))


def _numbers(file: Path, part: Any, first: int) -> NDArray[Any]:
    """Rows from `first` on as an array; refuses a column that does not hold numbers."""
    if isinstance(part, np.ndarray):
        return part
    import pandas as pd

    for name in part.columns:
        column = part[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
            continue
        text = column.astype(str)
        wrong = pd.to_numeric(text, errors="coerce").isna().to_numpy() & column.notna().to_numpy()
        row = int(wrong.argmax())
        shown = f"'{text.iloc[row]}' in row {first + row}" if wrong.any() else f"{column.dtype} values"
        raise UserError(
            f"the column '{name}' of {file} has {shown}, and features are numbers: correct it, or name the column as "
            "label, id, a factor or one to ignore"
        )
    return np.asarray(part.to_numpy(np.float64, na_value=np.nan)) if len(set(part.dtypes)) > 1 else part.to_numpy()


def _check_twins(file: Path, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise UserError(f"two columns of {file} are called '{name}': rename one of them")
        seen.add(name)


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
