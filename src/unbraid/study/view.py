"""What a person sees of a study: a table that changes on a terminal, a line for each event elsewhere."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

LINE_SECONDS = 60.0  # between two lines about what is running, where there is no terminal
SHOWN = 30  # running runs shown at most


@dataclass
class Running:
    steps: int
    begin: float
    step: int = 0
    loss: float = float("nan")


class View:
    """Counts the runs of a study: done, running, failed, left; and guesses the time left from what was done."""

    def __init__(self, title: str, *, total: int, done: int, workers: int, left: int, show: bool = True) -> None:
        """`total` runs of which `done` were finished before, and `left` steps to do."""
        self.console = Console(stderr=True, quiet=not show)
        self.title, self.total, self.done, self.workers, self.steps_left = title, total, done, workers, left
        self.failures: dict[str, str] = {}
        self.finished: list[str] = []
        self.running: dict[str, Running] = {}
        self.worked, self.steps_done = 0.0, 0  # seconds and steps of the runs that have ended
        self.line = time.monotonic()
        self.live = Live(console=self.console, refresh_per_second=2, transient=False)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live.is_started:
            self.live.update(self._table())
            self.live.stop()

    def started(self, name: str, steps: int) -> None:
        self.running[name] = Running(steps, time.monotonic())

    def progressed(self, name: str, step: int, loss: float) -> None:
        self.running[name].step, self.running[name].loss = step, loss

    def put_back(self, name: str) -> None:
        del self.running[name]

    def ended(self, name: str, status: str, reason: str = "", seconds: float = 0.0) -> None:
        run = self.running.pop(name)
        self.steps_left -= run.steps
        if status == "finished":
            self.done += 1
            self.finished.append(name)
            self.worked, self.steps_done = self.worked + seconds, self.steps_done + run.steps
        else:
            self.failures[name] = reason
        self._say(f"{name} {status}" + (f": {reason}" if reason else f" in {duration(seconds)}"))

    def time_left(self) -> float | None:
        """Seconds, were all steps to take as long as those of the runs that ended."""
        if not self.steps_done or self.worked <= 0:
            return None
        under_way = sum(run.step for run in self.running.values())
        return (self.steps_left - under_way) * self.worked / self.steps_done / self.workers

    def summary(self) -> str:
        at_work = len(self._at_work())
        parts = [f"{self.done} of {self.total} done", f"{at_work} running", f"{len(self.failures)} failed"]
        if at_work < len(self.running):
            parts.insert(2, f"{len(self.running) - at_work} waiting")
        left = self.time_left()
        return ", ".join(parts) + (f", about {duration(left)} left" if left and self.steps_left else "")

    def _at_work(self) -> list[tuple[str, Running]]:
        """A cluster is given more runs than it does at a time, and begins with the first."""
        return list(self.running.items())[: self.workers]

    def refresh(self) -> None:
        """Draws, or says a line when the last was long ago."""
        if self.live.is_started:
            self.live.update(self._table())
        elif time.monotonic() - self.line > LINE_SECONDS:
            each = [f"{name} step {run.step} of {run.steps}" if run.step else name for name, run in self._at_work()[:3]]
            self._say("; ".join(each) or "waiting")

    def _say(self, text: str) -> None:
        if not self.live.is_started:
            self.console.print(f"{self.title}: {self.summary()}; {text}", soft_wrap=True, highlight=False, markup=False)
            self.line = time.monotonic()

    def _table(self) -> Group:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("running", "step", "loss", "for"):
            table.add_column(column, justify="left" if column == "running" else "right")
        for name, run in self._at_work()[:SHOWN]:
            passed = duration(time.monotonic() - run.begin)
            table.add_row(name, f"{run.step} of {run.steps}", f"{run.loss:.4g}", passed)
        failed = [Text(f"failed: {name}: {reason}") for name, reason in list(self.failures.items())[-5:]]
        return Group(table, *failed, Text(f"{self.title}: {self.summary()}"))


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
