"""Files with named columns, some of which can be read alone: csv, tsv, parquet and h5ad."""

from __future__ import annotations

import csv
import hashlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import IN_MEMORY, cached_copy, npy
from unbraid.data.io.formats import reading
from unbraid.data.io.h5ad_files import H5ad
from unbraid.data.samples import PIECE
from unbraid.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame


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
            found = stored.read(wanted)
            found.validate(full=True)  # text may hold what is no text
            return found.to_pandas(ignore_metadata=True)

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


def gathered(file: Path, source: Source, names: list[str]) -> NDArray[Any]:
    """The features as one array, in memory or mapped."""
    shape, kind = (source.rows, len(names)), np.dtype(source.kind(names))

    def numbers() -> Iterable[NDArray[Any]]:
        first = 0
        for part in source.parts(names):
            yield _numbers(file, part, first).astype(kind, copy=False)
            first += len(part)
        if first != source.rows:
            raise UserError(f"{file} is corrupt: it has {first} rows and says that there are {source.rows}")

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
