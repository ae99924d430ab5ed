"""Claims and tables of the contrastive experiment, from the results of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.reproduce import results
from unbraid.reproduce.contrastive_figures import draw
from unbraid.reproduce.results import Claim, Numbers, Record, Result, Table

NOTES = {  # claim -> what was found when it was looked into; printed where the claim is not shown
    "003-2": "On average within a tenth, but a seed of cVAE alone moves by as much: three seeds cannot say.",
    "003-3": "No bug: an independent version of Eq. 7 separates as little. This grass fills about 7 of the 16 common "
    "latents, and nothing in the loss keeps the digit out of the others; with 4 common latents it stays out. On seed 0 "
    "neither 8,000 steps of Eq. 8 (s 47, z 28) nor a texture enlarged four times (s 42, z 37) helped.",
    "003-4": "The losses lie within 4 points of each other and seeds of one loss up to 17 apart: at half of the "
    "paper's accuracy there is no order.",
    "003-5": "Clusters of z do not show the digit, a linear classifier finds it there as well as in s (leaks, below): "
    "sRbVAE leaks, but so do the other losses here.",
    "003-6": "Harder, but the linear set is hard here too: a bound of 0.6 assumes the paper's 90 % there.",
    "003-8": "All of [z, 0] are a blur of the patch's brightness: 16 latents of dense networks do not hold fine grass.",
    "003-9": "Accuracy does not follow lambda_z beyond the spread of seeds; W2 and the digit in z do (below).",
    "003-10": "The losses lie closer together than seeds of one loss do.",
}
ABOUT = """
Digits on grass against grass alone (real MNIST, patches of one real photograph of grass), linear and non-linear, as in
the paper. Dense networks of 512 and 256 units, 16 common and 8 salient latents, batches of 128 + 128, Adam at 1e-3,
beta = 2, gaussian likelihood with standard deviation 0.1, lambda_s = 10, {steps} steps; the paper trains convolutions
for about 200 epochs. Digits on photographs (CIFAR-10 in grey, 32 x 32) stand in for faces. Codes of 5,000 targets are
scored, on the training rows as there is no split in the paper. The single-set methods have 24 latents and see both
sets. Numbers are means over seeds; an interval is Student's t over seeds for the margin by which the claim holds
(above zero: it holds).
"""
PAPER = {  # z accuracy %, z silhouette, s accuracy %, s silhouette, W2
    ("linear", "cVAE"): (12.59, 0.18, 89.02, 0.46, 8.91),
    ("linear", "sRbVAE"): (64.94, 0.40, 65.14, 0.43, 12.34),
    ("linear", "Eq. 7"): (12.43, 0.19, 91.23, 0.52, 8.88),
    ("linear", "Eq. 8"): (11.91, 0.04, 92.17, 0.55, 4.60),
    ("nonlinear", "cVAE"): (26.61, 0.27, 26.89, 0.28, 9.04),
    ("nonlinear", "sRbVAE"): (22.60, 0.16, 23.42, 0.16, 38.12),
    ("nonlinear", "Eq. 7"): (16.36, 0.13, 29.44, 0.12, 9.02),
    ("nonlinear", "Eq. 8"): (17.56, 0.19, 32.37, 0.16, 4.69),
}
MAIN = ("Eq. 8", "Eq. 7", "cVAE", "sRbVAE")
GRASS = {"linear": "L-MNIST", "nonlinear": "NL-MNIST"}
SETS = {**GRASS, "photographs": "on photographs"}


class Results:
    """Numbers of runs by method and data set, one for each seed."""

    def __init__(self, found: Sequence[Result]) -> None:
        self.found = found

    def of(self, label: str, data: str, *path: str) -> Numbers:
        values = []
        for result in sorted(self.found, key=lambda r: int(r["seed"])):
            if (result["label"], result["data"]) == (label, data):
                value: Any = result
                for step in path:
                    value = value.get(step) if isinstance(value, dict) else None
                value = value[0] if isinstance(value, list) and value else value
                values.append(np.nan if value is None else float(value))
        return np.array(values)

    def score(self, label: str, data: str, name: str, *part: str) -> Numbers:
        return self.of(label, data, "scores", name, *(("parts", *part) if part else ("value",)))


judge = partial(results.judge, notes=NOTES)


def record(found: Sequence[Result], out: Path) -> Record:
    r = Results(found)
    return Record(
        title="Target against background, small: contrastive disentanglement",
        about=ABOUT.format(steps="2,500"),
        command="unbraid reproduce contrastive",
        seconds=sum(result["seconds"] for result in found),
        claims=claims(r),
        tables=[first_table(r), leakage(r), classes(r), strengths(r), sizes(r)],
        pictures=draw(found, out),
    )


def claims(r: Results) -> list[Claim]:
    return [*w2_claims(r), *accuracy_claims(r), *block_claims(r), photographs_claim(r)]


def w2_claims(r: Results) -> list[Claim]:
    both = ("linear", "nonlinear")
    seven, eight, c = ({k: r.score(m, k, "w2_z") for k in both} for m in ("Eq. 7", "Eq. 8", "cVAE"))
    excess = {m: {k: r.score(m, k, "w2_z", "excess") for k in both} for m in ("Eq. 7", "Eq. 8")}
    ratio = {k: eight[k] / seven[k] for k in both}
    fall = {k: excess["Eq. 7"][k] - excess["Eq. 8"][k] for k in both}
    return [
        judge(
            "003-1",
            "Eq. 8 halves W2: 8.88 to 4.60 and 9.02 to 4.69, ratio 0.52",
            f"W2 {_to(seven, eight)}; ratios {_each(ratio)} (0.7 or less is asked for, and that the excess "
            f"(W2 - floor) / trace falls: by {_each(fall)})",
            *(0.7 - ratio[k] for k in both),
            *(fall[k] for k in both),
        ),
        judge(
            "003-2",
            "Eq. 7 alone does not change W2: 8.88, cVAE 8.91",
            f"Eq. 7 {_each(seven)}, cVAE {_each(c)} (within a tenth is asked for)",
            *(0.1 * c[k] - np.abs(seven[k] - c[k]) for k in both),
        ),
    ]


def accuracy_claims(r: Results) -> list[Claim]:
    s = {(m, k): 100 * r.score(m, k, "clustering_s") for m in MAIN for k in GRASS}
    z = {m: 100 * r.score(m, "linear", "clustering_z") for m in MAIN}
    line = {m: s[m, "linear"] for m in MAIN}
    lean = {m: [100 * r.score(f"{m}, 4/12", "linear", f"clustering_{b}") for b in ("s", "z")] for m in MAIN[:2]}
    last = np.min([line[m] for m in MAIN[:3]], 0) - line["sRbVAE"]
    return [
        separation("003-3", {m: [line[m], z[m]] for m in MAIN[:2]}),
        separation("003-3 (4 common and 12 salient latents)", lean),
        judge(
            "003-4",
            "order on s: Eq. 8 92.2, Eq. 7 91.2, cVAE 89.0, sRbVAE 65.1",
            ", ".join(f"{m} {line[m].mean():.1f}" for m in MAIN) + " (a point less is allowed)",
            line["Eq. 8"] - line["Eq. 7"] + 1,
            line["Eq. 7"] - line["cVAE"] + 1,
            last,
        ),
        judge(
            "003-5",
            "sRbVAE leaks on L-MNIST: z 64.9, s 65.1",
            f"z {z['sRbVAE'].mean():.1f}, s {line['sRbVAE'].mean():.1f} (within 10 points is asked for)",
            10 - np.abs(z["sRbVAE"] - line["sRbVAE"]),
        ),
        judge(
            "003-6",
            "NL-MNIST is much harder: s 23 to 32 %",
            ", ".join(f"{m} {s[m, 'nonlinear'].mean():.1f} for {line[m].mean():.1f}" for m in MAIN)
            + " (less than 0.6 of the linear accuracy is asked for)",
            *(0.6 * line[m] - s[m, "nonlinear"] for m in MAIN),
        ),
    ]


def separation(id: str, found: dict[str, list[Numbers]]) -> Claim:
    """Of the accuracies of s and of z, by method."""
    return judge(
        id,
        "L-MNIST: digits are in s (89 to 92 %), not in z (12 %), for cVAE, Eq. 7 and Eq. 8",
        "; ".join(f"{m} s {s.mean():.0f} z {z.mean():.0f}" for m, (s, z) in found.items())
        + " (30 points and twofold are asked for)",
        *(s - z - 30 for s, z in found.values()),
        *(s / 2 - z for s, z in found.values()),
    )


def block_claims(r: Results) -> list[Claim]:
    held = {m: r.score(m, "linear", "salience") for m in ("Eq. 7", "cVAE")}
    grass = {m: r.of(m, "linear", "truth", "grass_from_[z,0]") for m in MAIN}
    curve = {
        0.0: r.score("Eq. 7", "linear", "clustering_s"),
        0.1: r.score("Eq. 8, lambda_z 0.1", "linear", "clustering_s"),
        1.0: r.score("Eq. 8", "linear", "clustering_s"),
        10.0: r.score("Eq. 8, lambda_z 10", "linear", "clustering_s"),
    }
    return [
        judge(
            "003-7",
            "Eq. 7 drives the background's salient code to zero",
            f"E[|mu_s|^2 + |sigma_s|^2] on backgrounds: Eq. 7 {held['Eq. 7'].mean():.3f}, cVAE "
            f"{held['cVAE'].mean():.3f} (ten times less is asked for)",
            np.log10(held["cVAE"] / held["Eq. 7"]) - 1,
        ),
        judge(
            "003-8",
            "decoding [z, 0] of a target gives clean background (figure)",
            "correlation of [z, 0] with the true patch: " + ", ".join(f"{m} {v.mean():.3f}" for m, v in grass.items()),
            *(grass[m] - grass["sRbVAE"] for m in MAIN[:2]),
        ),
        judge(
            "003-9",
            "lambda_z = 1 is the best of those tried (figure)",
            "s accuracy: " + ", ".join(f"{w:g}: {100 * v.mean():.1f}" for w, v in curve.items()),
            curve[1.0] - np.max([curve[0.0], curve[0.1], curve[10.0]], 0),
        ),
    ]


def photographs_claim(r: Results) -> Claim:
    labels = ("Eq. 8", "Eq. 7", "RbVAE", "sRbVAE")
    right = {m: 100 * r.score(m, "photographs", "class_from_s") for m in labels}
    found = {m: 100 * r.score(m, "photographs", "clustering_s") for m in labels}
    return judge(
        "003-10",
        "better on faces too: Eq. 8 first on CelebA and AffectNet, though Eq. 7 is the last of four on CelebA",
        "digits on photographs in place of faces, which cannot be had here: digit from s by a linear classifier "
        + ", ".join(f"{m} {v.mean():.1f}" for m, v in right.items())
        + "; clusters of s "
        + ", ".join(f"{m} {v.mean():.1f}" for m, v in found.items())
        + " (Eq. 8 at least as good as Eq. 7, RbVAE and sRbVAE is asked for, a point less allowed)",
        *(right["Eq. 8"] - right[m] + 1 for m in labels[1:]),
    )


def first_table(r: Results) -> Table:
    rows: list[list[Any]] = []
    for data, name in SETS.items():
        for label in _labels(r, data):
            mine: list[Any] = []
            for block in ("z", "s"):
                mine.append(_cell(100 * r.score(label, data, f"clustering_{block}"), 1))
                mine.append(_cell(r.score(label, data, f"clustering_{block}", "silhouette_values"), 2))
            parts = [_cell(r.score(label, data, "w2_z", *p)) for p in ((), ("floor",), ("trace",), ("excess",))]
            paper = PAPER.get((data, label))
            rows.append([name, label, *mine, *parts, " / ".join(f"{v:g}" for v in paper) if paper else ""])
    columns = ["data", "loss", "z acc %", "z SS", "s acc %", "s SS", "W2", "floor", "trace", "excess"]
    note = (
        "Mean (least to most over seeds). Accuracy of k-means on the t-SNE plane; SS is the silhouette of the true "
        "digits there. W2 is squared, of sampled codes, 128 of each set; floor: between two halves of the targets."
    )
    return Table("Table 1: clusters and W2", [*columns, "the paper: z acc, SS, s acc, SS, W2"], rows, note)


def leakage(r: Results) -> Table:
    names = ["class_from_s", "class_from_z", "set_from_z", "z_from_s", "salience"]
    hidden = ["grass_from_s", "grass_from_z", "grass_from_[z,0]", "digit_from_[0,s]"]
    rows = [
        [name, label, *(_cell(r.score(label, k, s), 3) for s in names)]
        + [_cell(r.of(label, k, "truth", h), 3) for h in hidden]
        for k, name in SETS.items()
        for label in _labels(r, k)
    ]
    note = "Linear probes. Wanted: the digit from s and not from z; the set not from z (0.5); the grass not from s."
    return Table("What leaks where", ["data", "loss", *names, *hidden], rows, note)


def classes(r: Results) -> Table:
    rows: list[list[Any]] = []
    for data, name in SETS.items():
        for label in _labels(r, data):
            block = "s" if np.isfinite(r.score(label, data, "class_from_s")).any() else "z"
            each = [
                result["scores"][f"class_from_{block}"]["parts"]["per_class"]
                for result in r.found
                if (result["label"], result["data"]) == (label, data)
            ]
            rows.append([name, label, block, *(float(v) for v in np.mean(each, 0))])
    note = "The form of the paper's Table 2, whose faces cannot be had: accuracy of a linear classifier on each class."
    return Table("Table 2: each digit from the code", ["data", "loss", "block", *map(str, range(10))], rows, note)


def strengths(r: Results) -> Table:
    labels = {"0": "Eq. 7", "0.1": "Eq. 8, lambda_z 0.1", "1": "Eq. 8", "10": "Eq. 8, lambda_z 10"}
    rows = [_row(r, weight, label) for weight, label in labels.items()]
    return Table("Figure 6: lambda_z on L-MNIST", ["lambda_z", *COLUMNS], rows)


def sizes(r: Results) -> Table:
    names = ("Eq. 7", "Eq. 8", "Eq. 7, 8/4", "Eq. 8, 8/4", "Eq. 7, 4/12", "Eq. 8, 4/12")
    labels = {name if "," in name else f"{name}, 16/8": name for name in names}
    rows = [_row(r, name, label) for name, label in labels.items()]
    note = "The paper says 16 and 8 in words and 8 and 4 in symbols; the first is used above. 4 and 12 are ours."
    return Table("Latent sizes, L-MNIST", ["loss, common/salient", *COLUMNS], rows, note)


COLUMNS = ["s acc %", "z acc %", "digit from s", "digit from z", "W2", "trace", "excess"]


def _row(r: Results, name: str, label: str) -> list[Any]:
    scores = [r.score(label, "linear", f"clustering_{block}") * 100 for block in ("s", "z")]
    scores += [r.score(label, "linear", f"class_from_{block}") for block in ("s", "z")]
    scores += [r.score(label, "linear", "w2_z", *part) for part in ((), ("trace",), ("excess",))]
    return [name, *map(_cell, scores)]


def _labels(r: Results, data: str) -> list[str]:
    """The methods that were run on a data set, without the variants of Eq. 8."""
    return list(dict.fromkeys(x["label"] for x in r.found if x["data"] == data and "," not in x["label"]))


def _cell(values: Any, digits: int = 2) -> str:
    finite = np.asarray(values, float)[np.isfinite(values)]
    if not len(finite):
        return ""
    mean = f"{finite.mean():.{digits}f}"
    return mean if len(finite) == 1 else f"{mean} ({finite.min():.{digits}f} to {finite.max():.{digits}f})"


def _each(values: dict[str, Any]) -> str:
    return " and ".join(f"{v.mean():.2f}" for v in values.values())


def _to(before: dict[str, Any], after: dict[str, Any]) -> str:
    return " and ".join(f"{before[k].mean():.2f} to {after[k].mean():.2f}" for k in before)
