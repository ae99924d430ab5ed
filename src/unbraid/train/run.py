"""A run's directory: named after method, data set and a hash of its resolved arguments; every file is moved into place.

run.json              all resolved arguments, seed, package versions, commit
state.pt              weights, optimisers and step, while training goes on and after
history.csv           loss terms over time
weights.safetensors   the trained weights
scaling.npz           mean and standard deviation of each feature, and its name, where samples are features; of counts
                      the standard deviation of log(1 + count) and the median sum of a row
codes.npz             codes and factors (codes.py); pictures.npz what the decoder drew
scores.json           the metrics
report.html           all of it, to look at
done                  written when training has finished
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.catalogue import OBJECT
from unbraid.data.io.array_files import read_arrays
from unbraid.data.table import PART
from unbraid.errors import UserError

try:
    import fcntl
except ImportError:  # on Windows a run has no lock
    fcntl = None  # type: ignore[assignment]

# fields of a plan that leave the name of a run alone at these values: runs were named before there were such fields
OPTIONAL = {"start_from": None, "decay": 0.0}
SCALING = "scaling.npz"
KINDS: dict[str, tuple[type, ...]] = {  # the types of what stands in run.json
    **dict.fromkeys(("method", "data"), (str,)),
    **dict.fromkeys(("arguments", "data_arguments", "sampling", "spec", "versions", "sources"), (dict,)),
    **dict.fromkeys(("steps", "batch", "seed"), (int,)),
    **{"start_from": (str, type(None)), "decay": (int, float)},
}
SCORE: dict[str, tuple[type, ...]] = {  # and in each score of scores.json
    **{name: (int, float, type(None)) for name in ("value", "low", "high", "null")},
    **{"parts": (dict,), "params": (dict,), "warnings": (list,)},
}


class Busy(UserError):
    """Another process has the lock of a run."""


class Damaged(UserError):
    """A file of a run is there and cannot be read."""


def write(path: Path, data: bytes) -> None:
    """Writes beside the place and moves: the file is whole, or as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb", opener=_itself) as file:  # Path.open takes no opener
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        reason = error.strerror or error
        raise UserError(f"cannot write {path}: {reason}; the files written before it are kept") from error


def _itself(path: str, flags: int) -> int:
    """Opens a file and not what a link of its name leads to: a stranger's folder may hold links to files of yours."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


@dataclass(frozen=True)
class Plan:
    """All that decides the weights of a run."""

    method: str
    arguments: dict[str, Any]
    data: str
    data_arguments: dict[str, Any]
    sampling: dict[str, Any]
    steps: int
    batch: int
    seed: int
    start_from: str | None = None  # the run whose weights it begins with, in place of random ones
    decay: float = 0.0  # share of the steps, at the end, over which learning rates fall

    @property
    def name(self) -> str:
        told = {n: value for n, value in vars(self).items() if n not in OPTIONAL or value != OPTIONAL[n]}
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
        method, data = (name.rpartition(":")[2].replace("<", "").replace(">", "") for name in (self.method, self.data))
        return f"{method}-{data}-{digest[:8]}"

    @property
    def places(self) -> list[str]:
        """Where code of a user's own lies: the method, the data set and networks that are named by their place."""
        networks = [self.arguments[name] for name in ("encoder", "decoder") if name in self.arguments]
        return [str(place) for place in (self.method, self.data, *networks) if ":" in str(place)]

    @property
    def command(self) -> str:
        """The command line that repeats the run."""
        options = {**self.data_arguments, **self.arguments, **self.sampling}
        options |= {"steps": self.steps, "batch": self.batch, "seed": self.seed}
        options |= {name: value for name, default in OPTIONAL.items() if (value := getattr(self, name)) != default}
        words = ["unbraid", "run", shlex.quote(self.method), "--data", shlex.quote(self.data)]
        for name, value in options.items():
            flag = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            elif value is not None:
                words += [f"--{flag}", shlex.quote(str(value))]
        return " ".join(words)

    @property
    def repeated(self) -> bool:
        """Whether `command` repeats the run: not where it was given arrays, rows or networks that it does not keep."""
        return self.data != "arrays" and PART not in self.data_arguments and self.keeps_networks

    @property
    def keeps_networks(self) -> bool:
        """Whether no network was given as a module, of which a run keeps the weights alone."""
        return not any(str(value).startswith(OBJECT) for value in self.arguments.values())


class Run:
    """The files of one run."""

    trusted = False  # whether code that it names may be imported, as it may where this process made the run

    def __init__(self, path: Path | str) -> None:
        """Opens a directory that holds a run."""
        self.path = Path(path)
        config = self.path / "run.json"
        if not config.is_file():
            raise UserError(f"{self.path} is not a run: it has no run.json")
        self.config: dict[str, Any] = self._json("run.json")
        if wrong := of_another_kind(self.config, KINDS):
            raise UserError(f"{config} is not a run's description: '{wrong}' is {self.config[wrong]!r:.40}")
        try:
            known = [n for n in Plan.__dataclass_fields__ if n not in OPTIONAL or n in self.config]
            self.plan = Plan(**{name: self.config[name] for name in known})
        except KeyError as error:
            raise UserError(f"{config} is not a run's description: it lacks {error}") from error

    @classmethod
    def of(cls, run: Run | Path | str) -> Run:
        """A run that is given as itself or by its directory."""
        return run if isinstance(run, Run) else cls(run)

    @classmethod
    def create(cls, root: Path | str, plan: Plan, **facts: Any) -> Run:
        """The plan's directory below `root`, made if it does not exist."""
        path = Path(root) / plan.name
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make {path}: {error.strerror}") from error
        if not (path / "run.json").exists():
            config = asdict(plan) | facts | {"versions": versions(), "commit": commit()}
            write(path / "run.json", json.dumps(config, indent=2).encode())
        return cls(path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Only one process works on a run; the system lets go of the lock when the process ends, however it ends."""
        try:
            file = open(self.path / "lock", "ab", opener=_itself)  # noqa: SIM115
        except OSError as error:
            raise UserError(f"cannot write to {self.path}: {error.strerror}") from error
        with file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Busy(f"another process is working on {self.path}") from error
            except OSError as error:
                raise UserError(
                    f"{self.path} cannot be locked ({error.strerror}): choose a folder (--out) on a disk with locks"
                ) from error
            _remove_torn(self.path)
            yield

    @property
    def finished(self) -> bool:
        return (self.path / "done").exists()

    def finish(self) -> None:
        write(self.path / "done", b"")

    def write_json(self, name: str, content: Any) -> None:
        write(self.path / name, json.dumps(content, indent=2).encode())

    def scores(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self._json("scores.json") if (self.path / "scores.json").exists() else {}
        for name, score in found.items():
            if not isinstance(score, dict) or not SCORE.keys() <= score.keys() or of_another_kind(score, SCORE):
                remedy = _remedy(self.path, "scores.json")
                raise UserError(f"'{name[:40]}' in {self.path / 'scores.json'} is not a score: {remedy}")
        return found

    def _json(self, name: str) -> Any:
        try:
            found = json.loads((self.path / name).read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise ValueError(f"it holds {found!r:.20}")
            return found
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{self.path / name} cannot be read ({error}): {_remedy(self.path, name)}") from error

    def write_arrays(self, name: str, **arrays: NDArray[Any]) -> None:
        if any(array.dtype.hasobject for array in arrays.values()):
            raise ValueError(f"{name} cannot hold arrays of Python objects")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        write(self.path / name, buffer.getvalue())

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays of one of the run's npz files."""
        path = self.path / name
        if not path.exists():
            raise UserError(f"{path} is missing: 'unbraid report {self.path}' makes it from a trained run")
        try:
            return read_arrays(path)
        except UserError as error:
            raise Damaged(f"{error}: {_remedy(self.path, name)}") from error


def of_another_kind(content: dict[str, Any], kinds: dict[str, tuple[type, ...]]) -> str | None:
    """The name of a value that is not of the kind it must be, or not finite; None where all are."""
    for name, kind in kinds.items():
        value = content.get(name)
        if name in content and not (isinstance(value, kind) and (not isinstance(value, float) or math.isfinite(value))):
            return name
    return None


def _remove_torn(folder: Path) -> None:
    """Removes what processes that were killed have left of their writing."""
    for path in folder.glob(".*"):
        process = path.suffix.removeprefix(".")
        if process.isdecimal() and not _is_running(int(process)):
            path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        with suppress(PermissionError, OverflowError):  # it is another user's; it is too large for a process
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _remedy(path: Path, name: str) -> str:
    if name == "run.json":
        return "the run cannot be used; train it again, in another folder"
    return f"remove it, and 'unbraid report {path}' makes it anew"


def versions() -> dict[str, str]:
    packages = ("unbraid", "torch", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in packages}


@cache
def commit() -> str | None:
    """The commit of the source tree, with '+' where it has changes, if it is a checkout."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "--no-optional-locks", "-C", str(here), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)  # else it is installed within the repository of something else
        return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", str(here)) else "")
    except (OSError, subprocess.CalledProcessError):
        return None
