"""Samples and codes in files, as users have them.

Samples are a folder or zip of image files, an array (.npy, .npz, .h5), or, where the model was trained on features, a
table (.csv, .tsv, .parquet, .h5ad). Codes are a table with a row for each sample: its `name`, which is its file or the
number of its row, and a column for each latent, with the names of `Model.feature_names`. In an .npz file these are the
arrays `codes` [n, k], `columns` [k] and `names` [n].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import H5Rows, StoredArray, npy, npz, read_arrays
from unbraid.data.io.column_files import OPEN
from unbraid.data.io.formats import reading
from unbraid.data.io.image_files import Color
from unbraid.data.io.table_files import read_features
from unbraid.data.sets.images import Images
from unbraid.data.table import Rows
from unbraid.errors import UserError
from unbraid.model import Model

TABLES = (".csv", ".tsv", ".parquet")
HDF5 = (".h5", ".hdf5")
ARRAYS = (".npy", ".npz", *HDF5)
NAME = "name"  # the column of the samples' names in a file of codes
COLORS = {1: "grey", 3: "in colour"}
LIKE_TRAINING = ("images", "two_folders")  # data sets that read files as they are read here, and resize arrays too


@dataclass(frozen=True)
class Source:
    """Samples of a file or folder."""

    names: list[str]
    read: Callable[[Rows], Any]  # what the model takes: an array or a frame


def open_samples(model: Model, path: Path, color: Color | None = None, id: str | None = None) -> Source:
    """The samples of a file or folder, refused where they do not fit the model."""
    kind = path.suffix.lower()
    if not path.exists():
        raise UserError(f"there is no file or folder {path}")
    if path.is_file() and not path.stat().st_size:
        raise UserError(f"{path} is an empty file")
    if kind in OPEN:
        return _from_table(model, path, id)
    if id is not None:
        raise UserError(f"--id names a column of a table, and {path} is none")
    if color and (kind in HDF5 or model.scaling is not None):
        raise UserError(f"--color converts images in files, .npy and .npz arrays, and {path} is none of these")
    if path.is_file() and kind not in (".zip", *ARRAYS):
        raise UserError(f"{path} is neither a folder, a zip, an array nor a table: put image files into a folder")
    if kind in HDF5 or (kind in ARRAYS and (model.scaling is not None or not (color or _reads_like_training(model)))):
        array = _array(path)
        model.read(array, str(path))
        return Source([str(row) for row in range(len(array))], lambda rows: array[rows[0] : rows[-1] + 1])
    if model.scaling is not None:
        raise UserError(
            f"{path} holds images, and the model was trained on {model.shape[2]} features: give a table "
            f"({', '.join(OPEN)}) or an array of features"
        )
    return _from_images(model, path, color)


def _reads_like_training(model: Model) -> bool:
    return model.run is not None and model.run.plan.data in LIKE_TRAINING


def _from_images(model: Model, path: Path, color: Color | None) -> Source:
    """Image files, cropped to a centred square and resized."""
    channels, height, width = model.shape
    if height != width:
        raise UserError(f"image files are made square, and the model was trained on {height}x{width}: give an array")
    given = model.run.plan.data_arguments.get("color") if model.run is not None else None
    first = Images(path=str(path), size=height, color=color or given or "as_is")
    if first.shape[0] != channels:
        how = "grey" if channels == 1 else "rgb"
        raise UserError(
            f"the images of {path} are {COLORS[first.shape[0]]}, and those of training were {COLORS[channels]}: "
            f"convert them with --color {how}"
        )
    tables = [first, first.test] if first.test is not None else [first]
    names = [name for table in tables for name in table.files] or [str(row) for row in range(len(first))]

    def read(rows: Rows) -> NDArray[np.uint8]:
        split = len(first)
        parts = [first.images(rows[rows < split])]
        if len(tables) > 1:
            parts.append(tables[1].images(rows[rows >= split] - split))
        return np.concatenate(parts)

    return Source(names, read)


def _from_table(model: Model, path: Path, id: str | None) -> Source:
    """The features of a table: those that the model knows by name, or all columns but `id`."""
    if model.scaling is None:
        size = "x".join(map(str, model.shape[1:]))
        raise UserError(f"{path} is a table of features, and the model was trained on images of {size}")
    table = read_features(str(path), model.scaling.names, id)
    model.read(table.features, str(path))
    names = list(table.ids) or [str(row) for row in range(len(table.features))]
    return Source(names, lambda rows: table.features[rows])


def read_frame(path: Path, text: str | None) -> Any:
    """A table (.csv, .tsv, .parquet) with at least one row.

    Args:
        text: a column that is read as text, where there is such a column
    """
    import pandas as pd

    try:
        if path.suffix.lower() == ".parquet":
            frame = pd.read_parquet(path)
        else:
            sep = "\t" if path.suffix.lower() == ".tsv" else ","
            frame = pd.read_csv(path, sep=sep, dtype={text: str} if text else None)
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except Exception as error:  # pandas and arrow raise many kinds for damaged files
        raise UserError(f"{path} is not a readable table ({str(error).splitlines()[0]})") from error
    if frame.empty:
        raise UserError(f"{path} has no rows: it is an empty table")
    return frame


def _array(path: Path) -> NDArray[Any]:
    """The only array of a file, or the one called `images` or `features`; that of an npy file is memory-mapped."""
    if path.suffix.lower() == ".npy":
        stored = npy(path)
        order = "F" if stored.fortran else "C"
        if 0 in stored.shape:
            return np.empty(stored.shape, stored.dtype)
        return np.memmap(path, stored.dtype, "r", stored.offset, stored.shape, order)  # type: ignore[call-overload, no-any-return]
    found = _h5(path) if path.suffix.lower() in HDF5 else npz(path)
    chosen = [name for name in found if len(found) == 1 or name in ("images", "features")]
    if len(chosen) != 1:
        raise UserError(f"{path} has the arrays {_listed(found)}: call the one with the samples 'images' or 'features'")
    array = found[chosen[0]]
    if isinstance(array, StoredArray):
        return array.load()
    shape, kind = array
    return H5Rows(path, chosen[0], shape, kind)(np.arange(shape[0]))


def _h5(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of each array at the top of an HDF5 file."""
    import h5py

    with reading(path, "an HDF5 file"), h5py.File(path, "r") as file:
        return {
            name: (found.shape, found.dtype.str)
            for name in file
            if isinstance(found := file.get(name), h5py.Dataset) and found.shape and found.dtype.kind in "fiub"
        }


def read_codes(model: Model, path: Path) -> tuple[list[str], NDArray[np.float32]]:
    """Names of samples and their codes [n, k], in the order of the model, from a file of codes."""
    if path.suffix.lower() == ".npz":
        arrays = read_arrays(path)
        if not {"codes", "columns"} <= arrays.keys() or arrays["codes"].ndim != 2:
            raise UserError(f"{path} has no arrays 'codes' [n, k] and 'columns' [k], as 'unbraid encode' writes them")
        columns = dict(zip(map(str, arrays["columns"]), arrays["codes"].T, strict=False))
        given, count = arrays.get("names"), len(arrays["codes"])
    elif path.suffix.lower() in TABLES:
        frame = read_frame(path, NAME)
        columns = {str(name): frame[name].to_numpy() for name in frame.columns}
        given, count = columns.get(NAME), len(frame)
    else:
        raise UserError(f"{path} has the ending '{path.suffix}': codes are read from {', '.join((*TABLES, '.npz'))}")
    missing = [name for name in model.feature_names if name not in columns]
    if missing:
        raise UserError(f"{path} lacks the columns {_listed(missing)} of the codes of this model")
    for name in model.feature_names:
        if columns[name].dtype.kind not in "fiub" or not np.isfinite(columns[name]).all():
            raise UserError(f"the column '{name}' of {path} must hold finite numbers")
    names = [str(row) for row in range(count)] if given is None else [str(name) for name in given]
    _check_unique(names, path)
    return names, np.stack([columns[name] for name in model.feature_names], 1).astype(np.float32)


def _check_unique(names: list[str], path: Path) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"two samples of {path} are called '{name}': names must differ")
        seen.add(name)


def _listed(names: Any) -> str:
    """The first few of some names."""
    shown = [f"'{name}'" for name in names]
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "") or "none"
