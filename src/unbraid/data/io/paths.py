"""Where data live: one folder for every set, and the only one that is written to."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from unbraid.errors import UserError


def data_root() -> Path:
    """The folder named by the environment variable UNBRAID_DATA, else the platform's cache folder for `unbraid`."""
    try:
        chosen = os.environ.get("UNBRAID_DATA")
        return Path(chosen).expanduser().absolute() if chosen else _cache_folder() / "unbraid"
    except RuntimeError as error:  # no home directory
        raise UserError(f"there is no place for data ({error}): set UNBRAID_DATA to a folder") from error


def place(name: str, path: str) -> Path:
    """Where the files of a set are looked for: `path` where it is given, else the set's folder in the data root."""
    found = Path(path).expanduser() if path else data_root() / name
    try:
        is_folder = stat.S_ISDIR(found.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return found
    except (OSError, ValueError) as error:
        raise UserError(f"{found} cannot be read: {error}") from error
    if is_folder and not os.access(found, os.R_OK | os.X_OK):
        raise UserError(f"{found} may not be read by this user")
    return found


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
