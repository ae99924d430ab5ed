"""Arrays that are slow to compute, kept in the cache folder; a damaged file there is replaced."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.paths import cache_folder


def cached_array(file: str, shape: tuple[int, ...], compute: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
    """The array from the cache, or else computed and cached.

    Args:
        file: name of the npz file, which must change whenever the result would
    """
    path = cache_folder() / "rendered" / file
    array = load_array(path, shape)
    if array is None:
        array = compute()
        save_array(path, array)
    return array


def load_array(path: Path, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
    """The array in a file, or None if it is missing or its checksum is wrong."""
    try:
        with path.open("rb") as file:
            array: NDArray[np.float32] = np.load(file, allow_pickle=False)["maps"]
            fits = array.shape == shape and array.dtype == np.float32
    except Exception:  # whatever is wrong with the file, it is computed again
        return None
    return array if fits else None


def save_array(path: Path, array: NDArray[np.float32]) -> None:
    """Writes to a temporary file and renames it; if nothing can be written, the array stays in memory only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, maps=array)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(
            f"{path.name} cannot be written to {path.parent} and will be computed again next time ({error}): "
            "set UNBRAID_CACHE to a folder that can be written",
            stacklevel=4,
        )
