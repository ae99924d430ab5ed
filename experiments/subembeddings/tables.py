"""Tables 1 to 9 of the paper on sub-embeddings, each number beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.study.claims import Numbers, Table
from unbraid.study.reproduce import Result, Results

from .scores import LEAST_GAP, PROBES, TASKS, Scores, counted, known, mean, variance
from .study import AT_ONCE, OVER_STEPS, RESNET

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
Z, R = ("z", "z0", "z1"), ("r", "r0", "r1")
MINS = ("InfoMin 0.001", "InfoMin 0.1")
OTHERS = (
    "control", "one head", "Ortho + Hess 0.1",
    *(f"{name} 0.1{AT_ONCE}" for name in ("InfoMin", "Ortho", "P-Ortho", "Hess")),
)  # fmt: skip
SHARED = ("control", "one head", "InfoMin 0.1", "Ortho 0.1", "P-Ortho 0.1", "Hess 0.1", "Ortho + Hess 0.1")
PROBED = (
    ("dc-bc", "supervised", R), ("dc-dl", "supervised", R), ("dc-bc", "control", ("r", *Z)),
    *(("dc-bc", f"{name} 0.1", Z) for name in ("InfoMin", "Ortho", "P-Ortho", "Hess")), ("dc-bc", "one head", Z),
    *(("dc-dl", f"{name} 0.1", Z) for name in ("InfoMin", "Ortho", "P-Ortho", "Hess")), ("dc-dl", "one head", Z),
)  # fmt: skip
NOTE = (
    "Accuracy in per cent of the usual linear evaluation on the encoder's own rows, mean over seeds; the paper's "
    "number, of one run, in brackets."
)


def tables(r: Results) -> list[Table]:
    s, at_once = Scores(r), [f"{name} 0.1{AT_ONCE}" for name in ("InfoMin", "Ortho", "P-Ortho", "Hess")]
    return [
        accuracies("Table 1: supervised ceiling", s, "dc-bc", ["supervised"], R),
        accuracies("Table 2: InfoMin", s, "dc-bc", MINS, R + Z),
        accuracies("Table 3: orthogonality and Hessian", s, "dc-bc", ORTHO, Z),
        accuracies("Table 4: supervised ceiling, digit and location", s, "dc-dl", ["supervised"], R),
        accuracies("Table 5: InfoMin, digit and location", s, "dc-dl", MINS, R + Z),
        accuracies("Table 6: orthogonality and Hessian, digit and location", s, "dc-dl", ORTHO, Z),
        solutions(Scores(r, PROBES[2])),
        *(reruns(number, s, label) for number, label in ((8, "P-Ortho 0.1"), (9, "Hess 0.1"))),
        accuracies("Controls, and regularisers that do not wait", s, "dc-bc", OTHERS, R + Z),
        accuracies(
            "Controls, digit and location", s, "dc-dl", ("control", "one head", "Ortho + Hess 0.1", *at_once), R + Z
        ),
        accuracies("Background and location", s, "bc-dl", ("control", "P-Ortho 0.1", "Hess 0.1"), R + Z),
        by_probe(r),
        shares(s),
        losses(s),
        over_steps(s),
        large(s),
    ]


def accuracies(title: str, s: Scores, variant: str, labels: Sequence[str], blocks: Sequence[str]) -> Table:
    """A row for each block and for the gaps, two columns for each setting."""
    tasks, wholes = TASKS[variant], dict.fromkeys(block[0] for block in blocks)
    columns = ["input", *(f"{label} {SHORT[task]}" for label in labels for task in tasks)]
    rows: list[list[Any]] = []
    for block in (*blocks, *(f"gap of {whole}" for whole in wholes)):
        row: list[Any] = [block]
        for label in labels:
            paper = PAPER.get((variant, label), {})
            for place, task in enumerate(tasks):
                row.append(_cell(_values(s, label, variant, block, task), _paper(paper, block, place)))
        rows.append(row)
    counts = Counter(result.label for result in s.results.where(variant=variant))
    seeds = ", ".join(f"{label} {counts[label]}" for label in labels)
    return Table(title, columns, rows, f"{NOTE} Seeds: {seeds}.")


def solutions(s: Scores) -> Table:
    """Which degenerate solutions the slices of z are, by the check of problems/slices.py."""
    rows: list[list[Any]] = [
        ["DC-DL", "Ortho 0.1, the paper", "random", *[None] * 4, "11.7 / 12.6", "11.7 / 12.6", "11.7 / 12.6"],
        ["DC-DL", "Ortho 0.1, the paper", "task difficulty", *[None] * 4, "76.7 / 99.8", "42.0 / 99.7", "32.1 / 99.7"],
    ]
    for variant, label, own in _with_z(s.results):
        copies = [run.measures.get("probes", {}).get("copies", {}).get("z", {}) for run in own]
        named = Counter(found.get("solution") or "none" for found in copies)
        text = ", ".join(f"{name} {count}" for name, count in named.items())
        numbers = [float(own.values("probes", "copies", "z", key).mean()) for key in ("r2", "cosine")]
        numbers += [float(own.values("signs", key).mean()) for key in ("cosine", "shuffled")]
        told = [" / ".join(mean(s.accuracy(label, block, task, variant)) for task in TASKS[variant]) for block in Z]
        rows.append([variant.upper(), label, text, *numbers, *told])
    note = (
        "By converged probes. Random: no slice tells any task; random slice: one does not; rotated copy: orthogonal "
        "slices that predict each other; repeated task: a task that every slice tells as well as z. A cosine of -1 is "
        "z1 = -z0. Shuffled: after random permutations of the coordinates of z0."
    )
    cosines = ["|cosine|", "cosine", "|cosine|, shuffled"]
    columns = ["data", "loss", "solutions", "R2 between slices", *cosines, *(f"{block}, both tasks" for block in Z)]
    return Table("Table 7: degenerate solutions of z", columns, rows, note)


def reruns(number: int, s: Scores, label: str) -> Table:
    """Each seed of one setting and each run of the paper, with mean and population variance of the gaps."""
    tasks, runs = TASKS["dc-bc"], RERUNS[label]
    paper = np.abs(np.subtract(runs["z0"], runs["z1"]))  # [6, 2]
    ours = {b: np.stack([known(_values(s, label, "dc-bc", b, t)) for t in tasks], 1) for b in (*Z, "gap of z")}
    count = max(len(ours["z"]), len(paper))
    columns = ["input", *(f"{i} {SHORT[task]}" for i in range(count) for task in tasks)]
    rows: list[list[Any]] = []
    for block, own in ours.items():
        theirs = paper if block == "gap of z" else np.array(runs[block])
        for name, numbers in ((block, own), (f"{block}, the paper", theirs)):
            row = [name, *(f"{value:.1f}" for value in numbers.flatten())]
            rows.append(row + [""] * (len(columns) - len(row)))
    gaps = ours["gap of z"]
    note = "; ".join(
        f"{SHORT[task]} gap: mean {mean(gaps[:, k])} (the paper {paper[:, k].mean():.1f}), variance "
        f"{variance(gaps[:, k])} ({paper[:, k].var():.1f})"
        for k, task in enumerate(tasks)
    )
    share = {"P-Ortho 0.1": "1 of 5", "Hess 0.1": "4 of 5"}[label]
    note += f". Diagonal: {' of '.join(map(str, counted(s.diagonal(label))))} ({share}), of {LEAST_GAP} points."
    return Table(f"Table {number}: re-runs of {label}", columns, rows, note)


def by_probe(r: Results) -> Table:
    """How much more a converged probe reads than the usual one, and of fresh rows."""
    rows, scores = [], [Scores(r, probe) for probe in PROBES]
    for variant, label, blocks in PROBED:
        for block in blocks:
            cells = [[mean(s.accuracy(label, block, task, variant)) for task in TASKS[variant]] for s in scores]
            rows.append([variant.upper(), label, block, *(" / ".join(cell) for cell in cells)])
    note = "Accuracy in per cent for both tasks, mean over seeds; the first probe decides the claims."
    return Table("What each probe reads", ["data", "loss", "input", *PROBES], rows, note)


def shares(s: Scores) -> Table:
    """How much of the variance of each half lies between the classes of each task, run by run."""
    rows: list[list[Any]] = []
    for variant, tasks in TASKS.items():
        for label in SHARED:
            found = np.array([[s.share(label, half, task, variant) for task in tasks] for half in Z[1:]])  # [2, 2, n]
            if np.isfinite(found).any():
                cells = ["; ".join(f"{a:.0f} / {b:.0f}" for a, b in one) for one in np.moveaxis(found, 2, 0)]
                rows.append([variant.upper(), label, *("" if "nan" in cell else cell for cell in cells)])
    note = (
        "Per cent, z0 and z1 for both tasks, codes brought to length one. Converged probes standardise a code and read "
        "what is left of a task; here its size counts."
    )
    columns = ["data", "loss", *(f"seed {seed}" for seed in s.seeds)]
    return Table("Variance between classes in each half", columns, rows, note)


def losses(s: Scores) -> Table:
    """What each regulariser was at the end, whether it was minimised or not."""
    names = ["infomax", "infomin", "orthogonality", "permuted_orthogonality", "hessian"]
    rows = [
        [variant.upper(), label, *(float(own.values("late", name).mean()) for name in names)]
        for variant, label, own in _with_z(s.results)
    ]
    note = "Means over the last 200 steps. infomin is -R: the larger, the more the slices of a sample are opposed."
    return Table("Loss terms at the end", ["data", "loss", *names], rows, note)


def over_steps(s: Scores) -> Table:
    """The accuracies that decide, over the length of training, for one seed."""
    rows: list[list[Any]] = []
    for label, blocks in (("control", ("r", *Z)), ("Hess 0.1", ("r", *Z))):
        longer = s.results.where(label=label + OVER_STEPS)
        alike = [run for run in s.results.where(label=label, variant="dc-bc") if run.seed in {r.seed for r in longer}]
        own = sorted((*longer, *alike), key=lambda run: run.steps)
        rows += [[label, f"{run.steps:,}", *(_told(run, block) for block in blocks)] for run in own]
    columns = ["loss", "steps", "r", *Z]
    return Table("Over the length of training", columns, rows, "One seed; digit / background.")


def large(s: Scores) -> Table:
    """That the paper's network at its size trains, and what it costs."""
    rows: list[list[Any]] = []
    for label in (f"{RESNET}control", f"{RESNET}Hess 0.1"):
        for run in s.results.where(label=label):
            terms = [run.value("late", f"infomax at {end}") for end in ("first", "last")]
            rows.append([label, run.steps, run.arguments["batch"], run.seconds, *terms, _told(run, "z")])
    ends = ["InfoMax, first 50 steps", "last 50"]
    columns = ["run", "steps", "pairs", "seconds of one core", *ends, "z: digit / background"]
    note = "That it trains, and what it costs: the paper has more than 55,000 steps."
    return Table("ResNet-34 at 64x64", columns, rows, note)


def _told(run: Result, block: str) -> str:
    return " / ".join(f"{100 * run.value('probes', 'accuracy', PROBES[0], block, t):.1f}" for t in TASKS["dc-bc"])


def _with_z(r: Results) -> list[tuple[str, str, Results]]:
    """The runs that have a z, by variant of the data and label, but for those of other lengths or networks."""
    labels = [m for m in r.labels() if m != "supervised" and OVER_STEPS not in m and not m.startswith(RESNET)]
    found = [(variant, label, r.where(label=label, variant=variant)) for variant in TASKS for label in labels]
    return [(variant, label, own) for variant, label, own in found if own]


def _values(s: Scores, label: str, variant: str, block: str, task: str) -> Numbers:
    if block.startswith("gap of "):
        return s.gap(label, task, variant, block[-1])
    return s.accuracy(label, block, task, variant)


def _paper(paper: dict[str, tuple[float, float]], block: str, place: int) -> float | None:
    if block in paper:
        return paper[block][place]
    halves = [f"{block[-1]}{k}" for k in (0, 1)]
    if block.startswith("gap of ") and halves[0] in paper:
        return abs(paper[halves[0]][place] - paper[halves[1]][place])
    return None


def _cell(values: Numbers, paper: float | None) -> str:
    ours = mean(values) if len(known(values)) else ""
    return ours if paper is None else f"{ours} ({paper:.1f})".strip()
