"""Claims of the intervention experiment, from the results of its runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unbraid.study.claims import Claim, Record, decide, judge
from unbraid.study.reproduce import Found, Result, Results

from .figures import draw
from .scores import (
    FACTOR_VAES,
    METRICS,
    SETS,
    apart_by_sap,
    drop,
    main_runs,
    of_factor_vaes,
    rank_correlation,
    runs,
    score,
)
from .tables import tables

HUES, PER_FACTOR = ("floor_hue", "wall_hue"), "informativeness_per_factor"
OURS = "intervention"
Notes = Mapping[str, str]  # claim -> what was found where it does not hold


def record(found: Found) -> Record:
    return Record(
        title="Correlated factors, small: disentanglement by intervention",
        about=found.notes[""],
        command=found.command,
        seconds=found.seconds,
        claims=claims(main_runs(found.results), found.notes),
        tables=tables(found.results),
        pictures=draw(found.results, found.pictures),
    )


def claims(r: Results, notes: Notes) -> list[Claim]:
    return [
        *drops(r, notes),
        comparable(r, notes),
        of_digits(r, notes),
        translation_agrees(r, notes),
        apart(r, notes),
        best(r, notes),
    ]


def _baselines(r: Results, data: str) -> list[str]:
    return [label for label in r.labels(data=data) if label != OURS]


def drops(r: Results, notes: Notes) -> list[Claim]:
    ours = {m: np.mean([drop(r, d, OURS, m) for d in SETS], 0) for m in METRICS}
    theirs = {m: np.mean([drop(r, d, f, m) for d in SETS for f in FACTOR_VAES], 0) for m in METRICS}
    dci = {(d, f): drop(r, d, f, "dci") for d in SETS for f in (*FACTOR_VAES, "beta-TCVAE")}
    start = {m: np.mean([score(r, d, OURS, False, m) for d in SETS], 0) for m in METRICS}
    rivals = {m: np.mean([score(r, d, f, False, m) for d in SETS for f in FACTOR_VAES], 0) for m in METRICS}
    others = [drop(r, d, f, m).mean() for d in SETS for f in _baselines(r, d) for m in METRICS]
    return [
        judge(
            "004-1",
            "correlated factors cost FactorVAE (dSprites DCI .73 to .60), hardly the intervention model (.76 to .74)",
            "mean drops over both sets, ours and FactorVAE's: "
            + ", ".join(f"{m.upper()} {ours[m].mean():.3f} and {theirs[m].mean():.3f}" for m in METRICS)
            + " (that FactorVAE loses DCI at all is asked for too, and that we have half of its scores to lose)",
            *(theirs[m] - ours[m] for m in METRICS),
            theirs["dci"],
            *(start[m] - rivals[m] / 2 for m in METRICS),
            notes=notes,
        ),
        judge(
            "004-2",
            "every baseline loses on every metric under correlation",
            "drops of DCI: "
            + ", ".join(f"{f} on {SETS[d]} {v.mean():.3f}" for (d, f), v in dci.items())
            + f" (these decide); of all {len(others)} mean differences {sum(x > 0 for x in others)} are losses",
            *dci.values(),
            notes=notes,
        ),
    ]


def comparable(r: Results, notes: Notes) -> Claim:
    margins, told = [], []
    for data, name in SETS.items():
        ours = score(r, data, OURS, False, "dci")
        best = np.max([score(r, data, label, False, "dci") for label in _baselines(r, data)], 0)
        margins.append(ours - best + 0.15)
        told.append(f"{name} {ours.mean():.2f}, the best baseline {best.mean():.2f}")
    paper = "with independent factors comparable: DCI .76 against .73 on dSprites, .63 against .76 on 3D Shapes"
    return judge("004-3", paper, f"DCI: {'; '.join(told)} (0.15 less is allowed)", *margins, notes=notes)


def of_digits(r: Results, notes: Notes) -> Claim:
    """Near-zero scores keep any share of themselves, and SAP is best where one feature holds both factors."""
    labels = (OURS, "FactorVAE 10")
    start = {label: score(r, "cmnist", label, False, "sap") for label in labels}
    ratio = {label: score(r, "cmnist", label, True, "sap") / np.maximum(start[label], 1e-6) for label in labels}
    own = np.array([float(apart_by_sap(run)) for kind in (False, True) for run in runs(r, "cmnist", OURS, kind)])
    return judge(
        "004-4",
        "coloured digits, SAP: FactorVAE .83 to .41, ours .74 to .70",
        ", ".join(f"{label} keeps {v.mean():.2f} of a SAP of {start[label].mean():.2f}" for label, v in ratio.items())
        + f"; digit and hue have features of their own in {own.sum():.0f} of our {len(own)} runs (0.85 or more of ours "
        "and 0.7 or less of FactorVAE's, of a SAP of 0.2 or more, and two features in all runs are asked for)",
        ratio[OURS] - 0.85,
        0.7 - ratio["FactorVAE 10"],
        *(values - 0.2 for values in start.values()),
        own - 0.5,
        notes=notes,
    )


def translation_agrees(r: Results, notes: Notes) -> Claim:
    found, told, models = [], [], []
    for data, name in SETS.items():
        for metric in METRICS:
            difficulty, values = of_factor_vaes(r, data, "translation"), of_factor_vaes(r, data, metric)
            rho, low, high, n = rank_correlation(difficulty, values)
            models.append(n)
            found.append((low - 0.4, high - 0.4))
            told.append(f"{metric.upper()} on {name} {rho:.2f}")
    paper = "translation difficulty agrees with DCI, SAP and IRS over FactorVAE models (figure 3)"
    ours = f"Spearman of -translation with {', '.join(told)}; {min(models)} models each (above 0.4 is asked for)"
    return decide("004-5", paper, ours, found, len({run.seed for run in r}), notes=notes)


def apart(r: Results, notes: Notes) -> Claim:
    correlated = {label: runs(r, "shapes3d", label, True) for label in (OURS, "FactorVAE 40")}
    share = {label: np.array([mixed_share(run) for run in found]) for label, found in correlated.items()}
    told = {label: np.array([told_of_hues(run) for run in found]) for label, found in correlated.items()}
    return judge(
        "004-6",
        "3D Shapes, correlated: floor and wall hue have features of their own, FactorVAE mixes them (figure 4)",
        "importance that lies off the diagonal of the two hues and their two features: "
        + ", ".join(f"{label} {v.mean():.2f}" for label, v in share.items())
        + "; R2 of the hue that is told less: "
        + ", ".join(f"{label} {v.mean():.2f}" for label, v in told.items())
        + " (0.3 is asked for: importances for what is not told are noise)",
        share["FactorVAE 40"] - share[OURS],
        *(values - 0.3 for values in told.values()),
        notes=notes,
    )


def told_of_hues(run: Result) -> float:
    names, told = (run.scores["dci"][k][n] for k, n in (("params", "factors"), ("parts", PER_FACTOR)))
    return float(min(told[names.index(hue)] for hue in HUES))


def mixed_share(run: Result) -> float:
    """The share off the diagonal of DCI's importances of each of two factors' best latent; 1/2 if that is the same."""
    names, matrix = run.scores["dci"]["params"]["factors"], np.array(run.scores["dci"]["parts"]["importance"])
    block = matrix[:, [names.index(hue) for hue in HUES]]  # [latents, 2]
    block = block[block.argmax(0)]  # [2, 2]
    return float((block[0, 1] + block[1, 0]) / max(block.sum(), 1e-12))


def best(r: Results, notes: Notes) -> Claim:
    margins, told = [], []
    for data, name in SETS.items():
        for metric in METRICS:
            ours = score(r, data, OURS, True, metric)
            others = np.max([score(r, data, label, True, metric) for label in _baselines(r, data)], 0)
            margins.append(ours - others + 0.02)
            told.append(f"{metric.upper()} on {name} {ours.mean():.2f} for {others.mean():.2f}")
    paper = (
        "with correlated factors the model is the best in almost all cases (its own tables: all but 3D Shapes DCI, .67 "
        "for .68, and a tie in dSprites SAP)"
    )
    ours_for = f"ours for the best baseline of each seed: {', '.join(told)} (0.02 less is allowed)"
    return judge("004-7", paper, ours_for, *margins, notes=notes)
