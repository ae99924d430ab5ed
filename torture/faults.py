"""A file system that fails at a chosen moment: the n-th operation below some folders gives an error.

Operations are the system calls of Python's file objects (open, read, write) and of os (mkdir, replace, fsync, unlink).
Files that are read by a library's own machine code, such as safetensors, count as one read.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

SHORT = -1  # half of a write is done, and the disk is full then
TAKES_SPACE = ("create", "write", "fsync", "mkdir")
KINDS = {
    "open": (errno.EACCES, errno.EIO),
    "create": (errno.ENOSPC, errno.EACCES, errno.EIO),
    "read": (errno.EIO, errno.EACCES),
    "write": (errno.ENOSPC, errno.EIO, errno.EACCES, SHORT),
    "fsync": (errno.ENOSPC, errno.EIO),
    "replace": (errno.ENOSPC, errno.EIO, errno.EACCES),
    "mkdir": (errno.ENOSPC, errno.EACCES, errno.EIO),
    "unlink": (errno.EACCES, errno.EIO),
}


@dataclass
class Faults:
    """Counts the operations below some folders; the one of number `at` fails."""

    folders: Sequence[Path]
    at: int | None = None
    error: int = errno.EIO
    seen: list[tuple[str, str]] = field(default_factory=list)  # kind and file of each operation
    watch: Callable[[], None] = lambda: None  # called before each operation
    full: bool = False

    def concerns(self, path: Any) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        place = Path(os.fsdecode(path)).absolute()
        return any(place.is_relative_to(folder) for folder in self.folders)

    def happens(self, kind: str, path: Any) -> bool:
        """Counts an operation and raises its error where it is the chosen one; says whether a write is short."""
        self.watch()
        self.seen.append((kind, os.fsdecode(path)))
        if self.full and kind in TAKES_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fsdecode(path))
        if len(self.seen) - 1 != self.at:
            return False
        if self.error == SHORT:
            self.full = kind == "write"
            return True
        raise OSError(self.error, os.strerror(self.error), os.fsdecode(path))


class FaultyFile(io.FileIO):
    """A file whose reads and writes may fail."""

    def __init__(self, faults: Faults, path: Any, mode: str, opener: Any = None) -> None:
        faults.happens("open" if mode == "r" else "create", path)
        self.faults = faults
        super().__init__(path, mode, opener=opener)
        self.place = path

    def readinto(self, buffer: Any, /) -> int | None:
        self.faults.happens("read", self.place)
        return super().readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes:
        self.faults.happens("read", self.place)
        return super().read(-1 if size is None else size)

    def readall(self) -> bytes:
        self.faults.happens("read", self.place)
        return super().readall()

    def write(self, data: Any, /) -> int:
        if self.faults.happens("write", self.place):
            data = memoryview(data).cast("B")[: len(memoryview(data).cast("B")) // 2]
        return super().write(data)


@contextmanager
def faulty(faults: Faults) -> Iterator[Faults]:
    """Makes the operations of this process go through `faults`."""
    real_open = io.open
    descriptors: dict[int, Any] = {}

    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not faults.concerns(file):
            return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = FaultyFile(faults, file, mode.replace("b", "").replace("t", ""), opener)
        descriptors[raw.fileno()] = file
        if buffering == 0:
            return raw
        reads = "r" in mode and "+" not in mode
        whole = io.BufferedReader(raw) if reads else io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return whole if "b" in mode else io.TextIOWrapper(whole, encoding, errors, newline)

    def counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *more: Any, **named: Any) -> Any:
            place = descriptors.get(path) if isinstance(path, int) else path
            if place is not None and faults.concerns(place):
                faults.happens(kind, place)
            return function(path, *more, **named)

        return call

    import safetensors
    import safetensors.torch

    with (
        patch.object(io, "open", opened),
        patch.object(builtins, "open", opened),
        patch.object(os, "fsync", counted("fsync", os.fsync)),
        patch.object(os, "replace", counted("replace", os.replace)),
        patch.object(os, "mkdir", counted("mkdir", os.mkdir)),
        patch.object(os, "unlink", counted("unlink", os.unlink)),
        patch.object(safetensors.torch, "safe_open", counted("read", safetensors.safe_open)),
    ):
        yield faults
