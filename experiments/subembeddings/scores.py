"""Numbers of the runs with one label, one for each seed; nothing (NaN) where a seed was not run, so that seeds pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.study.claims import Numbers
from unbraid.study.reproduce import Result, Results

TASKS = {  # by variant of the data
    "dc-bc": ("digit", "background"),
    "dc-dl": ("digit", "location"),
    "bc-dl": ("background", "location"),
}
PROBES = ("usual own", "usual fresh", "converged own", "converged fresh")  # see measures.py


LEAST_GAP = 0.5  # points; of the paper's re-runs 4 of 5 with the Hessian have it, and none of 5 with P-Ortho


class Scores:
    """What the runs scored, by one kind of probe; accuracies are in per cent."""

    def __init__(self, results: Results, probe: str = PROBES[0]) -> None:
        self.results, self.probe = results, probe
        self.seeds = sorted({run.seed for run in results})
        self.runs: dict[tuple[str, Any], dict[int, Result]] = {}  # by label and variant of the data, and by seed
        for run in results:
            self.runs.setdefault((run.label, run.arguments["variant"]), {})[run.seed] = run

    def of(self, label: str, variant: str, *path: str) -> Numbers:
        """What stands at a path of the measures, for every seed."""
        runs = self.runs.get((label, variant), {})
        return np.array([runs[seed].value(*path) if seed in runs else np.nan for seed in self.seeds])

    def accuracy(self, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
        return 100 * self.of(label, variant, "probes", "accuracy", self.probe, block, task)

    def above_chance(self, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
        chance = 100 * self.of(label, variant, "probes", "chance", task)
        return np.asarray(self.accuracy(label, block, task, variant) - chance)

    def signed_gap(self, label: str, task: str, variant: str = "dc-bc", whole: str = "z") -> Numbers:
        first, second = (self.accuracy(label, f"{whole}{k}", task, variant) for k in (0, 1))
        return np.asarray(first - second)

    def gap(self, label: str, task: str, variant: str = "dc-bc", whole: str = "z") -> Numbers:
        return np.abs(self.signed_gap(label, task, variant, whole))

    def mean_gap(self, label: str, whole: str = "z") -> Numbers:
        return np.asarray(np.mean([self.gap(label, task, whole=whole) for task in TASKS["dc-bc"]], 0))

    def half(self, label: str, task: str, variant: str = "dc-bc", *, better: bool = True) -> Numbers:
        """The accuracy of the better half of z, or of the worse one."""
        halves = [self.accuracy(label, f"z{k}", task, variant) for k in (0, 1)]
        return np.asarray(np.maximum(*halves) if better else np.minimum(*halves))

    def diagonal(self, label: str) -> Numbers:
        """1 for each run in which either half of z is the better one at a task, by half a point or more, else 0.

        Without that least gap two equal halves would be diagonal every second time.
        """
        one, other = (self.signed_gap(label, task) for task in TASKS["dc-bc"])
        found = (one * other < 0) & (np.minimum(abs(one), abs(other)) >= LEAST_GAP)
        return np.where(np.isnan(one * other), np.nan, found)

    def share(self, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
        """Of the variance of a block that lies between the classes of a task, in per cent."""
        return 100 * self.of(label, variant, "probes", "share", block, task)


def known(values: Numbers) -> Numbers:
    return np.asarray(values[np.isfinite(values)])


def mean(values: Numbers, digits: int = 1) -> str:
    """In words; a question mark where nothing is known."""
    return f"{known(values).mean():.{digits}f}" if len(known(values)) else "?"


def variance(values: Numbers) -> str:
    return f"{known(values).var():.1f}" if len(known(values)) else "?"


def counted(values: Numbers) -> tuple[int, int]:
    """How many of how many."""
    return int(known(values).sum()), len(known(values))
