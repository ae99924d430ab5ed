"""The study's figures: total correlation against strength, distributions of scores, agreement of metrics."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.figures import study as study_figures
from unbraid.study import analyse
from unbraid.train.run import write

REPLICATES = 200


def draw(table: pd.DataFrame, metrics: list[str], folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures into `folder`, and gives captions with paths relative to the folder above it."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = ["total_correlation.mean", "total_correlation.sampled"]
    keys = ["data", "objective", "strength"]
    means = analyse.averages(table, kinds, keys, np.random.default_rng(0), replicates=REPLICATES)
    means["which"] = [f"{kind.rpartition('.')[2]} representation" for kind in means["score"]]
    agreement = {str(data): analyse.agreement(part, metrics) for data, part in table.groupby("data")}
    pictures = {
        "total_correlation": (
            "Total correlation of the mean and of the sampled representation; bands are intervals over seeds",
            study_figures.trends(means),
        ),
        "agreement": ("Rank correlation of the metrics, in hundredths", study_figures.correlations(agreement)),
    }
    for data, part in table.groupby("data"):
        caption = f"Scores on {data} by objective; a dot is a run, the bar spans 10 to 90 %"
        pictures[f"scores_{data}"] = (caption, study_figures.violins(part, metrics, "objective"))
    for name, (_, figure) in pictures.items():
        buffer = BytesIO()
        figure.savefig(buffer, dpi=110)
        write(folder / f"{name}.png", buffer.getvalue())
    return [(caption, f"{folder.name}/{name}.png") for name, (caption, _) in pictures.items()]
