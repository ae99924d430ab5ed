"""Why unlabelled data alone cannot tell a disentangled code from an entangled one.

python examples/impossibility.py [rows] [picture] [dimensions]

A perfect code z of independent factors (four, unless said otherwise), and f(z), the map of the impossibility theorem:
the same distribution, every coordinate a mixture of all factors. Scores of both, and a picture.
"""

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.maths.entangle import NORMAL, UNIFORM, Marginal, entangle
from unbraid.metrics.suite import score

METRICS = {
    "beta_vae_score": "BetaVAE",
    "factor_vae_score": "FactorVAE",
    "mig": "MIG",
    "sap": "SAP",
    "dci": "DCI",
    "modularity": "Modularity",
    "irs": "IRS",
    "info_mec": "InfoMEC",
    "mcc": "MCC",
    "r2": "R2",
    "explicitness": "Explicitness",
}
OPTIONS = {"sap": {"method": "correlation"}, "mig": {"estimator": "quantile"}}
CODE, THROUGH, INK = "#2563a8", "#c2571a", "#1f2933"


def codes(marginal: Marginal, rows: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """z, f(z), and the factors: the tenth of its distribution in which each coordinate of z lies."""
    u = torch.rand(rows, dimensions, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    z = marginal.quantile(u)
    return z.numpy(), entangle(z, marginal=marginal).numpy(), (10 * u).long().numpy()


def table(marginal: Marginal, rows: int) -> dict[str, tuple[float, float, float]]:
    """For each metric: the score of z, that of f(z), and that of f(z) shuffled against the factors."""
    z, f, factors = codes(marginal, rows)
    found = {}
    for name in METRICS:
        asked: dict[str, Any] = {"metrics": [name], "options": {name: OPTIONS[name]} if name in OPTIONS else None}
        shuffled = np.random.default_rng(0).permutation(f)
        of_z, of_f, chance = (score(c, factors, **asked, bootstrap=0, chance=False)[name] for c in (z, f, shuffled))
        found[name] = (of_z.value, of_f.value, chance.value)
    return found


def picture(scores: dict[str, tuple[float, float, float]], path: str) -> None:
    plt.rcParams.update({"font.size": 9, "text.color": INK, "axes.labelcolor": INK, "figure.facecolor": "white"})
    figure = plt.figure(figsize=(9, 6.6), layout="constrained")
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    top, bottom = halves
    z, f, factors = codes(UNIFORM, 4000)
    for axis, points, title in zip(top.subplots(1, 2), (z, f), ("a perfect code z", "the same through f"), strict=True):
        drawn = axis.scatter(*points[:, :2].T, c=factors[:, 0], s=4, cmap="viridis", linewidths=0)
        axis.set(title=title, xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
    top.colorbar(drawn, ax=top.axes, label="first factor", shrink=0.8)
    axis, place = bottom.subplots(), np.arange(len(scores))
    of_z, of_f, chance = np.array(list(scores.values())).T
    axis.bar(place - 0.2, of_z, 0.38, color=CODE, label="z")
    axis.bar(place + 0.2, of_f, 0.38, color=THROUGH, label="f(z)")
    axis.hlines(chance, place + 0.0, place + 0.4, color=INK, linewidth=1.5, label="chance, for f(z)")
    axis.axhline(0, color=INK, linewidth=0.5)
    axis.set_xticks(place, list(METRICS.values()), rotation=20)
    axis.set(ylabel="score", title="scores of both, uniform factors")
    axis.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    for one in figure.axes:
        one.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
path = sys.argv[2] if len(sys.argv) > 2 else "impossibility.png"
dimensions = int(sys.argv[3]) if len(sys.argv) > 3 else 4
uniform, normal = table(UNIFORM, rows), table(NORMAL, rows)
print("| metric | uniform: z | f(z) | chance | normal: z | f(z) | chance |")
print("|---|" + "---:|" * 6)
for name in METRICS:
    print(
        f"| `{name}` | "
        + " | ".join(f"{value:.2f}" for value in (*uniform[name], *normal[name])).replace("nan", "none")
        + " |"
    )
picture(uniform, path)
print(path)
