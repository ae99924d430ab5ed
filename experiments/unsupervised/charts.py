"""The figures of a study: total correlation against strength, distributions of scores, rank correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unbraid.figures.pictures import INK, new_figure

DOTS = 200  # runs in a violin, above which they are not drawn one by one
ENOUGH = 8  # runs for a violin; fewer are dots
ACROSS = 2  # charts in a row

Matrix = NDArray[np.float64]


def trends(means: pd.DataFrame, floor: float) -> Any:
    """Rows of data, objective, strength, which, mean, low and high: a chart for each data set and each of `which`.

    Args:
        floor: what is estimated of independent codes
    """
    data, kinds = sorted(means["data"].unique()), list(means["which"].unique())
    figure = new_figure(9, 3.2 * len(data) + 0.4)
    lines: dict[str, Any] = {}
    for row, name in enumerate(data):
        for column, which in enumerate(kinds):
            axis = figure.add_subplot(len(data), len(kinds), len(kinds) * row + column + 1)
            part = means[(means["data"] == name) & (means["which"] == which)]
            for objective, each in part.groupby("objective"):
                each = each.sort_values("strength")
                middle, low, high = (each[c].to_numpy(float) for c in ("mean", "low", "high"))
                places = np.arange(1, len(each) + 1)
                (line,) = axis.plot(places, middle, marker="o", markersize=4, label=objective)
                lines.setdefault(str(objective), line)
                line.set_color(lines[str(objective)].get_color())
                axis.fill_between(
                    places, np.maximum(low, floor / 10), high, color=line.get_color(), alpha=0.15, linewidth=0
                )
            most = max((len(each) for _, each in part.groupby("objective")), default=1)
            axis.set_xticks(range(1, most + 1))
            axis.set_xlabel("strength: its place in the objective's grid", fontsize=8)
            axis.set_title(f"{name}: {which}", fontsize=9, loc="left")
            axis.set_ylabel("nats", fontsize=8)
            axis.set_yscale("log")
            axis.set_ylim(bottom=floor / 10)
            axis.axhline(floor, color=INK, linewidth=0.8, linestyle="--")
    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def violins(part: pd.DataFrame, scores: Sequence[str], by: str) -> Any:
    """A chart for each score, a violin for each group; a dot is a run, the bar spans 10 to 90 %.

    Groups of one objective have one colour.
    """
    import matplotlib

    groups = part.drop_duplicates(by).sort_values(["objective", "strength"])
    names, owners = groups[by].tolist(), groups["objective"].tolist()
    objectives = sorted(set(owners))
    colours = matplotlib.colormaps["tab10"]
    rows = -(-len(scores) // ACROSS)
    figure = new_figure(4.0 * min(len(scores), ACROSS), (2.1 + 0.055 * max(map(len, names))) * rows)
    for place, score in enumerate(scores, 1):
        axis = figure.add_subplot(rows, min(len(scores), ACROSS), place)
        for x, (name, objective) in enumerate(zip(names, owners, strict=True), 1):
            values = part.loc[part[by] == name, score].to_numpy(float)
            _violin(axis, x, values[np.isfinite(values)], colours(objectives.index(objective) % 10))
        axis.set_title(score, fontsize=9, loc="left")
        axis.set_xlim(0.3, len(names) + 0.7)
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 10 else {}
        axis.set_xticks(range(1, len(names) + 1), names, fontsize=8, **turned)
        axis.tick_params(axis="y", labelsize=7)
    return figure


def _violin(axis: Any, x: int, values: Matrix, colour: Any) -> None:
    if not len(values):
        return
    if len(values) >= ENOUGH and np.ptp(values) > 0:
        for body in axis.violinplot([values], [x], widths=0.8, showextrema=False)["bodies"]:
            body.set_facecolor(colour)
    if len(values) <= DOTS:
        axis.plot(np.full(len(values), x), values, ".", markersize=4 if len(values) < ENOUGH else 3, color=INK)
    axis.vlines(x, *np.quantile(values, [0.1, 0.9]), color=colour if len(values) < ENOUGH else INK, linewidth=1)


def scatter(table: pd.DataFrame, x: str, y: str) -> Any:
    """A chart for each data set: a dot is a run, its colour the objective."""
    data, objectives = sorted(table["data"].unique()), sorted(table["objective"].unique())
    rows = -(-len(data) // ACROSS)
    figure = new_figure(4.0 * min(len(data), ACROSS), 3.2 * rows + 0.4)
    for place, name in enumerate(data, 1):
        axis = figure.add_subplot(rows, min(len(data), ACROSS), place)
        for objective in objectives:
            part = table[(table["data"] == name) & (table["objective"] == objective)]
            axis.plot(part[x], part[y], ".", markersize=6, alpha=0.7, label=objective)
        axis.set_title(name, fontsize=9, loc="left")
        axis.set_xlabel(x, fontsize=8)
        axis.set_ylabel(y, fontsize=8)
        axis.tick_params(labelsize=7)
    lines, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def correlations(matrices: dict[str, pd.DataFrame]) -> Any:
    """Matrices of rank correlations side by side, in hundredths; what is unknown stays white."""
    rows, columns = (max(each.shape[axis] for each in matrices.values()) for axis in (0, 1))
    across = 1 if columns > 8 else min(len(matrices), 2)
    down = -(-len(matrices) // across)
    figure = new_figure((1.8 + 0.55 * columns) * across, (1.4 + 0.32 * rows) * down)
    for place, (title, matrix) in enumerate(matrices.items(), 1):
        axis = figure.add_subplot(down, across, place)
        axis.imshow(matrix.to_numpy(float), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(matrix.to_numpy(float)):
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.7 else INK
                axis.text(j, i, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color=colour)
        axis.set_xticks(range(matrix.shape[1]), list(matrix.columns), rotation=40, ha="right", fontsize=7)
        axis.set_yticks(range(matrix.shape[0]), list(matrix.index), fontsize=7)
        axis.tick_params(length=0)
        axis.set_title(title, fontsize=9, loc="left")
    return figure
