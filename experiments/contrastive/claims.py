"""Claims and tables of the contrastive experiment, from the results of its runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.study.claims import Claim, Numbers, Record, judge, noted
from unbraid.study.reproduce import Found, Results

from .figures import draw
from .tables import GRASS, MAIN, compared, score, tables


def record(found: Found) -> Record:
    return Record(
        title="Target against background, small: contrastive disentanglement",
        about=found.notes[""],
        command=found.command,
        seconds=found.seconds,
        claims=noted(claims(found.results), found.notes),
        tables=tables(compared(found.results)),
        pictures=draw(found.results, found.pictures),
    )


def claims(r: Results) -> list[Claim]:
    few = compared(r)
    return [halving(r), unchanged(few), *accuracy_claims(few), *block_claims(few), photographs_claim(few)]


def halving(r: Results) -> Claim:
    seven, eight = ({k: score(r, m, k, "w2_z") for k in GRASS} for m in ("Eq. 7", "Eq. 8"))
    excess = {m: {k: score(r, m, k, "w2_z", "parts", "excess") for k in GRASS} for m in ("Eq. 7", "Eq. 8")}
    ratio = {k: eight[k] / seven[k] for k in GRASS}
    fall = {k: excess["Eq. 7"][k] - excess["Eq. 8"][k] for k in GRASS}
    return judge(
        "003-1",
        "Eq. 8 halves W2: 8.88 to 4.60 and 9.02 to 4.69, ratio 0.52",
        f"W2 {_to(seven, eight)}; ratios {_each(ratio)} (0.7 or less is asked for, and that the excess "
        f"(W2 - floor) / trace falls: by {_each(fall)})",
        *(0.7 - ratio[k] for k in GRASS),
        *(fall[k] for k in GRASS),
    )


def unchanged(r: Results) -> Claim:
    seven, c = ({k: score(r, m, k, "w2_z") for k in GRASS} for m in ("Eq. 7", "cVAE"))
    return judge(
        "003-2",
        "Eq. 7 alone does not change W2: 8.88, cVAE 8.91",
        f"Eq. 7 {_each(seven)}, cVAE {_each(c)} (within a tenth is asked for)",
        *(0.1 * c[k] - np.abs(seven[k] - c[k]) for k in GRASS),
    )


def accuracy_claims(r: Results) -> list[Claim]:
    s = {(m, k): 100 * score(r, m, k, "clustering_s") for m in MAIN for k in GRASS}
    z = {m: 100 * score(r, m, "linear", "clustering_z") for m in MAIN}
    line = {m: s[m, "linear"] for m in MAIN}
    lean = {m: [100 * score(r, f"{m}, 4/12", "linear", f"clustering_{b}") for b in ("s", "z")] for m in MAIN[:2]}
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
    held = {m: score(r, m, "linear", "salience") for m in ("Eq. 7", "cVAE")}
    grass = {m: score(r, m, "linear", "truth", "grass_from_[z,0]") for m in MAIN}
    curve = {
        0.0: score(r, "Eq. 7", "linear", "clustering_s"),
        0.1: score(r, "Eq. 8, lambda_z 0.1", "linear", "clustering_s"),
        1.0: score(r, "Eq. 8", "linear", "clustering_s"),
        10.0: score(r, "Eq. 8, lambda_z 10", "linear", "clustering_s"),
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
    right = {m: 100 * score(r, m, "photographs", "class_from_s") for m in labels}
    found = {m: 100 * score(r, m, "photographs", "clustering_s") for m in labels}
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


def _each(values: dict[str, Any]) -> str:
    return " and ".join(f"{v.mean():.2f}" for v in values.values())


def _to(before: dict[str, Any], after: dict[str, Any]) -> str:
    return " and ".join(f"{before[k].mean():.2f} to {after[k].mean():.2f}" for k in before)
