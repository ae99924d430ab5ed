"""The study's figures 1, 2, 3, 5 and 6 on our runs."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.study import analyse
from unbraid.train.run import write

from . import charts
from .tables import METRICS, downstream_columns

REPLICATES = 200


def draw(table: pd.DataFrame, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures into `folder`, and gives captions with paths relative to the folder above it."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = ["total_correlation.mean", "total_correlation.sampled"]
    keys = ["data", "objective", "strength"]
    means = analyse.averages(table, kinds, keys, np.random.default_rng(0), replicates=REPLICATES)
    means["which"] = [f"{kind.rpartition('.')[2]} representation" for kind in means["score"]]
    parts = {str(data): part for data, part in table.groupby("data")}
    agreement = {data: analyse.agreement(part, METRICS) for data, part in parts.items()}
    tasks = {data: analyse.agreement(part, METRICS, downstream_columns(table)) for data, part in parts.items()}
    pictures = {
        "total_correlation": (
            "Figure 1: total correlation of the mean and of the sampled representation; bands are intervals over seeds",
            charts.trends(means),
        ),
        "agreement": (
            "Figure 2: rank correlation of the metrics, in hundredths",
            charts.correlations(agreement),
        ),
        "downstream": (
            "Figure 5: rank correlation of metrics with accuracy downstream by number of labels, and with efficiency",
            charts.correlations(tasks),
        ),
        "efficiency": (
            "Figure 6: efficiency (accuracy with few over accuracy with many labels) against the FactorVAE score",
            charts.scatter(table, "factor_vae_score", "downstream.efficiency"),
        ),
    }
    for data, part in parts.items():
        caption = f"Figure 3, left: scores on {data} by objective; a dot is a run, the bar spans 10 to 90 %"
        pictures[f"scores_{data}"] = (caption, charts.violins(part, METRICS, "objective"))
        own = part[part["objective"] == "factor_vae"]
        own = own.assign(gamma=[f"gamma {strength:g}" for strength in own["strength"]])
        caption = f"Figure 3, right: scores of FactorVAE on {data} by strength, so that only the seed differs"
        pictures[f"strengths_{data}"] = (caption, charts.violins(own, METRICS, "gamma"))
    for name, (_, figure) in pictures.items():
        buffer = BytesIO()
        figure.savefig(buffer, dpi=110)
        write(folder / f"{name}.png", buffer.getvalue())
    return [(caption, f"{folder.name}/{name}.png") for name, (caption, _) in pictures.items()]
