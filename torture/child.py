"""Commands of unbraid in a child of this process: what is imported here need not be imported there."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

SECONDS = 120.0  # a command that takes longer hangs


@dataclass(frozen=True)
class Outcome:
    """How a child ended: its exit code (negative: the signal), and what it wrote to its error output."""

    code: int
    errors: str

    @property
    def is_sentence(self) -> bool:
        """One line that begins as our messages do, besides notes."""
        lines = [line for line in self.errors.splitlines() if line.strip() and not line.startswith("unbraid: note:")]
        return len(lines) == 1 and lines[0].startswith("unbraid: ")


def fork(work: Callable[[], int], *, after: float = SECONDS, kill: bool = False) -> Outcome:
    """Calls `work` in a child; SIGKILL ends it after some seconds, which is a hang unless `kill` says it is meant."""
    with tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            _child(work, errors.fileno())
        code = _wait(pid, after, kill)
        errors.seek(0)
        return Outcome(code, errors.read().decode(errors="replace"))


def _child(work: Callable[[], int], errors: int) -> None:
    code = 99
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(errors, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        code = work()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _wait(pid: int, after: float, kill: bool) -> int:
    deadline = time.monotonic() + after
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            if not kill:
                raise TimeoutError(f"a command took more than {after:.0f} s")
            return -signal.SIGKILL
        time.sleep(0.002)


def commands(lines: list[list[str]]) -> Callable[[], int]:
    """Commands one after the other, until one fails."""

    def work() -> int:
        from unbraid.cli import main

        return next((code for words in lines if (code := main(words))), 0)

    return work


def warm(folder: Path) -> None:
    """A plain run in this process, so that its children have all that is imported."""
    import torch

    torch.set_num_threads(1)
    words = "run vae --size 16 --width 4 --batch 8 --steps 2 --points 60 --threads 1 --metrics mig --quiet"
    with redirect_stdout(io.StringIO()):
        if commands([[*words.split(), "--out", str(folder)]])():
            raise RuntimeError("a plain run failed")
