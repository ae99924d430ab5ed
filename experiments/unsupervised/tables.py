"""The tables of the large study's record, with the study's own numbers beside ours where it gives them.

An error is the half width of a 95 % interval over seeds (jackknife, Student's t).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import t as student

from unbraid.study import analyse, choosing
from unbraid.study.claims import Table

from .study import NEWER_METRICS

METRICS = ["beta_vae_score", "factor_vae_score", "mig", "dci", "modularity", "sap"]
UNSUPERVISED = ["reconstruction", "kl", "elbo", "total_correlation.mean", "total_correlation.sampled"]
TRANSFERS = {"new seed": 0.807, "other data": 0.593, "other data and metric": 0.549}  # the study's rates
PAPER = {  # per cent of variance, in the order of METRICS
    "objective": {
        "dsprites": (29, 47, 26, 41, 29, 31),
        "color_dsprites": (30, 52, 26, 39, 23, 29),
        "shapes3d": (31, 14, 20, 21, 26, 10),
    },
    "objective and strength": {
        "dsprites": (59, 54, 72, 77, 39, 56),
        "color_dsprites": (69, 61, 76, 80, 40, 56),
        "shapes3d": (61, 53, 59, 78, 49, 35),
    },
}
BY = {"objective": ["objective"], "objective and strength": ["objective", "strength"]}
Frame = Callable[[pd.DataFrame], pd.DataFrame]


def tables(table: pd.DataFrame) -> list[Table]:
    """Variance explained, agreement of metrics, what selects models, downstream tasks, trends and spread."""
    found = [variance(table, way) for way in BY]
    for data, part in table.groupby("data"):
        found += [
            _correlations(f"Rank correlation of metrics, {data}", part, METRICS),
            _correlations(f"Rank correlation of newer metrics and metrics, {data}", part, list(NEWER_METRICS)),
            _correlations(
                f"Rank correlation of unsupervised quantities and metrics, {data}", part, [*UNSUPERVISED, "udr"]
            ),
            _correlations(
                f"Rank correlation of accuracy downstream and metrics, {data}", part, downstream_columns(table)
            ),
        ]
    found.append(transfers(table))
    for which in ("mean", "sampled"):
        found.append(_trends(table, which))
    for metric in METRICS:
        spread = analyse.spread(table, metric, ["data", "objective"])
        found.append(Table(f"Spread of {metric}", list(spread.columns), spread.to_numpy().tolist()))
    return found


def downstream_columns(table: pd.DataFrame) -> list[str]:
    """Accuracies by number of labels, and their ratio."""
    accuracies = [name for name in table.columns if name.startswith("downstream.mean.")]
    return [*sorted(accuracies, key=lambda name: int(name.rpartition(".")[2])), "downstream.efficiency"]


def variance(table: pd.DataFrame, way: str) -> Table:
    """The share of each score's variance that the objective explains, alone or with its strength; ours and theirs."""
    rows = []
    for data, part in table.groupby("data"):
        found, error = with_errors(part, lambda t: analyse.shares(t, METRICS, {"share": BY[way]}))
        ours = zip(found["share"], error["share"], strict=True)
        rows.append([f"{data}, ours", *(f"{v:.0%} ± {100 * e:.0f}" for v, e in ours)])
        if data in PAPER[way]:
            rows.append([f"{data}, the study", *(f"{v} %" for v in PAPER[way][str(data)])])
    return Table(f"Variance explained by {way}", ["data set", *METRICS], rows)


def transfer_rate(table: pd.DataFrame, kind: str) -> float:
    return choosing.transfer(table, METRICS, other_data=kind != "new seed", other_score=kind.endswith("metric"))


def transfers(table: pd.DataFrame) -> Table:
    rates, error = with_errors(table, lambda t: pd.DataFrame({"rate": {k: transfer_rate(t, k) for k in TRANSFERS}}))
    rows = [
        [kind, f"{rates['rate'][kind]:.1%} ± {100 * error['rate'][kind]:.1f}", f"{theirs:.1%}"]
        for kind, theirs in TRANSFERS.items()
    ]
    return Table("How often a transferred choice beats a random one", ["transferred to", "ours", "the study"], rows)


def newer_methods(table: pd.DataFrame, newer: pd.DataFrame) -> list[Table]:
    """Methods that the study does not have, by its metrics and by newer ones."""
    note = (
        "No claim rests on these runs. Ada-GVAE sees pairs of images; its rows have more supervision than the others."
    )
    return [
        _newer("Newer methods", table, newer, METRICS, note),
        _newer("Newer methods by newer metrics", table, newer, list(NEWER_METRICS), ""),
    ]


def _newer(title: str, table: pd.DataFrame, newer: pd.DataFrame, scores: list[str], note: str) -> Table:
    """Beside the methods, the study's best objective and strength by the mean of each score."""
    rows = []
    for data, part in table.groupby("data"):
        best = part.groupby(["objective", "strength"])[scores].mean().max()
        rows.append([str(data), "the best of the study's settings", *(f"{best[m]:.2f}" for m in scores)])
        for label, group in newer[newer["data"] == data].groupby("label", sort=False):
            cells = (f"{group[m].mean():.2f} ± {_half_width(group[m].to_numpy(float)):.2f}" for m in scores)
            rows.append([str(data), str(label), *cells])
    return Table(title, ["data set", "method", *scores], rows, note)


def over_steps(table: pd.DataFrame) -> Table:
    """Scores over the length of training, for one seed and one strength of each objective."""
    scores = [m for m in ("mig", "dci", "factor_vae_score") if m in table]
    rows = []
    for (data, objective), part in table.sort_values("steps").groupby(["data", "objective"]):
        cells = [", ".join(f"{v:.2f}" for v in part[m]) for m in scores]
        rows.append([data, objective, ", ".join(f"{n:,}" for n in part["steps"]), *cells])
    return Table("Over the length of training", ["data set", "objective", "steps", *scores], rows, "A reserved seed.")


def with_errors(table: pd.DataFrame, values: Frame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A frame of numbers of the table, and the half widths of their intervals."""
    seeds, whole = np.unique(table["seed"]), values(table)
    without = np.stack([values(table[table["seed"] != seed]).to_numpy(float) for seed in seeds])
    each = len(seeds) * whole.to_numpy(float) - (len(seeds) - 1) * without
    return whole, pd.DataFrame(np.apply_along_axis(_half_width, 0, each), whole.index, whole.columns)


def _half_width(values: np.ndarray) -> float:
    n = len(values)
    return float(student.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5) if n > 1 else float("nan")


def _correlations(title: str, part: pd.DataFrame, first: list[str]) -> Table:
    found, error = with_errors(part, lambda t: analyse.agreement(t, first, METRICS))
    rows = [
        [name, *("1" if name == m else f"{found[m][name]:.2f} ± {error[m][name]:.2f}" for m in METRICS)]
        for name in first
    ]
    return Table(title, ["", *METRICS], rows)


def _trends(table: pd.DataFrame, which: str) -> Table:
    score, rows = f"total_correlation.{which}", []
    for (data, objective), part in table.groupby(["data", "objective"]):
        found, error = with_errors(part, lambda t: pd.DataFrame([[analyse.spearman(t["strength"], t[score])]]))
        rows.append([data, objective, f"{found.iloc[0, 0]:+.2f} ± {error.iloc[0, 0]:.2f}"])
    title = f"Rank correlation of strength and total correlation of the {which} representation"
    return Table(title, ["data set", "objective", "rank correlation"], rows)
