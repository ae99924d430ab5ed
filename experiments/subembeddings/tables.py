"""Tables 1 to 9 of the paper on sub-embeddings, each number beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from unbraid.reproduce.results import Table

Result = dict[str, Any]
SHORT = {"digit": "DC", "background": "BC", "location": "DL"}
TASKS = {"dc-bc": ("digit", "background"), "dc-dl": ("digit", "location")}
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


def tables(found: Sequence[Result]) -> list[Table]:
    r = ("r", "r0", "r1")
    mins = ("InfoMin 0.001", "InfoMin 0.005", "InfoMin 0.1")
    return [
        accuracies("Table 1: supervised ceiling", found, "dc-bc", ["supervised", "supervised, longer"], r),
        accuracies("Table 2: InfoMin", found, "dc-bc", mins, r + Z),
        accuracies("Table 3: orthogonality and Hessian", found, "dc-bc", ORTHO, Z),
        accuracies("Table 4: supervised ceiling, digit and location", found, "dc-dl", ["supervised"], r),
        accuracies("Table 5: InfoMin, digit and location", found, "dc-dl", ["InfoMin 0.001", "InfoMin 0.1"], r + Z),
        accuracies("Table 6: orthogonality and Hessian, digit and location", found, "dc-dl", ORTHO, Z),
        solutions(found),
        *(reruns(number, found, label) for number, label in ((8, "P-Ortho 0.1"), (9, "Hess 0.1"))),
        accuracies("Controls and other readings", found, "dc-bc", OTHERS, r + Z),
        accuracies(
            "Controls, digit and location", found, "dc-dl", ("control", "one head", "InfoMin 0.1 at once"), r + Z
        ),
        shares(found),
        losses(found),
    ]


OTHERS = (
    "control", "one head", "Hess 0.01", "Ortho + Hess 0.1", "Hess 0.1, per sample", "InfoMin 0.1, as printed",
    "InfoMin 0.1 at once", "Ortho 0.1 at once", "P-Ortho 0.1 at once", "Hess 0.1 at once",
)  # fmt: skip


def accuracies(
    title: str, found: Sequence[Result], variant: str, labels: Sequence[str], blocks: Sequence[str]
) -> Table:
    """A row for each block and for the gaps, two columns for each setting."""
    tasks, wholes = TASKS[variant], dict.fromkeys(block[0] for block in blocks)
    columns = ["input", *(f"{label} {SHORT[task]}" for label in labels for task in tasks)]
    rows: list[list[Any]] = []
    for block in (*blocks, *(f"gap of {whole}" for whole in wholes)):
        row: list[Any] = [block]
        for label in labels:
            paper = PAPER.get((variant, label), {})
            for place, task in enumerate(tasks):
                values = [_value(result, block, task) for result in found if _is(result, label, variant)]
                row.append(_cell(values, _paper(paper, block, place)))
        rows.append(row)
    counts = Counter(result["label"] for result in found if result["data"] == variant)
    seeds = ", ".join(f"{label} {counts[label]}" for label in labels)
    return Table(title, columns, rows, f"{NOTE} Seeds: {seeds}.")


def solutions(found: Sequence[Result]) -> Table:
    """Which degenerate solutions the slices of z are, by the check of metrics/sub_embeddings.py."""
    rows: list[list[Any]] = [
        ["DC-DL", "Ortho 0.1, the paper", "random", None, None, "11.7 / 12.6", "11.7 / 12.6", "11.7 / 12.6"],
        ["DC-DL", "Ortho 0.1, the paper", "task difficulty", None, None, "76.7 / 99.8", "42.0 / 99.7", "32.1 / 99.7"],
    ]
    for variant in TASKS:
        for label in dict.fromkeys(result["label"] for result in found if "probes_z" in result["probes"]):
            scores = [result["probes"]["copies_z"] for result in found if _is(result, label, variant)]
            if scores:
                named = Counter(score["parts"]["solution"] or "none" for score in scores)
                text = ", ".join(f"{name} {count}" for name, count in named.items())
                numbers = [float(np.mean([s["value"] for s in scores])), *_means(scores, "cosine")]
                own = [result for result in found if _is(result, label, variant)]
                told = [" / ".join(f"{np.mean([_value(r, b, t) for r in own]):.1f}" for t in TASKS[variant]) for b in Z]
                rows.append([variant.upper(), label, text, *numbers, *told])
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


def reruns(number: int, found: Sequence[Result], label: str) -> Table:
    """Each seed of one setting and each run of the paper, with mean and population variance of the gaps."""
    own = [result for result in found if _is(result, label, "dc-bc")]
    tasks, runs = TASKS["dc-bc"], RERUNS[label]
    paper = np.abs(np.subtract(runs["z0"], runs["z1"]))  # [6, 2]
    columns = ["input", *(f"{i} {SHORT[task]}" for i in range(max(len(own), len(paper))) for task in tasks)]
    rows: list[list[Any]] = []
    for block in ("z", "z0", "z1", "gap of z"):
        theirs = paper if block == "gap of z" else np.array(runs[block])
        rows.append([block, *(f"{_value(result, block, task):.1f}" for result in own for task in tasks)])
        rows[-1] += [""] * (len(columns) - len(rows[-1]))
        rows.append([f"{block}, the paper", *(f"{value:.1f}" for value in theirs.flatten())])
        rows[-1] += [""] * (len(columns) - len(rows[-1]))
    gaps = np.array([[_value(result, "gap of z", task) for task in tasks] for result in own])
    diagonal = sum(bool(result["probes"]["probes_z"]["parts"]["diagonal"]) for result in own)
    share = {"P-Ortho 0.1": "1 of 5", "Hess 0.1": "4 of 5"}[label]
    note = "; ".join(
        f"{SHORT[task]} gap: mean {gaps[:, k].mean():.1f} (the paper {paper[:, k].mean():.1f}), variance "
        f"{gaps[:, k].var():.1f} ({paper[:, k].var():.1f})"
        for k, task in enumerate(tasks)
    )
    return Table(
        f"Table {number}: re-runs of {label}",
        columns,
        rows,
        f"{note}. Diagonal: {diagonal} of {len(own)} ({share}; halves that are equal: 1 of 2).",
    )


SHARED = ("control", "one head", "InfoMin 0.1", "Ortho 0.1", "P-Ortho 0.1", "Hess 0.1", "Ortho + Hess 0.1")


def shares(found: Sequence[Result]) -> Table:
    """How much of the variance of each half lies between the classes of each task, run by run."""
    rows: list[list[Any]] = []
    count = 1 + max((result["seed"] for result in found), default=0)
    for variant, tasks in TASKS.items():
        for label in SHARED:
            cells = [""] * count
            for result in (r for r in found if _is(r, label, variant)):
                share = result["probes"]["probes_z"]["parts"]["share"]
                halves = [" / ".join(f"{100 * share[half][task]:.0f}" for task in tasks) for half in ("z0", "z1")]
                cells[result["seed"]] = "; ".join(halves)
            if any(cells):
                rows.append([variant.upper(), label, *cells])
    note = (
        "Per cent, z0 and z1 for both tasks, codes brought to length one. Probes standardise a code and read what is "
        "left of a task; here its size counts."
    )
    return Table(
        "Variance between classes in each half", ["data", "loss", *(f"seed {k}" for k in range(count))], rows, note
    )


def losses(found: Sequence[Result]) -> Table:
    """What each regulariser was at the end, whether it was minimised or not."""
    names = ["infomax", "infomin", "orthogonality", "permuted_orthogonality", "hessian"]
    rows: list[list[Any]] = []
    for variant in TASKS:
        for label in dict.fromkeys(result["label"] for result in found if "probes_z" in result["probes"]):
            terms = [result["terms"] for result in found if _is(result, label, variant)]
            if terms:
                rows.append([variant.upper(), label, *(float(np.mean([t[name] for t in terms])) for name in names)])
    note = "Means over the last 200 steps. infomin is -R: the larger, the less one slice tells of the other."
    return Table("Loss terms at the end", ["data", "loss", *names], rows, note)


def _is(result: Result, label: str, variant: str) -> bool:
    return (result["label"], result["data"]) == (label, variant)


def _value(result: Result, block: str, task: str) -> float:
    gap = block.startswith("gap of ")
    score = result["probes"].get(f"probes_{block.removeprefix('gap of ')[0]}")
    if score is None:
        return float("nan")
    return 100 * float(score["parts"]["gap"][task] if gap else score["parts"]["accuracy"][block][task])


def _paper(paper: dict[str, tuple[float, float]], block: str, place: int) -> float | None:
    if block in paper:
        return paper[block][place]
    halves = [f"{block[-1]}{k}" for k in (0, 1)]
    if block.startswith("gap of ") and halves[0] in paper:
        return abs(paper[halves[0]][place] - paper[halves[1]][place])
    return None


def _cell(values: Sequence[float], paper: float | None) -> str:
    finite = [value for value in values if np.isfinite(value)]
    ours = f"{np.mean(finite):.1f}" if finite else ""
    return ours if paper is None else f"{ours} ({paper:.1f})".strip()


def _means(scores: Sequence[Result], part: str) -> list[float]:
    return [float(np.mean([score["parts"][part] for score in scores]))]
