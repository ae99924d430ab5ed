"""The study's figures 1, 2, 3, 5 and 6 on our runs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.study import analyse
from unbraid.train.run import write

from . import charts
from .tables import FLOOR, METRICS, downstream_columns


def draw(table: pd.DataFrame, folder: Path, labels: tuple[int, int]) -> list[tuple[str, str]]:
    """Writes the pictures into `folder`, and gives captions with paths relative to the folder above it.

    Args:
        labels: of the two accuracies downstream whose ratio is the efficiency
    """
    folder.mkdir(parents=True, exist_ok=True)
    few, many = labels
    task = f"logistic regression on {few:,} and {many:,} labels"
    parts = {str(data): part for data, part in table.groupby("data")}
    agreement = {data: analyse.agreement(part, METRICS) for data, part in parts.items()}
    tasks = {data: analyse.agreement(part, METRICS, downstream_columns(table)) for data, part in parts.items()}
    pictures = {
        "total_correlation": (
            "Figure 1: total correlation of the sampled and of the mean representation; lines and bands: means of the "
            "logarithm and their intervals over seeds; below the dashed line lies noise (the study leaves annealed_vae "
            "out)",
            charts.trends(total_correlations(table), FLOOR),
        ),
        "agreement": (
            "Figure 2: rank correlation of the metrics, in hundredths",
            charts.correlations(agreement),
        ),
        "downstream": (
            f"Figure 5: rank correlation of metrics with accuracy downstream and with efficiency ({task})",
            charts.correlations(tasks),
        ),
        "efficiency": (
            f"Figure 6: efficiency, the ratio of accuracies with few and with many labels, against the FactorVAE score "
            f"({task})",
            charts.scatter(table, "factor_vae_score", "downstream.efficiency"),
        ),
    }
    for data, part in parts.items():
        caption = f"Figure 3, left: scores on {data} by objective; a dot is a run, the bar spans 10 to 90 %"
        pictures[f"scores_{data}"] = (caption, charts.violins(part, METRICS, "objective"))
        own = part[part["objective"] == "factor_vae"]
        if not len(own):
            continue
        own = own.assign(gamma=[f"gamma {strength:g}" for strength in own["strength"]])
        caption = f"Figure 3, right: scores of FactorVAE on {data} by strength, so that only the seed differs"
        pictures[f"strengths_{data}"] = (caption, charts.violins(own, METRICS, "gamma"))
    for name, (_, figure) in pictures.items():
        buffer = BytesIO()
        figure.savefig(buffer, dpi=110)
        write(folder / f"{name}.png", buffer.getvalue())
    return [(caption, f"{folder.name}/{name}.png") for name, (caption, _) in pictures.items()]


def total_correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Geometric means over seeds with the ends of their intervals, as they stand on an axis of logarithms.

    Columns: data, objective, strength, which, mean, low, high.
    """
    rows = []
    for which in ("sampled", "mean"):
        for (data, objective, strength), part in table.groupby(["data", "objective", "strength"]):
            logs = part[["seed"]].assign(log=np.log(part[f"total_correlation.{which}"].clip(lower=FLOOR / 10)))
            found, error = analyse.jackknife(logs, lambda t: t[["log"]].mean().to_frame())
            mean, half = float(found.iloc[0, 0]), float(error.iloc[0, 0])
            ends = np.exp([mean, mean - half, mean + half]).tolist()
            rows.append([data, objective, strength, f"{which} representation", *ends])
    return pd.DataFrame(rows, columns=["data", "objective", "strength", "which", "mean", "low", "high"])
