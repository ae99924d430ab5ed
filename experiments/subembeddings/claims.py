"""Claims of the experiment on sub-embeddings, from the results of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import f
from unbraid.reproduce import results
from unbraid.reproduce.results import Claim, Numbers, Record, Result, interval, positive
from unbraid.reproduce.subembeddings_figures import draw
from unbraid.reproduce.subembeddings_tables import tables

ABOUT = """
Digits on dimmed CIFAR-10 photographs at 32x32 (brightness 0.6, chosen on seed 0 of the control so that both are
learned: at 0.7 and above this small network leaves the digit at chance), four convolutions of {width} to {top}
channels, r of {top}, z of 16 dimensions, {steps} steps of 128 pairs with Adam at 1e-3; the paper: STL-10 at 64x64,
ResNet-34, more than 55,000 steps. A regulariser of 0.1, and the Hessian of any strength, has weight 0 for 300 steps and
grows over 300 more, since at 0.1 from the first step ("at once") seed 0 leaves the digit at chance with each of them
(orthogonality and Hessian then tell the background alone, InfoMin neither). One length of waiting was tried. Positives
have the same joint label. Probes learn from 10,000 rows that were trained on and are tested on 5,000 rows of other
digits and photographs. Losses are means over samples, so that a strength does not mean exactly what it means there. An
interval is Student's t over seeds for the least of the margins by which a claim holds (above zero: it holds). Some were
added when seeds had been seen, all of which make a claim harder to show: what a claim speaks of must be told at all (5
points above chance in every seed), r must lose less than half of what z loses (000-3), and the Hessian must do more
than its one head does alone (000-7, 000-10). The fourth and fifth seeds of one head, and the fourth of others, were
added when three had left claims open.
"""
SURE = 0.95  # share of resamplings that find the diagonal
TOLD = 5  # points above chance from which something was learned, as in the check for degenerate solutions
NOTES = {  # claim -> why it does not show, once that has been looked into
    "000-1": "Size, and the probe: it standardises its input and reads what little is left. With four times as many "
    "steps (table 1, seed 0) there is less of it.",
    "000-3": "The small trunk suffers with its head: r loses digits in every seed. The paper's is at 96 with either.",
    "000-4": "0.1 costs InfoMax in every seed; what 0.005 costs is less than seeds differ by.",
    "000-5": "Neither costs more than seeds differ by once the first 300 steps are free of it; from the first step "
    "both leave the digit at chance.",
    "000-6": "Halves tell as much as z in the control already: there is nothing left to rise.",
    "000-7": "That of P-Ortho is as small as that of InfoMin; this part alone does not show.",
    "000-10": "One head does it by itself, without any regulariser.",
    "000-11": "Nothing collapses at 0.001 or 0.1, waiting or at once: the paper's strength may have been larger.",
}
judge = partial(results.judge, notes=NOTES)
TASKS = {"dc-bc": ("digit", "background"), "dc-dl": ("digit", "location")}


class Results:
    """Accuracies in per cent, gaps and loss terms of runs, one number for each seed."""

    def __init__(self, found: Sequence[Result]) -> None:
        self.found = sorted(found, key=lambda result: int(result["seed"]))

    def of(self, label: str, variant: str = "dc-bc") -> list[Result]:
        return [r for r in self.found if (r["label"], r["data"]) == (label, variant)]

    def accuracy(self, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
        score = f"probes_{block[0]}"
        return np.array([100 * r["probes"][score]["parts"]["accuracy"][block][task] for r in self.of(label, variant)])

    def share(self, label: str, block: str, task: str, variant: str = "dc-bc") -> Numbers:
        """Of the variance of a block that lies between the classes of a task, in per cent."""
        parts = [r["probes"][f"probes_{block[0]}"]["parts"] for r in self.of(label, variant)]
        return np.array([100 * part["share"][block][task] for part in parts])

    def gap(self, label: str, task: str, variant: str = "dc-bc", whole: str = "z") -> Numbers:
        return np.abs(np.subtract(*(self.accuracy(label, f"{whole}{k}", task, variant) for k in (0, 1))))

    def mean_gap(self, label: str) -> Numbers:
        return np.asarray(np.mean([self.gap(label, task) for task in TASKS["dc-bc"]], 0))

    def chance(self, label: str, task: str, variant: str, whole: str) -> Numbers:
        found = [r["probes"][f"probes_{whole}"]["parts"]["chance"][task] for r in self.of(label, variant)]
        return 100 * np.array(found)

    def told(self, label: str, block: str, variant: str = "dc-bc") -> list[Numbers]:
        """How far above chance and TOLD both tasks are in the worst seed, which stands for all."""
        found = [
            self.accuracy(label, block, t, variant) - self.chance(label, t, variant, block[0]) for t in TASKS[variant]
        ]
        return [np.full(len(above), above.min() - TOLD) for above in found]

    def diagonal(self, label: str) -> Numbers:
        return np.array([float(r["probes"]["probes_z"]["parts"]["diagonal"]) for r in self.of(label)])

    def surely_diagonal(self, label: str) -> int:
        """In how many runs resamplings of the test rows say so too."""
        shares = [r["probes"]["probes_z"]["parts"].get("diagonal_share") for r in self.of(label)]
        return sum((share or 0) >= SURE for share in shares)

    def cosine(self, label: str) -> Numbers:
        return np.array([float(r["probes"]["copies_z"]["parts"]["cosine"]) for r in self.of(label)])

    def term(self, label: str, name: str) -> Numbers:
        return np.array([r["terms"][name] for r in self.of(label)])


def record(found: Sequence[Result], out: Path, *, steps: int, width: int) -> Record:
    results = Results(found)
    return Record(
        title="Sub-embeddings, small: disentanglement without autoencoding",
        about=ABOUT.format(steps=f"{steps:,}", width=width, top=8 * width),
        command="unbraid reproduce subembeddings",
        seconds=sum(result["seconds"] for result in found),
        claims=claims(results),
        tables=tables(results.found),
        pictures=draw(results.found, out),
    )


def claims(r: Results) -> list[Claim]:
    return [supervised(r), *infomin(r), *orthogonality(r), *hessian(r), *locations(r)]


def supervised(r: Results) -> Claim:
    own = {task: r.accuracy("supervised", f"r{k}", task) for k, task in enumerate(TASKS["dc-bc"])}
    other = {task: r.accuracy("supervised", f"r{1 - k}", task) for k, task in enumerate(TASKS["dc-bc"])}
    lost = {task: r.accuracy("supervised", "r", task) - own[task] for task in own}
    above = {task: other[task] - r.chance("supervised", task, "dc-bc", "r") for task in own}
    return judge(
        "000-1",
        "supervision on disjoint labels separates ideally: r0 97.3 / 10.1, r1 11.7 / 64.5, r no better than its half",
        "; ".join(f"{task}: own half {own[task].mean():.1f}, other half {other[task].mean():.1f}" for task in own)
        + " (own within 2 points of r and the other within 5 of chance are asked for)",
        *(2 - values for values in lost.values()),
        *(5 - values for values in above.values()),
        *r.told("supervised", "r"),
        note="; ".join(
            f"of the variance of {block} "
            + " and ".join(f"{r.share('supervised', block, task).mean():.1f} % between {task}s" for task in own)
            for block in ("r0", "r1")
        ).capitalize()
        + ".",
    )


def infomin(r: Results) -> list[Claim]:
    small, middle, large = ("InfoMin 0.001", "InfoMin 0.005", "InfoMin 0.1")
    both = TASKS["dc-bc"]
    gaps = {m: [r.gap(m, task, whole=w) for w in "zr" for task in both] for m in (small, middle, large)}
    drop = {w: [r.accuracy(small, w, task) - r.accuracy(large, w, task) for task in both] for w in "zr"}
    loss = {label: r.term(label, "infomax") for label in ("control", small, middle, large)}
    return [
        judge(
            "000-2",
            "InfoMin: the two halves are equal, gaps of 0.2 points at most",
            "largest mean gap of z or r: "
            + ", ".join(f"{label} {max(g.mean() for g in found):.1f}" for label, found in gaps.items())
            + " (2 or less is asked for below 0.1)",
            *(2 - gap for label in (small, middle) for gap in gaps[label]),
            *(above for label in (small, middle) for block in "zr" for above in r.told(label, block)),
            note="What InfoMin likes best is a copy with the opposite sign, z1 = -z0, which tells the same: |cosine| "
            + _listed({label: r.cosine(label) for label in (small, middle, large)}, 2)
            + ".",
        ),
        judge(
            "000-3",
            "InfoMin acts where it is put: from 0.001 to 0.1 r loses 2 points, z about 26",
            "; ".join(f"{w} loses {' and '.join(f'{d.mean():.1f}' for d in drop[w])}" for w in "zr")
            + " (r less than half of what z loses is asked for)",
            *(a / 2 - b for a, b in zip(drop["z"], drop["r"], strict=True)),
        ),
        judge(
            "000-4",
            "InfoMin fights InfoMax: a larger strength costs InfoMax",
            "final InfoMax: "
            + ", ".join(f"{label} {values.mean():.2f}" for label, values in loss.items())
            + " (0, 0.005 and 0.1 decide)",
            loss[middle] - loss["control"],
            loss[large] - loss[middle],
        ),
    ]


def orthogonality(r: Results) -> list[Claim]:
    n = min(len(r.of(label)) for label in ("Ortho 0.1", "P-Ortho 0.1", "control"))

    def z(label: str, task: str) -> Numbers:
        return r.accuracy(label, "z", task)[:n]

    def best(label: str, task: str) -> Numbers:
        return np.maximum(*(r.accuracy(label, f"z{k}", task)[:n] for k in (0, 1)))

    both = TASKS["dc-bc"]
    labels = ("control", "Ortho 0.1", "P-Ortho 0.1")
    return [
        judge(
            "000-5",
            "plain orthogonality at 0.1 drops z on digits to 69.3 (97.0 at 0.001); with P it stays at 97.2",
            "z on "
            + "; ".join(f"{task}: {_listed({m: z(m, task) for m in labels})}" for task in both)
            + " (with P no more than a point below plain, and within 2 of the control, are asked for)",
            *(z("P-Ortho 0.1", task) - z("Ortho 0.1", task) + 1 for task in both),
            *(2 - np.abs(z("P-Ortho 0.1", task) - z("control", task)) for task in both),
            *r.told("control", "z"),
            note=f"Plain orthogonality costs {_mean(z('control', 'digit') - z('Ortho 0.1', 'digit'))} points here.",
        ),
        judge(
            "000-6",
            "with P the accuracies of the halves rise (88.0 and 60.0 are the best of all)",
            "the better half on "
            + "; ".join(f"{task}: {_listed({m: best(m, task) for m in labels})}" for task in both),
            *(best("P-Ortho 0.1", task) - best("Ortho 0.1", task) for task in both),
        ),
    ]


def hessian(r: Results) -> list[Claim]:
    both = TASKS["dc-bc"]
    n = min(len(r.of(label)) for label in ("Hess 0.1", "P-Ortho 0.1"))
    gaps = {label: r.mean_gap(label) for label in ("InfoMin 0.001", "P-Ortho 0.1", "one head", "Hess 0.1")}
    m, k = min(n, len(gaps["InfoMin 0.001"])), min(n, len(gaps["one head"]))
    cost = [r.accuracy("P-Ortho 0.1", "z", task)[:n] - r.accuracy("Hess 0.1", "z", task)[:n] for task in both]
    share = {label: r.diagonal(label)[:n] for label in ("P-Ortho 0.1", "one head", "Hess 0.1")}
    more = gaps["Hess 0.1"][:k] - gaps["one head"][:k]
    sure = ", ".join(f"{label} {r.surely_diagonal(label)}" for label in share)
    return [
        judge(
            "000-7",
            "the Hessian gives the largest gaps (17.2 / 8.5) and costs accuracy (z 93.6 / 56.3 for 97.2 / 61.6)",
            f"mean gap {_listed(gaps)}; z loses {' and '.join(f'{c.mean():.1f}' for c in cost)} points to P-Ortho",
            gaps["Hess 0.1"][:n] - gaps["P-Ortho 0.1"][:n],
            more,
            gaps["P-Ortho 0.1"][:m] - gaps["InfoMin 0.001"][:m],
            *cost,
            note=f"One head without any regulariser has a gap of {gaps['one head'].mean():.1f}: the Hessian term adds "
            f"{_range(more)} to that, which comes from one InfoMax for both halves.",
        ),
        judge(
            "000-8",
            "the diagonal is found in 4 of 5 re-runs with the Hessian and 1 of 5 with P-Ortho",
            ", ".join(f"{label} {int(s.sum())} of {len(s)}" for label, s in share.items()),
            share["Hess 0.1"] - share["P-Ortho 0.1"],
            note="By this interval 4 of 5 and 1 of 5 would be unclear too; two equal halves are diagonal every second "
            f"time. Beyond the noise of the test rows ({SURE:.0%} of resamplings) it is found in: {sure}.",
        ),
        spread(r.gap("Hess 0.1", "digit"), r.gap("P-Ortho 0.1", "digit")),
    ]


def spread(hess: Numbers, ortho: Numbers) -> Claim:
    """By the F distribution of the ratio of two variances."""
    several = min(len(hess), len(ortho)) > 1 and ortho.var() > 0
    ratio = float(hess.var(ddof=1) / ortho.var(ddof=1)) if several else float("nan")
    low, high = (ratio / float(f.ppf(q, max(len(hess) - 1, 1), max(len(ortho) - 1, 1))) for q in (0.975, 0.025))
    ours = f"{hess.var():.1f} and {ortho.var():.1f} over {len(hess)} and {len(ortho)} seeds; ratio {ratio:.1f}"
    paper = "the digit gap varies more with the Hessian (variance 22.8) than with P-Ortho (3.4)"
    note = "The interval is of the ratio, which should be above 1; six runs a side as in the paper give 0.9 to 48."
    return Claim("000-9", paper, ours, low, high, len(hess), positive(low - 1, high - 1), note)


def locations(r: Results) -> list[Claim]:
    gaps = {label: r.gap(label, "location", "dc-dl") for label in ("Ortho 0.1", "one head", "Hess 0.1")}
    n, k = (min(len(gaps[label]), len(gaps["Hess 0.1"])) for label in ("Ortho 0.1", "one head"))
    halves = [r.accuracy("Ortho 0.1", f"z{k}", "location", "dc-dl") for k in (0, 1)]
    left = {task: r.accuracy("InfoMin 0.1", "r", task, "dc-dl") for task in TASKS["dc-dl"]}
    return [
        judge(
            "000-10",
            "location is at 99 in every half unless the Hessian is used (gaps 26.4 and 16.6; 0.1 and 2.8 for Ortho)",
            f"gap in location: {_listed(gaps)}; the halves of Ortho 0.1 are at "
            f"{' and '.join(f'{half.mean():.1f}' for half in halves)} (95 there, five times the gap of Ortho and more "
            "than that of one head are asked for)",
            gaps["Hess 0.1"][:n] - 5 * gaps["Ortho 0.1"][:n],
            gaps["Hess 0.1"][:k] - gaps["one head"][:k],
            *(half - 95 for half in halves),
        ),
        judge(
            "000-11",
            "on digit and location InfoMin collapses: r at 11.7 / 12.6",
            f"r at strength 0.1: {_listed(left)} (5 points above chance or less are asked for; the paper does not say "
            "at which strength)",
            *(5 + r.chance("InfoMin 0.1", task, "dc-dl", "r") - left[task] for task in left),
            *r.told("control", "r", "dc-dl"),
        ),
    ]


def _mean(values: Numbers) -> str:
    return f"{values.mean():.1f}"


def _range(values: Numbers) -> str:
    return "{:.1f} to {:.1f}".format(*interval(values))


def _listed(values: dict[str, Numbers], digits: int = 1) -> str:
    return ", ".join(f"{name} {v.mean():.{digits}f}" for name, v in values.items())
