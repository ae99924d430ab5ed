"""What a person sees while work goes on: a bar or a line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from unbraid.train.hooks import Hook

LINE_SECONDS = 20.0
LONG = 2.0  # seconds from which a stage is named at the end
NAMED = 3  # stages that are named, the longest first


class Progress(Hook):
    def __init__(self, title: str, total: int, show: bool) -> None:
        self.console = Console(stderr=True, quiet=not show)
        self.title, self.total = title, total
        self.bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[terms]}"),
            console=self.console,
            disable=not (show and self.console.is_terminal),
        )

    def __enter__(self) -> Self:
        self.bar.start()
        self.task = self.bar.add_task(self.title, total=self.total, rate="", terms="")
        self.begin, self.first, self.line = time.monotonic(), -1, 0.0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def on_window(self, step: int, terms: dict[str, float]) -> None:
        now = time.monotonic()
        if self.first < 0:  # the rate is measured from the first window on, whose start includes warming up
            self.first, self.begin = step, now
        rate = (step - self.first) / (now - self.begin) if step > self.first else 0.0
        shown = "  ".join(f"{name} {value:.4g}" for name, value in terms.items() if name != "step")
        speed = f"{rate:.1f} steps/s" if rate else ""
        self.bar.update(self.task, completed=step, rate=speed, terms=shown)
        if not self.console.is_terminal and (now - self.line > LINE_SECONDS or step == self.total):
            left = f", {(self.total - step) / rate:.0f} s left" if rate and step < self.total else ""
            self.console.print(
                f"{self.title}: step {step} of {self.total}{speed and ', '}{speed}{left}: {shown}", soft_wrap=True
            )
            self.line = now


class Stages:
    """Says what is being done after the training, and at the end what took long; called with the name of each stage."""

    def __init__(self, show: bool) -> None:
        self.console = Console(stderr=True, quiet=not show)
        self.status = self.console.status("")
        self.spent: dict[str, float] = {}
        self.now = ""
        self.begin = self.line = time.monotonic()

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self.status.start()
        return self

    def __call__(self, what: str) -> None:
        self._close()
        self.now = what
        self.status.update(what)
        if not self.console.is_terminal and self.begin - self.line > LINE_SECONDS:
            self.console.print(what, soft_wrap=True, highlight=False, markup=False)
            self.line = self.begin

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self.status.stop()
        if kind is None and self.spent:
            self.console.print(self.summary(), soft_wrap=True, highlight=False, markup=False)

    def summary(self) -> str:
        """How long all of it took, and what took longest."""
        longest = sorted(self.spent.items(), key=lambda stage: -stage[1])[:NAMED]
        named = [f"{what} {seconds:.0f} s" for what, seconds in longest if seconds >= LONG]
        total = f"encoded, scored and drawn in {sum(self.spent.values()):.0f} s"
        return f"{total}: {', '.join(named)}" if named else total

    def _close(self) -> None:
        now = time.monotonic()
        if self.now:
            self.spent[self.now] = self.spent.get(self.now, 0.0) + now - self.begin
        self.begin, self.now = now, ""
