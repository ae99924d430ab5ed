"""h5ad files, by the on-disk format that AnnData documents: X, dense or sparse, and columns of obs; read with h5py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.formats import reading
from unbraid.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

WHAT = "an h5ad file, as AnnData 0.7 or later writes it"
SECONDS, BYTES_PER_SECOND = 8.0, 10e6  # what a file may take, and longer for a large one


class H5ad:
    """The matrix X with the names of its rows and columns, and what is known of the rows.

    Args:
        check: first look, in another process, whether the HDF5 library comes to the end of the file
    """

    def __init__(self, file: Path, *, check: bool = True) -> None:
        import h5py

        self.file = file
        with reading(file, WHAT):
            if check:
                _require_an_end(file)
            self._stored = h5py.File(file, "r")
            for name in ("obs", "var"):
                if not isinstance(self._stored.get(name), h5py.Group):
                    raise UserError(f"{file} has no group '{name}': it is not {WHAT}")
            if "X" not in self._stored:
                raise UserError(f"{file} has no X, the matrix of features: copy the layer that you want into X")
            self._x = self._stored["X"]
            self._sparse = str(self._x.attrs.get("encoding-type", "")) if isinstance(self._x, h5py.Group) else ""
            if self._sparse not in ("", "csr_matrix", "csc_matrix"):
                raise UserError(f"X of {file} is stored as '{self._sparse}': save a dense array or a csr_matrix")
            shape: Any = self._x.attrs["shape"] if self._sparse else self._x.shape
            self.kind: np.dtype[Any] = (self._x["data"] if self._sparse else self._x).dtype
            self.ids, self.features = tuple(self._names("obs")), self._names("var")
            self.columns = [name for name in self._stored["obs"] if not name.startswith("__")]
        if tuple(shape) != (len(self.ids), len(self.features)) or self.kind.kind not in "fiub":
            raise UserError(
                f"X of {file} is {self.kind.name} {tuple(map(int, shape))}, and there are names of {len(self.ids)} "
                f"rows and {len(self.features)} columns: it must hold a number for each"
            )

    def parts(self, size: int) -> Iterator[NDArray[Any]]:
        """X, some rows at a time, dense."""
        from scipy.sparse import csc_matrix, csr_matrix

        n, d = len(self.ids), len(self.features)
        with reading(self.file, WHAT):
            if self._sparse == "csc_matrix":  # its rows are everywhere: all of it, packed, is in memory
                whole = csc_matrix(tuple(self._x[part][:] for part in ("data", "indices", "indptr")), (n, d)).tocsr()
            starts = self._x["indptr"][:] if self._sparse else None
            for first in range(0, n, size):
                last = min(first + size, n)
                if self._sparse == "csc_matrix":
                    yield whole[first:last].toarray()
                elif starts is not None:
                    at = slice(int(starts[first]), int(starts[last]))
                    packed = (self._x["data"][at], self._x["indices"][at], starts[first : last + 1] - starts[first])
                    yield csr_matrix(packed, (last - first, d)).toarray()
                else:
                    yield self._x[first:last]

    def frame(self, names: Sequence[str]) -> DataFrame:
        """Columns of obs."""
        import pandas as pd

        with reading(self.file, WHAT):
            return pd.DataFrame({name: self._column(name) for name in names}, index=range(len(self.ids)))

    def read_all(self) -> None:
        """Reads all but the numbers of X, of which it finds the places; what is damaged is passed over."""
        for name in self.columns:
            with suppress(Exception):
                self._column(name)
        for stored in (self._x["data"], self._x["indices"], self._x["indptr"]) if self._sparse else (self._x,):
            with suppress(Exception):
                stored.id.get_num_chunks()

    def _names(self, group: str) -> list[str]:
        stored = self._stored[group]
        return [_text(name) for name in stored[_text(stored.attrs.get("_index", "_index"))][:]]

    def _column(self, name: str) -> list[Any] | NDArray[Any]:
        stored = self._stored["obs"][name]
        kind = _text(stored.attrs.get("encoding-type", ""))
        if kind == "categorical" or "categories" in stored.attrs:  # the second in files of AnnData 0.7
            old = "categories" in stored.attrs
            found = (self._stored[stored.attrs["categories"]] if old else stored["categories"])[:]
            kinds, codes = [_plain(value) for value in found], (stored if old else stored["codes"])[:]
            return [kinds[code] if code >= 0 else None for code in codes]
        if kind.startswith("nullable"):
            return [None if gap else _plain(v) for v, gap in zip(stored["values"][:], stored["mask"][:], strict=True)]
        values = stored[:]
        return [_plain(value) for value in values] if values.dtype.kind in "OS" else values


def _require_an_end(file: Path) -> None:
    """In some damaged files the HDF5 library walks in circles for ever, and cannot be interrupted."""
    enough = SECONDS + file.stat().st_size / BYTES_PER_SECOND
    command, setting = [sys.executable, "-m", "unbraid.data.io.h5ad_files", str(file)], {"OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, env=os.environ | setting, capture_output=True, timeout=enough, check=False)
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{file} is corrupt, or on a very slow disk: it was not read within {enough:.0f} s") from error
    if done.returncode < 0:
        raise UserError(f"{file} is corrupt: the HDF5 library crashes when it reads it")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


if __name__ == "__main__":
    with suppress(UserError):
        H5ad(Path(sys.argv[1]), check=False).read_all()
