"""Numbers of the runs with one label: accuracies in per cent, gaps and loss terms, one for each seed."""

from __future__ import annotations

import numpy as np

from unbraid.study.claims import Numbers
from unbraid.study.reproduce import Results

TASKS = {"dc-bc": ("digit", "background"), "dc-dl": ("digit", "location")}  # by variant of the data


def of_slices(r: Results, label: str, whole: str, *path: str, variant: str = "dc-bc") -> Numbers:
    """What stands at a path in the probe table of z or r."""
    return r.where(label=label, variant=variant).values("probes", f"probes_{whole}", "parts", *path)


def accuracy(r: Results, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
    return 100 * of_slices(r, label, block[0], "accuracy", block, task, variant=variant)


def share(r: Results, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
    """Of the variance of a block that lies between the classes of a task, in per cent."""
    return 100 * of_slices(r, label, block[0], "share", block, task, variant=variant)


def chance(r: Results, label: str, task: str, variant: str, whole: str) -> Numbers:
    return 100 * of_slices(r, label, whole, "chance", task, variant=variant)


def gap(r: Results, label: str, task: str, variant: str = "dc-bc", whole: str = "z") -> Numbers:
    return np.abs(np.subtract(*(accuracy(r, label, f"{whole}{k}", task, variant) for k in (0, 1))))


def mean_gap(r: Results, label: str) -> Numbers:
    return np.asarray(np.mean([gap(r, label, task) for task in TASKS["dc-bc"]], 0))


def diagonal(r: Results, label: str) -> Numbers:
    """1 for each run whose halves of z share the tasks out, else 0."""
    return of_slices(r, label, "z", "diagonal")


def cosine(r: Results, label: str) -> Numbers:
    return r.where(label=label, variant="dc-bc").values("probes", "copies_z", "parts", "cosine")


def term(r: Results, label: str, name: str) -> Numbers:
    """Of the loss, over the last steps."""
    return r.where(label=label, variant="dc-bc").values("late", name)
