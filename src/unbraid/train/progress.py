"""What a person sees while training goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from unbraid.train.hooks import Hook

LINE_SECONDS = 20.0


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
