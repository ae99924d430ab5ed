"""Tables 1 to 9 of the paper on sub-embeddings, each number beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.study.claims import Numbers, Table
from unbraid.study.reproduce import Result, Results

from .scores import TASKS, of_slices

SHORT = {"digit": "DC", "background": "BC", "location": "DL"}
PAPER: dict[tuple[str, str], dict[str, tuple[float, float]]] = {  # accuracy in per cent by block, for both tasks
    ("dc-bc", "supervised"): {"r": (97.3, 64.5), "r0": (97.3, 10.1), "r1": (11.7, 64.5)},
    ("dc-bc", "InfoMin 0.001"): {
        "r": (97.0, 63.1), "r0": (97.0, 62.8), "r1": (97.0, 63.0),
        "z": (74.3, 60.7), "z0": (74.4, 60.6), "z1": (74.2, 60.8),
    },
    ("dc-bc", "InfoMin 0.1"): {
        "r": (96.4, 61.1), "r0": (96.3, 60.8), "r1": (96.3, 60.8),
        "z": (47.6, 35.7), "z0": (47.5, 35.7), "z1": (47.5, 35.8),
    },
    ("dc-bc", "Ortho 0.001"): {"z": (97.0, 62.4), "z0": (76.6, 48.4), "z1": (73.2, 54.0)},
    ("dc-bc", "Ortho 0.1"): {"z": (69.3, 59.6), "z0": (51.2, 39.9), "z1": (46.3, 42.7)},
    ("dc-bc", "P-Ortho 0.001"): {"z": (97.0, 62.2), "z0": (77.1, 52.4), "z1": (71.8, 57.0)},
    ("dc-bc", "P-Ortho 0.1"): {"z": (97.2, 61.6), "z0": (88.0, 56.9), "z1": (82.2, 60.0)},
    ("dc-bc", "Hess 0.001"): {"z": (92.4, 57.2), "z0": (60.7, 46.7), "z1": (47.9, 34.6)},
    ("dc-bc", "Hess 0.1"): {"z": (93.6, 56.3), "z0": (74.7, 42.4), "z1": (57.5, 50.9)},
    ("dc-dl", "supervised"): {"r": (98.2, 99.9), "r0": (98.2, 13.4), "r1": (11.7, 99.9)},
    ("dc-dl", "InfoMin 0.1"): {"r": (11.7, 12.6)},
    ("dc-dl", "Ortho 0.001"): {"z": (82.6, 99.6), "z0": (44.3, 99.4), "z1": (33.6, 99.5)},
    ("dc-dl", "Ortho 0.1"): {"z": (97.8, 99.6), "z0": (46.5, 83.9), "z1": (38.4, 86.7)},
    ("dc-dl", "P-Ortho 0.001"): {"z": (96.6, 99.8), "z0": (45.5, 99.6), "z1": (44.5, 99.7)},
    ("dc-dl", "P-Ortho 0.1"): {"z": (68.0, 99.8), "z0": (41.3, 99.7), "z1": (34.5, 98.6)},
    ("dc-dl", "Hess 0.001"): {"z": (86.6, 99.1), "z0": (46.7, 41.5), "z1": (41.7, 67.9)},
    ("dc-dl", "Hess 0.1"): {"z": (91.2, 99.1), "z0": (39.9, 48.1), "z1": (34.8, 64.7)},
}  # fmt: skip
ORTHO = tuple(f"{name} {strength}" for name in ("Ortho", "P-Ortho", "Hess") for strength in ("0.001", "0.1"))
RERUNS = {  # accuracy for digit and background in runs 0 to 5
    "P-Ortho 0.1": {
        "z": ((97.2, 61.6), (97.0, 62.3), (97.0, 61.3), (97.2, 61.6), (97.2, 61.4), (97.0, 58.3)),
        "z0": ((88.0, 56.9), (86.8, 59.3), (85.4, 57.8), (83.0, 59.7), (80.8, 57.7), (71.6, 56.5)),
        "z1": ((82.2, 60.0), (80.8, 59.6), (79.6, 57.6), (81.2, 56.2), (75.6, 54.7), (69.7, 48.1)),
    },
    "Hess 0.1": {
        "z": ((93.6, 56.3), (73.0, 56.0), (96.2, 56.6), (93.9, 56.6), (73.1, 58.1), (92.2, 56.9)),
        "z0": ((74.7, 42.4), (67.9, 47.9), (73.7, 40.4), (58.4, 36.6), (42.2, 34.8), (61.1, 36.4)),
        "z1": ((57.5, 50.9), (64.2, 49.4), (66.5, 43.2), (51.0, 37.5), (40.0, 30.2), (53.5, 37.2)),
    },
}
Z = ("z", "z0", "z1")
NOTE = "Accuracy in per cent, mean over seeds; the paper's number, of one run, in brackets."


def tables(r: Results) -> list[Table]:
    whole = ("r", "r0", "r1")
    mins = ("InfoMin 0.001", "InfoMin 0.005", "InfoMin 0.1")
    others = ("control", "one head", "InfoMin 0.1 at once")
    return [
        accuracies("Table 1: supervised ceiling", r, "dc-bc", ["supervised", "supervised, longer"], whole),
        accuracies("Table 2: InfoMin", r, "dc-bc", mins, whole + Z),
        accuracies("Table 3: orthogonality and Hessian", r, "dc-bc", ORTHO, Z),
        accuracies("Table 4: supervised ceiling, digit and location", r, "dc-dl", ["supervised"], whole),
        accuracies("Table 5: InfoMin, digit and location", r, "dc-dl", ["InfoMin 0.001", "InfoMin 0.1"], whole + Z),
        accuracies("Table 6: orthogonality and Hessian, digit and location", r, "dc-dl", ORTHO, Z),
        solutions(r),
        *(reruns(number, r, label) for number, label in ((8, "P-Ortho 0.1"), (9, "Hess 0.1"))),
        accuracies("Controls and other readings", r, "dc-bc", OTHERS, whole + Z),
        accuracies("Controls, digit and location", r, "dc-dl", others, whole + Z),
        shares(r),
        losses(r),
    ]


OTHERS = (
    "control", "one head", "Hess 0.01", "Ortho + Hess 0.1", "Hess 0.1, per sample", "InfoMin 0.1, as printed",
    "InfoMin 0.1 at once", "Ortho 0.1 at once", "P-Ortho 0.1 at once", "Hess 0.1 at once",
)  # fmt: skip


def accuracies(title: str, r: Results, variant: str, labels: Sequence[str], blocks: Sequence[str]) -> Table:
    """A row for each block and for the gaps, two columns for each setting."""
    tasks, wholes = TASKS[variant], dict.fromkeys(block[0] for block in blocks)
    columns = ["input", *(f"{label} {SHORT[task]}" for label in labels for task in tasks)]
    rows: list[list[Any]] = []
    for block in (*blocks, *(f"gap of {whole}" for whole in wholes)):
        row: list[Any] = [block]
        for label in labels:
            paper = PAPER.get((variant, label), {})
            for place, task in enumerate(tasks):
                row.append(_cell(_values(r, label, variant, block, task), _paper(paper, block, place)))
        rows.append(row)
    counts = Counter(result.label for result in r.where(variant=variant))
    seeds = ", ".join(f"{label} {counts[label]}" for label in labels)
    return Table(title, columns, rows, f"{NOTE} Seeds: {seeds}.")


def solutions(r: Results) -> Table:
    """Which degenerate solutions the slices of z are, by the check of problems/slices.py."""
    rows: list[list[Any]] = [
        ["DC-DL", "Ortho 0.1, the paper", "random", None, None, "11.7 / 12.6", "11.7 / 12.6", "11.7 / 12.6"],
        ["DC-DL", "Ortho 0.1, the paper", "task difficulty", None, None, "76.7 / 99.8", "42.0 / 99.7", "32.1 / 99.7"],
    ]
    for variant, label, own in _by_label(r):
        named = Counter(_probes(result, "copies_z").get("solution") or "none" for result in own)
        text = ", ".join(f"{name} {count}" for name, count in named.items())
        numbers = [float(own.values("probes", "copies_z", *path).mean()) for path in ((), ("parts", "cosine"))]
        told = [[_values(r, label, variant, block, task).mean() for task in TASKS[variant]] for block in Z]
        rows.append([variant.upper(), label, text, *numbers, *(f"{a:.1f} / {b:.1f}" for a, b in told)])
    note = (
        "Random: no slice tells any task; random slice: one does not; rotated copy: orthogonal slices that predict "
        "each other; repeated task: a task that every slice tells as well as z."
    )
    return Table(
        "Table 7: degenerate solutions of z",
        ["data", "loss", "solutions", "R2 between slices", "|cosine|", *(f"{block}, both tasks" for block in Z)],
        rows,
        note,
    )


def reruns(number: int, r: Results, label: str) -> Table:
    """Each seed of one setting and each run of the paper, with mean and population variance of the gaps."""
    tasks, runs, count = TASKS["dc-bc"], RERUNS[label], len(r.where(label=label, variant="dc-bc"))
    paper = np.abs(np.subtract(runs["z0"], runs["z1"]))  # [6, 2]
    columns = ["input", *(f"{i} {SHORT[task]}" for i in range(max(count, len(paper))) for task in tasks)]
    rows: list[list[Any]] = []
    for block in ("z", "z0", "z1", "gap of z"):
        theirs = paper if block == "gap of z" else np.array(runs[block])
        ours = np.stack([_values(r, label, "dc-bc", block, task) for task in tasks], 1)  # [seeds, 2]
        for name, numbers in ((block, ours), (f"{block}, the paper", theirs)):
            row = [name, *(f"{value:.1f}" for value in numbers.flatten())]
            rows.append(row + [""] * (len(columns) - len(row)))
    diagonal = int(np.nansum(of_slices(r, label, "z", "diagonal")))
    share = {"P-Ortho 0.1": "1 of 5", "Hess 0.1": "4 of 5"}[label]
    note = "; ".join(
        f"{SHORT[task]} gap: mean {ours[:, k].mean():.1f} (the paper {paper[:, k].mean():.1f}), variance "
        f"{ours[:, k].var():.1f} ({paper[:, k].var():.1f})"
        for k, task in enumerate(tasks)
    )
    return Table(
        f"Table {number}: re-runs of {label}",
        columns,
        rows,
        f"{note}. Diagonal: {diagonal} of {count} ({share}; halves that are equal: 1 of 2).",
    )


SHARED = ("control", "one head", "InfoMin 0.1", "Ortho 0.1", "P-Ortho 0.1", "Hess 0.1", "Ortho + Hess 0.1")


def shares(r: Results) -> Table:
    """How much of the variance of each half lies between the classes of each task, run by run."""
    rows: list[list[Any]] = []
    count = 1 + max((result.seed for result in r), default=0)
    for variant, tasks in TASKS.items():
        for label in SHARED:
            cells = [""] * count
            for result in r.where(label=label, variant=variant):
                if share := _probes(result, "probes_z").get("share"):
                    halves = [" / ".join(f"{100 * share[half][task]:.0f}" for task in tasks) for half in Z[1:]]
                    cells[result.seed] = "; ".join(halves)
            if any(cells):
                rows.append([variant.upper(), label, *cells])
    note = (
        "Per cent, z0 and z1 for both tasks, codes brought to length one. Probes standardise a code and read what is "
        "left of a task; here its size counts."
    )
    return Table(
        "Variance between classes in each half", ["data", "loss", *(f"seed {k}" for k in range(count))], rows, note
    )


def losses(r: Results) -> Table:
    """What each regulariser was at the end, whether it was minimised or not."""
    names = ["infomax", "infomin", "orthogonality", "permuted_orthogonality", "hessian"]
    rows = [
        [variant.upper(), label, *(float(own.values("late", name).mean()) for name in names)]
        for variant, label, own in _by_label(r)
    ]
    note = "Means over the last 200 steps. infomin is -R: the larger, the less one slice tells of the other."
    return Table("Loss terms at the end", ["data", "loss", *names], rows, note)


def _by_label(r: Results) -> list[tuple[str, str, Results]]:
    """The runs that have a z, by variant of the data and label."""
    with_z = Results([result for result in r if "probes_z" in result.measures["probes"]])
    found = [(v, label, with_z.where(label=label, variant=v)) for v in TASKS for label in with_z.labels()]
    return [(variant, label, own) for variant, label, own in found if own]


def _probes(result: Result, score: str) -> dict[str, Any]:
    """The parts of a score of the slices; nothing where it could not be taken."""
    parts: dict[str, Any] = result.measures["probes"].get(score, {}).get("parts", {})
    return parts


def _values(r: Results, label: str, variant: str, block: str, task: str) -> Numbers:
    """Accuracies of a block, or gaps, in per cent; nothing known of a block that a method lacks."""
    whole = block.removeprefix("gap of ")[0]
    path = ("gap", task) if block.startswith("gap of ") else ("accuracy", block, task)
    return 100 * of_slices(r, label, whole, *path, variant=variant)


def _paper(paper: dict[str, tuple[float, float]], block: str, place: int) -> float | None:
    if block in paper:
        return paper[block][place]
    halves = [f"{block[-1]}{k}" for k in (0, 1)]
    if block.startswith("gap of ") and halves[0] in paper:
        return abs(paper[halves[0]][place] - paper[halves[1]][place])
    return None


def _cell(values: Numbers, paper: float | None) -> str:
    finite = values[np.isfinite(values)]
    ours = f"{finite.mean():.1f}" if len(finite) else ""
    return ours if paper is None else f"{ours} ({paper:.1f})".strip()
