"""The study's figures: total correlation against strength, distributions of scores, agreement of metrics."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.reports.figures import new_figure
from unbraid.run import write
from unbraid.study import analyse


def draw(table: pd.DataFrame, metrics: list[str], folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures into `folder`, and gives captions with paths relative to the folder above it."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "total_correlation": ("Total correlation of the mean and of the sampled representation", _trends(table)),
        "scores": ("Scores by objective; a dot is a run, the bar spans 10 to 90 %", _scores(table, metrics)),
        "agreement": ("Rank correlation of the metrics", _agreement(table, metrics)),
    }
    for name, (_, figure) in pictures.items():
        path = folder / f"{name}.png"
        buffer = BytesIO()
        figure.savefig(buffer, dpi=110)
        write(path, buffer.getvalue())
    return [(caption, f"{folder.name}/{name}.png") for name, (caption, _) in pictures.items()]


def _trends(table: pd.DataFrame) -> Any:
    data = sorted(table["data"].unique())
    figure = new_figure(9, 3.2 * len(data))
    for row, name in enumerate(data):
        for column, which in enumerate(("mean", "sampled")):
            axis = figure.add_subplot(len(data), 2, 2 * row + column + 1)
            for objective, part in table[table["data"] == name].groupby("objective"):
                means = part.groupby("strength")[f"total_correlation.{which}"].mean()
                axis.plot(range(len(means)), means.to_numpy(), marker="o", label=objective)
            axis.set_xticks([0, 1, 2], ["weak", "medium", "strong"])
            axis.set_title(f"{name}, {which}", fontsize=9)
            axis.set_ylabel("nats")
            axis.set_yscale("symlog", linthresh=0.1)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _scores(table: pd.DataFrame, metrics: list[str]) -> Any:
    data, objectives = sorted(table["data"].unique()), sorted(table["objective"].unique())
    figure = new_figure(2.4 * len(metrics), 2.8 * len(data))
    for row, name in enumerate(data):
        for column, metric in enumerate(metrics):
            axis = figure.add_subplot(len(data), len(metrics), row * len(metrics) + column + 1)
            part = table[table["data"] == name]
            values = [part.loc[part["objective"] == o, metric].to_numpy(float) for o in objectives]
            axis.violinplot(values, showextrema=False)
            for place, each in enumerate(values, 1):
                axis.plot(np.full(len(each), place), each, ".", markersize=3, color="#1f2933")
                axis.vlines(place, *np.quantile(each, [0.1, 0.9]), color="#1f2933", linewidth=1)
            axis.set_title(f"{name}: {metric}", fontsize=8)
            axis.set_xticks(range(1, len(objectives) + 1), objectives, rotation=60, ha="right", fontsize=6)
            axis.tick_params(axis="y", labelsize=7)
    return figure


def _agreement(table: pd.DataFrame, metrics: list[str]) -> Any:
    data = sorted(table["data"].unique())
    figure = new_figure(4.6 * len(data), 4.2)
    for place, name in enumerate(data, 1):
        axis = figure.add_subplot(1, len(data), place)
        matrix = analyse.agreement(table[table["data"] == name], metrics).to_numpy()
        axis.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
        for (i, j), value in np.ndenumerate(matrix):
            axis.text(j, i, f"{100 * value:.0f}", ha="center", va="center", fontsize=8)
        axis.set_xticks(range(len(metrics)), metrics, rotation=45, ha="right", fontsize=8)
        axis.set_yticks(range(len(metrics)), metrics, fontsize=8)
        axis.set_title(name, fontsize=9)
    return figure
