"""Tables 1 to 5 of the paper on invariance, each number beside the paper's, and what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.study.claims import Numbers, Table
from unbraid.study.reproduce import Results

COLORED, TURNED, SHAPES = "colored_mnist", "rotation_colored_mnist", "shapes3d"
BASELINES = ("Baseline", "beta-VAE", "VFAE", "CAI", "CVIB", "UAI")
ANGLES = ("-75", "-65", "+65", "+75")
WEAK = ("Swap", "Ada-GVAE", "Ada-ML-VAE")
FREE = ("beta-VAE", "AnnealedVAE", "FactorVAE", "DIP-VAE-I", "DIP-VAE-II", "beta-TCVAE", "beta-FactorTCVAE")
WARM_UPS = ("Swap, no warm-up", "Swap, amount only", "Swap")
METRICS = ("mig", "sap", "irs", "factor_vae_score", "dci")
OF_MEANS = "Swap, contrast of means"
PAPER_1 = {  # average, worst on Colored-MNIST
    "Baseline": (0.9512, 0.6617), "beta-VAE": (0.9265, 0.5879), "VFAE": (0.9312, 0.6554), "CAI": (0.9356, 0.6317),
    "CVIB": (0.9331, 0.7012), "UAI": (0.9474, 0.7425), "Swap": (0.9796, 0.9043),
}  # fmt: skip
PAPER_2 = {  # average / worst at each angle
    "Baseline": ".770/.623 .897/.775 .858/.658 .683/.499", "beta-VAE": ".771/.612 .852/.750 .834/.630 .687/.472",
    "VFAE": ".722/.589 .858/.744 .841/.646 .717/.480", "CAI": ".749/.593 .865/.773 .842/.678 .647/.429",
    "CVIB": ".761/.592 .886/.791 .856/.688 .722/.534", "UAI": ".780/.611 .888/.800 .854/.682 .702/.511",
    "Swap": ".810/.753 .908/.857 .873/.823 .732/.633",
}  # fmt: skip
PAPER_3 = {
    "beta-VAE": (0.194, 0.063, 0.473, 0.847, 0.246), "AnnealedVAE": (0.233, 0.087, 0.545, 0.864, 0.341),
    "FactorVAE": (0.224, 0.044, 0.630, 0.792, 0.304), "DIP-VAE-I": (0.143, 0.026, 0.491, 0.761, 0.137),
    "DIP-VAE-II": (0.137, 0.020, 0.424, 0.742, 0.083), "beta-TCVAE": (0.364, 0.096, 0.594, 0.970, 0.601),
    "beta-FactorTCVAE": (0.071, 0.021, 0.496, 0.612, 0.131), "Ada-ML-VAE": (0.509, 0.127, 0.620, 0.996, 0.940),
    "Ada-GVAE": (0.569, 0.150, 0.708, 0.996, 0.946), "Swap": (0.716, 0.156, 0.784, 0.996, 0.919),
    "Swap, no warm-up": (0.492, 0.096, 0.661, 0.902, 0.697), "Swap, amount only": (0.512, 0.126, 0.674, 0.944, 0.781),
}  # fmt: skip
SCHEMES = {
    "CE only": ("CE only", ".932/.680", ".821/.653"),
    "CE + contrast, jointly": ("CE + contrast, jointly", ".935/.732", ".842/.678"),
    "CE and contrast, apart": ("Swap", ".980/.904", ".873/.823"),
}


def of(r: Results, label: str, data: str, *path: str) -> Numbers:
    """A number of each run of a model on a data set, by seed."""
    return r.where(label=label, data=data).values(*path)


def average_accuracy(r: Results, label: str, data: str) -> Numbers:
    return of(r, label, data, "group_accuracy")


def worst_accuracy(r: Results, label: str, data: str) -> Numbers:
    return of(r, label, data, "group_accuracy", "parts", "worst")


def at_angle(r: Results, label: str, angle: str, which: str) -> Numbers:
    return of(r, label, TURNED, "by_angle", angle, which)


def metric(r: Results, label: str, name: str) -> Numbers:
    return of(r, label, SHAPES, name)


def probe(r: Results, data: str, block: str, factor: str) -> Numbers:
    return of(r, "Swap", data, "leakage", "parts", "accuracy", block, factor)


def by_chance(r: Results, data: str, factor: str) -> Numbers:
    return of(r, "Swap", data, "leakage", "parts", "chance", factor)


def first_table(r: Results) -> Table:
    rows = [
        [m, _cell(average_accuracy(r, m, COLORED)), _cell(worst_accuracy(r, m, COLORED)), *PAPER_1.get(m, ("", ""))]
        for m in (*PAPER_1, OF_MEANS)
    ]
    columns = ["model", "average", "worst group", "the paper: average", "worst"]
    note = "Mean (least to most over seeds). The worst is over cells of digit and ground."
    return Table("Table 1: Colored-MNIST, unseen grounds", columns, rows, note)


def angle_table(r: Results) -> Table:
    rows = []
    for m in (*PAPER_2, OF_MEANS):
        cells = [f"{mean(at_angle(r, m, a, 'average'))} / {mean(at_angle(r, m, a, 'worst'))}" for a in ANGLES]
        paper = PAPER_2.get(m, "").replace("/", " / ").replace(" .", "; .").replace("/;", "/")
        rows.append([m, *cells, paper])
    return Table("Table 2: Rotation-Colored-MNIST, average / worst group", ["model", *ANGLES, "the paper"], rows)


def shift_table(r: Results) -> Table:
    which = ("neither", "angle", "ground", "both")
    rows = [[m, *(_cell(of(r, m, TURNED, "shifts", name)) for name in which)] for m in (*PAPER_2, OF_MEANS)]
    columns = ["model", "as in training", "new angle", "new ground", "both new"]
    note = "Test digits, average accuracy. The paper's table 2 has both new."
    return Table("Rotation-Colored-MNIST: which change costs", columns, rows, note)


def shape_table(r: Results) -> Table:
    rows = [_metrics(r, m) for m in (*FREE, "Ada-ML-VAE", "Ada-GVAE", "Swap")]
    columns = ["model", *METRICS, "the paper: MIG, SAP, IRS, FactorVAE, DCI"]
    return Table("Table 3: 3D Shapes", columns, rows, "The last three see pairs, the others do not.")


def warm_up_table(r: Results) -> Table:
    columns = ["warm-up", *METRICS, "the paper: MIG, SAP, IRS, FactorVAE, DCI"]
    return Table("Table 4: warm-up on 3D Shapes", columns, [_metrics(r, m) for m in WARM_UPS])


def scheme_table(r: Results) -> Table:
    rows = []
    for name, (label, first, second) in SCHEMES.items():
        colored = [_cell(average_accuracy(r, label, COLORED)), _cell(worst_accuracy(r, label, COLORED))]
        turned = [_cell(at_angle(r, label, "+65", which)) for which in ("average", "worst")]
        rows.append([name, *colored, first, *turned, second])
    columns = ["scheme", "C-MNIST average", "worst", "the paper", "+65 average", "worst", "the paper"]
    return Table("Table 5: training scheme", columns, rows)


def leakage(r: Results) -> Table:
    rows = []
    for data, factors in (
        (COLORED, ("digit", "background", "colour")),
        (TURNED, ("digit", "angle", "background", "colour")),
    ):
        for factor in factors:
            cells = [_cell(probe(r, data, block, factor)) for block in ("p", "n")]
            rows.append([data, factor, *cells, _cell(by_chance(r, data, factor))])
    note = "Linear probes on the codes of test images. Wanted: the digit from p alone, the others from n alone."
    return Table("What leaks where: the swap model", ["data", "factor", "from p", "from n", "chance"], rows, note)


def _metrics(r: Results, label: str) -> list[Any]:
    return [label, *(_cell(metric(r, label, name)) for name in METRICS), ", ".join(f"{v:g}" for v in PAPER_3[label])]


def _cell(values: Numbers) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return ""
    return f"{finite.mean():.3f}" + (f" ({finite.min():.3f} to {finite.max():.3f})" if len(finite) > 1 else "")


def mean(values: Numbers, signed: bool = False) -> str:
    finite = values[np.isfinite(values)]
    return "?" if not len(finite) else f"{finite.mean():{'+' if signed else ''}.3f}"


def each(values: dict[str, Numbers]) -> str:
    return ", ".join(mean(value) for value in values.values())


TABLES = (first_table, angle_table, shift_table, shape_table, warm_up_table, scheme_table, leakage)
