"""The analyses of a study, each a section of its page, with intervals over seeds, or why it cannot be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from unbraid.figures import charts
from unbraid.figures.parts import Cell, Charts, Folded, HeatMap, Note, Part, Section, Table
from unbraid.problems import PROBLEMS
from unbraid.problems.scores import aim_of
from unbraid.study import analyse, choosing
from unbraid.study.measured import Measured

REPLICATES = 200
LEADING = 4  # scores whose charts are not folded
FEW = "rank correlations take three runs that differ"
CORRELATIONS = ("total_correlation.mean", "total_correlation.sampled")


@dataclass(frozen=True)
class Missing:
    """An analysis that cannot be shown."""

    title: str
    why: str


def total_correlation(evidence: Measured) -> Section | Missing:
    title = "Total correlation against strength"
    kinds = [name for name in CORRELATIONS if name in evidence.table and evidence.table[name].notna().any()]
    if not kinds:
        return Missing(title, "no run has a Gaussian code whose total correlation is known")
    table = evidence.table[evidence.table["strength"].notna()]
    if not (table.groupby(["data", "objective"])["strength"].nunique() > 1).any():
        return Missing(title, "no objective has runs at two strengths (one number among its arguments that varies)")
    means = analyse.averages(table, kinds, ["data", "objective", "strength"], evidence.rng(), replicates=REPLICATES)
    means["which"] = [f"{kind.rpartition('.')[2]} representation" for kind in means["score"]]
    rows: list[list[str | Cell]] = []
    for kind in kinds:
        found = analyse.trend_with_strength(table, kind, evidence.rng(), replicates=REPLICATES)
        rows += [
            [str(r.data), str(r.objective), kind.rpartition(".")[2], _with(r.rho, r.low, r.high)]
            for r in found.itertuples()
        ]
    note = Note(
        "Total correlation in nats of a Gaussian with the covariance of the codes; mean over seeds. Regularisers act "
        "on the sampled code; metrics and users take the mean one. Strengths stand in the order of an objective's grid."
    )
    correlations = Table(["data set", "objective", "representation", "correlation"], rows)
    folded = Folded("rank correlation of strength and total correlation", [correlations])
    return Section(title, [note, Charts(_trends(means)), folded], "Total correlation")


def _trends(means: pd.DataFrame) -> list[Part]:
    """A chart for each data set and each representation, a line for each objective."""
    colours = {name: colour for colour, name in enumerate(sorted(means["objective"].unique()))}
    drawn: list[Part] = []
    for (data, which), part in means[np.isfinite(means["mean"])].groupby(["data", "which"]):
        lines, names = {}, list[str]()
        for objective, each in part.groupby("objective"):
            rows = each.sort_values("strength")
            points = np.column_stack([np.arange(1, len(rows) + 1), rows[["mean", "low", "high"]].to_numpy(float)])
            lines[str(objective)] = (colours[objective], points)
            grid = [f"{strength:g}" for strength in rows["strength"]]
            names = grid if len(lines) == 1 else [str(i) for i in range(1, max(len(names), len(grid)) + 1)]
        drawn.append(charts.trend(f"{data}: {which}", lines, "nats", names))
    return drawn


def agreement(evidence: Measured) -> Section | Missing:
    title = "Do the metrics agree?"
    if len(evidence.metrics) < 2:
        return Missing(title, f"it takes two metrics, and the runs have {len(evidence.metrics)}")
    parts = _correlated(evidence, evidence.metrics, evidence.metrics, "Spearman's rank correlation over runs.")
    return Section(title, parts, "Agreement") if parts else Missing(title, FEW)


def scores(evidence: Measured) -> Section | Missing:
    title, names = "Scores", [*evidence.metrics, *evidence.others]
    if not names:
        return Missing(title, "no run was scored")
    leading = [name for problem in PROBLEMS for name in problem.headlines if name in names] or names
    leading = leading[:LEADING]
    others = [name for name in names if name not in leading]
    by = "choice" if evidence.labelled else "objective"
    colours = {name: colour for colour, name in enumerate(sorted(evidence.table["objective"].unique()))}
    parts: list[Part] = [Note("A dot is a run, the bar spans 10 to 90 %, the line is the median.")]
    for data, part in evidence.parts():
        if len(evidence.parts()) > 1:
            parts.append(Note(f"**{data}**"))
        parts.append(Charts(_spreads(part, leading, by, colours)))
        if more := _spreads(part, others, by, colours):
            parts.append(Folded(f"{len(more)} more {'score' if len(more) == 1 else 'scores'}", [Charts(more)]))
        several = (part.groupby("objective")["choice"].nunique() > 1).any()
        if several and not evidence.labelled:
            parts.append(Folded("the same by setting", [Charts(_spreads(part, names, "choice", colours))]))
        parts.append(Folded("means", [_means(evidence, part, names)]))
    return Section(title, parts)


def _means(evidence: Measured, part: pd.DataFrame, names: Sequence[str]) -> Table:
    """Means with intervals, a row for each choice and a column for each score."""
    means = analyse.averages(part, names, ["choice"], evidence.rng(), replicates=REPLICATES)
    cells = {
        (row["choice"], row["score"]): _with(row["mean"], row["low"], row["high"]) for row in means.to_dict("records")
    }
    kept = [name for name in names if any(cells[choice, name] for choice in part["choice"].unique())]
    counts = part.groupby("choice")["seed"].nunique()
    rows = [
        [choice, str(counts[choice]), *(cells[choice, name] for name in kept)] for choice in _ordered(part, "choice")
    ]
    return Table(["label" if evidence.labelled else "objective", "seeds", *map(_aimed, kept)], rows)


def _aimed(name: str) -> str:
    """A score's name with what is wanted of it, where that is not more."""
    wanted = {"low": " (low is good)", "chance": " (chance is good)"}
    return name + wanted.get(aim_of(name).best, "")


def _ordered(part: pd.DataFrame, by: str) -> list[str]:
    """The groups of a table, those of one objective together and from weak to strong."""
    return list(part.sort_values(["objective", "strength", by]).drop_duplicates(by)[by])


def _spreads(part: pd.DataFrame, names: Sequence[str], by: str, colours: Mapping[str, int]) -> list[Part]:
    """A chart for each score, a row for each group; groups of one objective have one colour."""
    groups = {name: part[part[by] == name] for name in _ordered(part, by)}
    drawn: list[Part] = []
    for name in names:
        rows = []
        for group, runs in groups.items():
            values = runs[name].to_numpy(float)
            if np.isfinite(values).any():
                rows.append((str(group), colours[runs["objective"].iloc[0]], values[np.isfinite(values)]))
        if rows:
            drawn.append(charts.spread(_aimed(name), rows))
    return drawn


def explained(evidence: Measured) -> Section | Missing:
    title = "What explains a score?"
    if not evidence.metrics or evidence.table["objective"].nunique() < 2:
        return Missing(title, "it takes a score of which more is better, and runs of two objectives")
    if len(evidence.table) == evidence.table.groupby(["data", "objective", "choice"]).ngroups:
        return Missing(title, "no setting has two seeds, so that nothing is left for the seed to explain")
    ways = {"objective": ["objective"], "both": ["objective", "choice"]}
    rows: list[list[str | Cell]] = []
    for data, part in evidence.parts():
        columns = part[["seed", "objective", "choice", *evidence.metrics]]
        found, low, high = analyse.intervals(
            columns, lambda t: analyse.shares(t, evidence.metrics, ways), evidence.rng(), REPLICATES
        )
        for metric in evidence.metrics:
            cells: list[str | Cell] = [data, metric]
            for way, by in ways.items():
                chance = analyse.explained_by_chance(part, metric, by, evidence.rng(), 50)
                value, least, most = (float(frame.loc[metric, way]) for frame in (found, low, high))
                cells += [_with(value, least, most, "%"), _with(chance, np.nan, np.nan, "%")]
            rows.append(cells)
    note = Note(
        "The share of a score's variance over runs that a regression on one-hot codes explains; the rest is the "
        "seed's. By chance: what as many groups explain of shuffled scores. A draw with repeated seeds leaves less to "
        "the seed, so these intervals lie high."
    )
    columns = ["data set", "metric", "objective", "by chance", "objective and setting", "by chance"]
    return Section(title, [Table(columns, rows), note], "Explained")


def selection(evidence: Measured) -> Section | Missing:
    title = "Choosing a model without labels, or from elsewhere"
    if not evidence.metrics:
        return Missing(title, "no run has a score of which more is better")
    guides = {name: sign for name, sign in evidence.guides.items() if name != "udr"}
    parts: list[Part] = [Note("No run has an ELBO, a reconstruction, a KL or a total correlation to choose by.")]
    if guides:
        parts = _correlated(evidence, list(guides), evidence.metrics, "What needs no labels against what does.")
        if not parts:
            return Missing(title, FEW)
        parts += _chosen(evidence, guides)
    return Section(title, [*parts, *_transferred(evidence)], "Selection")


def _transferred(evidence: Measured) -> list[Part]:
    if evidence.table["seed"].nunique() < 2:
        return [Note("Transfer of settings cannot be shown: it takes two seeds.")]
    kinds = {
        "same data set, same metric": (False, False),
        "same data set, another metric": (False, True),
        "another data set, same metric": (True, False),
        "another data set, another metric": (True, True),
    }
    rows, missing = [], []
    for name, (data, score) in kinds.items():
        found = choosing.transfer_over_seeds(
            evidence.table, evidence.metrics, evidence.rng(), other_data=data, other_score=score, replicates=REPLICATES
        )
        if np.isfinite(found[0]):
            rows.append([name, _with(*found, "%")])
        else:
            missing.append(name)
    lost = f" Not shown, for want of data sets, metrics or whole settings: {'; '.join(missing)}." if missing else ""
    note = Note(
        "The setting that is best by one metric on one data set with one seed, against every other setting where it is "
        f"taken to; a random choice wins 50 %.{lost}"
    )
    table = Table(["the best setting, on another seed and", "beats a random setting in"], rows)
    return [table, note] if rows else [note]


def downstream(evidence: Measured) -> Section | Missing:
    title = "Do scores help downstream?"
    if not evidence.downstream or not evidence.metrics:
        return Missing(title, "it takes the metric 'downstream' and another metric")
    ratios = [
        f"{label}: accuracy with {few:,} labels over {many:,}" for label, (few, many) in evidence.efficiency.items()
    ]
    note = "Metrics against accuracy with so many labels" + (
        f", and efficiency ({'; '.join(ratios)})." if ratios else "."
    )
    parts = _correlated(evidence, evidence.metrics, evidence.downstream, note)
    return Section(title, parts, "Downstream") if parts else Missing(title, FEW)


def udr(evidence: Measured) -> Section | Missing:
    title = "UDR: the model whose latents other seeds find again"
    if "udr" not in evidence.guides:
        return Missing(title, "no setting has two seeds whose codes are there")
    if not evidence.metrics:
        return Missing(title, "no run has a score of which more is better")
    parts = _correlated(evidence, ["udr"], evidence.metrics, "UDR against the metrics, over runs.")
    if not parts:
        return Missing(title, FEW)
    return Section(title, [*parts, *_chosen(evidence, {"udr": 1})], "UDR")


def _chosen(evidence: Measured, guides: Mapping[str, int]) -> list[Part]:
    """How good the run is that a guide would choose."""
    columns = evidence.table[["data", "seed", *guides, *evidence.metrics]]

    def rates(t: pd.DataFrame) -> pd.DataFrame:
        found = choosing.choices(t, guides, evidence.metrics)
        return found.assign(mean=found.mean(axis=1))

    found, low, high = analyse.intervals(columns, rates, evidence.rng(), REPLICATES)
    rows = [
        [f"{'most' if sign > 0 else 'least'} {guide}", *_cells(found.loc[guide], low.loc[guide], high.loc[guide], "%")]
        for guide, sign in guides.items()
    ]
    note = "The share of the other runs on its data set that the chosen run beats; a random run beats 50 %."
    return [Table(["the run with the", *evidence.metrics, "mean"], rows), Note(note)]


def _correlated(evidence: Measured, first: Sequence[str], second: Sequence[str], note: str) -> list[Part]:
    """A heat map of rank correlations on each data set, and their intervals in a table."""
    maps: list[Part] = []
    rows: list[list[str | Cell]] = []
    for data, part in evidence.parts():
        columns = part[["seed", *dict.fromkeys([*first, *second])]]
        found, low, high = analyse.intervals(
            columns, lambda t: analyse.agreement(t, first, second), evidence.rng(), REPLICATES
        )
        matrix = found.to_numpy(float)
        if np.isfinite(matrix).any():
            maps.append(HeatMap(matrix, list(found.index), list(found.columns), "hundredths", data, 0, 100, full=1))
        rows += [[data, name, *_cells(found.loc[name], low.loc[name], high.loc[name])] for name in first]
    if not maps:
        return []
    table = Folded("the same with intervals", [Table(["data set", "", *second], rows)])
    return [Note(note), Charts(maps), table]


def _cells(values: Iterable[float], low: Iterable[float], high: Iterable[float], unit: str = "") -> list[str]:
    return [_with(*each, unit) for each in zip(values, low, high, strict=True)]


def _with(value: float, low: float, high: float, unit: str = "") -> str:
    """A number and its interval."""
    if not np.isfinite(value):
        return ""
    scale, digits = (100, 0) if unit else (1, 2)
    text = f"{scale * value:.{digits}f}{' ' + unit if unit else ''}"
    return text + (f" ({scale * low:.{digits}f} to {scale * high:.{digits}f})" if np.isfinite(low + high) else "")


def number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ""


ALL = (scores, agreement, explained, total_correlation, selection, downstream, udr)
