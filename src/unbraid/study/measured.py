"""What the runs in a folder have measured, sorted by what an analysis may use it for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid import catalogue
from unbraid.metrics.suite import available, metric_function, needs_factors
from unbraid.problems import PROBLEMS
from unbraid.problems.scores import aim_of, split_name
from unbraid.study.analyse import with_efficiency
from unbraid.study.collect import collect, wide
from unbraid.study.udr import with_udr

GUIDES = {"elbo": 1, "reconstruction": -1, "kl": -1, "total_correlation.mean": -1, "total_correlation.sampled": -1}
GUIDES |= {"translation": -1, "variation_predictability": 1}
NO_SCORES = ("active_units", "seconds")  # quantities and costs that rank no run
# columns that are no arguments, or that are described by those that analyses group by
UNPOOLED = ("run", "method", "objective", "data", "condition", "seed", "setting", "strength", "strength_name", "label")


@dataclass(frozen=True)
class Measured:
    """The runs of a study, one in a row, and the columns that are scores of one kind or another.

    A data set with other arguments is another one in the column `data`. The column `choice` is a run's label, where
    all runs have one, or else its objective and setting.
    """

    table: pd.DataFrame
    metrics: list[str]  # scores of which more is better
    others: list[str]  # scores that should be low or at chance, and the study's own measures
    guides: dict[str, int]  # what is known without labels; -1 where less is better
    downstream: list[str]  # accuracies and efficiencies
    efficiency: dict[str, tuple[int, int]]  # numbers of labels
    notes: list[str]
    labelled: bool

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def parts(self) -> list[tuple[str, pd.DataFrame]]:
        return [(str(data), part) for data, part in self.table.groupby("data")]


def gather(folder: Path) -> Measured:
    """What the runs in a folder have measured."""
    tidy = collect(folder)
    names = list(tidy["metric"].unique())
    scores = [name for name in names if _is_score(name)]
    labels = [name for name in scores if name.partition(":")[0] == "downstream"]
    free = [name for name in scores if _is_free(name)]
    ranked = [name for name in scores if name not in [*labels, *free, *GUIDES]]
    metrics = [name for name in ranked if aim_of(name).best == "high"]
    measures = [name for name in names if not _is_score(name.partition(".")[0]) and name not in GUIDES]
    measures = [name for name in measures if name.partition(".")[0] not in NO_SCORES]
    table = wide(tidy)
    labelled = "label" in table and bool(table["label"].notna().all())
    table["data"] = [f"{data} {condition}".strip() for data, condition in table[["data", "condition"]].to_numpy()]
    objectives = [f"{objective} {setting}".strip() for objective, setting in table[["objective", "setting"]].to_numpy()]
    table["choice"] = table["label"] if labelled else objectives
    pooled = _pooled(table, {*names, "choice"}, "choice" if labelled else "setting")
    table = with_udr(table, folder)
    table, efficiency = with_efficiency(table, labels)
    accuracies = [column for label in labels for column in table.columns if column.startswith(f"{label}.mean.")]
    accuracies.sort(key=lambda column: int(column.rpartition(".")[2]))
    guides = {name: sign for name, sign in GUIDES.items() if name in table}
    guides |= {name: 1 if aim_of(name).best == "high" else -1 for name in free} | (
        {"udr": 1} if table["udr"].notna().any() else {}
    )
    notes = ["Only one seed is there: no interval can be given."] if table["seed"].nunique() < 2 else []
    if pooled:
        kind = "label" if labelled else "objective, setting"
        notes.append(f"Runs of one {kind} and seed differ in {', '.join(pooled)}; they are pooled here.")
    return Measured(
        table=table,
        metrics=metrics,
        others=[*(name for name in ranked if name not in metrics), *measures],
        guides=guides,
        downstream=[*accuracies, *(f"{label}.efficiency" for label in efficiency)],
        efficiency=efficiency,
        notes=notes,
        labelled=labelled,
    )


def _is_score(name: str) -> bool:
    """Whether it is a score by itself, not a part of one."""
    plain = name.partition(":")[0]
    known = split_name(plain)[1] in catalogue.entries("metrics") or any(problem.knows(plain) for problem in PROBLEMS)
    return known and "." not in name


def _is_free(name: str) -> bool:
    """Whether a metric of codes needs no factors."""
    metric = split_name(name.partition(":")[0])[1]
    return metric in available() and not needs_factors(metric_function(metric))


def _pooled(table: pd.DataFrame, measured: set[str], by: str) -> list[str]:
    """Arguments in which runs of one choice, data set and seed differ."""
    groups = table.groupby(["data", "objective", by, "seed"], dropna=False)
    arguments = [name for name in table.columns if name not in measured and name not in UNPOOLED]
    return [name for name in arguments if (groups[name].nunique() > 1).any()]
