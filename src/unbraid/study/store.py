"""Where the runs of a study are: a folder, which may be shared by many machines, or any URL that fsspec knows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from unbraid.errors import UserError
from unbraid.train.run import write

LOCAL_ONLY = ("lock",)
LAST = "evaluation.json"  # copied last: a directory that has it is complete


class Store(Protocol):
    def names(self) -> list[str]:
        """The directories of runs."""

    def read_all(self, file: str) -> dict[str, bytes]:
        """This file of every run that has it, by the run's name; '' is the name of the place itself."""

    def has(self, name: str, file: str) -> bool:
        """Whether a run has this file."""

    def write(self, name: str, file: str, content: Any) -> None:
        """Puts JSON into a run's directory, which is made if there is none."""

    def workspace(self, name: str, *others: str) -> Any:
        """A context: the folder on this machine in which the run is worked on; `others` can be read there."""


def open_store(out: str) -> Store:
    return Bucket(out) if "://" in out else Folder(Path(out))


class Folder:
    """Runs are worked on in place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_dir()) if self.path.is_dir() else []

    def read_all(self, file: str) -> dict[str, bytes]:
        found = {}
        for name in ["", *self.names()]:
            with suppress(FileNotFoundError):
                found[name] = (self.path / name / file).read_bytes()
        return found

    def has(self, name: str, file: str) -> bool:
        return (self.path / name / file).exists()

    def write(self, name: str, file: str, content: Any) -> None:
        (self.path / name).mkdir(parents=True, exist_ok=True)
        write(self.path / name / file, json.dumps(content, indent=2).encode())

    @contextmanager
    def workspace(self, name: str, *others: str) -> Iterator[Path]:
        yield self.path


class Bucket:
    """Runs are worked on in a temporary directory: copied there before, and back afterwards, however they end.

    A machine that dies copies nothing back: all of its run since then is lost.
    There are no locks at a URL: let one study at a time write to it.
    """

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs

        try:
            self.files, root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UserError(f"{url} cannot be used: {error}") from error
        self.root = root.rstrip("/")

    def names(self) -> list[str]:
        return sorted(Path(entry["name"]).name for entry in self._listed(self.root) if entry["type"] == "directory")

    def read_all(self, file: str) -> dict[str, bytes]:
        paths = {self._path(name, file): name for name in ["", *self.names()]}
        found = self.files.cat(list(paths), on_error="return")
        for path, content in found.items():
            if isinstance(content, Exception) and not isinstance(content, FileNotFoundError):
                raise UserError(f"{path} cannot be read ({content}): try again when it can") from content
        return {paths[path]: content for path, content in found.items() if not isinstance(content, Exception)}

    def has(self, name: str, file: str) -> bool:
        return any(Path(entry["name"]).name == file for entry in self._listed(self._path(name)))

    def write(self, name: str, file: str, content: Any) -> None:
        self.files.makedirs(self._path(name, ""), exist_ok=True)
        self.files.pipe_file(self._path(name, file), json.dumps(content, indent=2).encode())

    @contextmanager
    def workspace(self, name: str, *others: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="unbraid-") as folder:
            for part in (name, *others):
                self._bring(part, Path(folder) / part)
            try:
                yield Path(folder)
            finally:
                if (Path(folder) / name).is_dir():
                    self._bring_back(Path(folder) / name, self._path(name, ""))

    def _bring(self, name: str, here: Path) -> None:
        for entry in self._listed(self._path(name, "")):
            here.mkdir(exist_ok=True)
            self.files.get_file(entry["name"], str(here / Path(entry["name"]).name))

    def _bring_back(self, here: Path, there: str) -> None:
        files = [p for p in here.iterdir() if p.name not in LOCAL_ONLY and not p.name.startswith(".")]
        self.files.makedirs(there, exist_ok=True)
        for path in sorted(files, key=lambda path: path.name == LAST):
            self.files.put_file(str(path), f"{there}/{path.name}")
        kept = {path.name for path in files}
        for entry in self._listed(there):
            if Path(entry["name"]).name not in kept:
                self.files.rm_file(entry["name"])

    def _listed(self, path: str) -> list[dict[str, Any]]:
        """What is in a directory now: fsspec remembers what it has listed, and other machines write there too."""
        self.files.invalidate_cache()
        return list(self.files.ls(path, detail=True)) if self.files.isdir(path) else []

    def _path(self, *parts: str) -> str:
        return "/".join([self.root, *(part for part in parts if part)])
