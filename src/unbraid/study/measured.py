"""What the runs in a folder have measured, sorted by what an analysis may use it for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.metrics.suite import available, metric_function, needs_factors
from unbraid.study.analyse import with_efficiency
from unbraid.study.collect import collect, wide
from unbraid.study.udr import with_udr

GUIDES = {"elbo": 1, "reconstruction": -1, "kl": -1, "total_correlation.mean": -1, "total_correlation.sampled": -1}
GUIDES |= {"translation": -1, "variation_predictability": 1}
UNPOOLED = ("run", "method", "objective", "data", "seed", "setting", "strength", "strength_name")


@dataclass(frozen=True)
class Measured:
    """The runs of a study, one in a row, and the columns that are scores of one kind or another."""

    table: pd.DataFrame
    metrics: list[str]  # against factors
    guides: dict[str, int]  # what is known without labels; -1 where less is better
    downstream: list[str]  # accuracies and efficiencies
    efficiency: dict[str, tuple[int, int]]  # numbers of labels
    notes: list[str]

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def parts(self) -> list[tuple[str, pd.DataFrame]]:
        return [(str(data), part) for data, part in self.table.groupby("data")]


def gather(folder: Path) -> Measured:
    """What the runs in a folder have measured."""
    tidy = collect(folder)
    known = set(available())
    scores = [name for name in tidy["metric"].unique() if name.partition(":")[0] in known]
    labels = [name for name in scores if name.partition(":")[0] == "downstream"]
    free = [name for name in scores if not needs_factors(metric_function(name.partition(":")[0]))]
    table = wide(tidy)
    pooled = _pooled(table, set(tidy["metric"]))
    table = with_udr(table, folder)
    table, efficiency = with_efficiency(table, labels)
    accuracies = [column for label in labels for column in table.columns if column.startswith(f"{label}.mean.")]
    accuracies.sort(key=lambda column: int(column.rpartition(".")[2]))
    guides = {name: sign for name, sign in GUIDES.items() if name in table}
    guides |= dict.fromkeys(free, -1) | ({"udr": 1} if table["udr"].notna().any() else {})
    notes = ["Only one seed is there: no interval can be given."] if table["seed"].nunique() < 2 else []
    if pooled:
        notes.append(f"Runs of one objective, setting and seed differ in {', '.join(pooled)}; they are pooled here.")
    return Measured(
        table=table,
        metrics=[name for name in scores if name not in [*labels, *free]],
        guides=guides,
        downstream=[*accuracies, *(f"{label}.efficiency" for label in efficiency)],
        efficiency=efficiency,
        notes=notes,
    )


def _pooled(table: pd.DataFrame, measured: set[str]) -> list[str]:
    """Arguments in which runs of one objective, setting, data set and seed differ."""
    groups = table.groupby(["data", "objective", "setting", "seed"], dropna=False)
    arguments = [name for name in table.columns if name not in measured and name not in UNPOOLED]
    return [name for name in arguments if (groups[name].nunique() > 1).any()]
