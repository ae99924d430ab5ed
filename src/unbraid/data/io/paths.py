"""Folders: the data root with the files of data sets, and the cache for what is rendered or converted from them."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from unbraid.errors import UserError


def cache_folder() -> Path:
    """Rendered and converted data: the folder UNBRAID_CACHE, else `unbraid` in the platform's cache folder."""
    return _chosen("UNBRAID_CACHE") or _platform_cache() / "unbraid"


def data_root() -> Path:
    """Files of data sets: the folder UNBRAID_DATA, else `data` in the cache folder."""
    return _chosen("UNBRAID_DATA") or cache_folder() / "data"


def source_of(name: str, path: str) -> Path:
    """Where to look for the files of a set: `path` if given, else the set's folder in the data root."""
    found = Path(path).expanduser() if path else data_root() / name
    try:
        is_folder = stat.S_ISDIR(found.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return found
    except (OSError, ValueError) as error:
        raise UserError(f"{found} cannot be read: {error}") from error
    if is_folder and not os.access(found, os.R_OK | os.X_OK):
        raise UserError(f"{found} cannot be read: permission denied")
    return found


def first_existing(folder: Path, names: tuple[str, ...], fetch: str) -> Path:
    """The first of these names that exists in the folder; else a sentence that says how to `fetch` that set."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    how = f"run `unbraid data fetch {fetch}`, or set path to the folder that contains it"
    raise UserError(f"{folder / names[0]} does not exist: {how}")


def single_file(name: str, path: str, file: str) -> Path:
    """The one file of a set: `path` itself or `file` in that folder; empty: in the set's folder in the data root."""
    where = source_of(name, path)
    return first_existing(where, (file,), name) if where.is_dir() or not path else where


def _chosen(variable: str) -> Path | None:
    value = os.environ.get(variable)
    try:
        return Path(value).expanduser().absolute() if value else None
    except RuntimeError as error:  # no home directory
        raise UserError(f"{variable} is '{value}', which is not a folder ({error})") from error


def _platform_cache() -> Path:
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError as error:  # no home directory
        raise UserError(f"there is no folder for data ({error}): set UNBRAID_DATA and UNBRAID_CACHE") from error
