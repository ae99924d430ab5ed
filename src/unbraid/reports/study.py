"""A study as one self-contained HTML page: seven analyses of all runs in a folder, with intervals over seeds.

It is made of what is there: of a study that is half done, or that lacks data sets, seeds or metrics, the page says what
cannot be shown yet, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unbraid.figures import study as study_figures
from unbraid.figures.svg import svg
from unbraid.reports.page import document
from unbraid.study import analyse
from unbraid.study.measured import Measured, gather
from unbraid.train.run import commit, write

REPLICATES = 200
CORRELATIONS = ("total_correlation.mean", "total_correlation.sampled")


def report(folder: Path) -> Path:
    """Writes report.html of all scored runs in a folder beside them, and gives its path."""
    evidence = gather(folder)
    sections = (_runs, _total_correlation, _agreement, _spread, _explained, _selection, _downstream, _udr)
    body = "".join(section(evidence) for section in sections)
    notes = "".join(f'<p class="warning">{escape(note)}</p>' for note in evidence.notes)
    title = f"The study {folder.resolve().name}"
    head = (
        f"<h1>{escape(title)}</h1><p class=note>Intervals are {analyse.LEVEL:.0%} by bootstrap over seeds "
        f"({REPLICATES} draws of whole seeds). With three seeds they are narrower than the truth. Made with commit "
        f"{escape(commit() or 'unknown')}.</p>{notes}"
    )
    path = folder / "report.html"
    write(path, document(title, head + body).encode())
    return path


def _runs(evidence: Measured) -> str:
    """What is there."""
    rows = []
    for (data, objective), part in evidence.table.groupby(["data", "objective"]):
        strengths = sorted(part["strength"].dropna().unique())
        names = part["strength_name"].dropna().unique()
        grid = f"{names[0]} {', '.join(f'{s:g}' for s in strengths)}" if len(names) == 1 else ""
        rows.append([data, objective, len(part), grid or f"{part['setting'].nunique()}", part["seed"].nunique()])
    cost = [c for c in ("seconds.train", "seconds.evaluate") if c in evidence.table]
    hours = float(evidence.table[cost].sum().sum()) / 3600
    return f"<h2>Runs</h2><p>{len(evidence.table)} scored runs, {hours:.1f} hours of one core.</p>" + _table(
        ["data set", "objective", "runs", "settings", "seeds"], rows
    )


def _total_correlation(evidence: Measured) -> str:
    title = "1. Total correlation against strength"
    kinds = [name for name in CORRELATIONS if name in evidence.table and evidence.table[name].notna().any()]
    if not kinds:
        return _cannot(title, "no run has a Gaussian code whose total correlation is known")
    table = evidence.table[evidence.table["strength"].notna()]
    if not (table.groupby(["data", "objective"])["strength"].nunique() > 1).any():
        return _cannot(title, "no objective has runs at two strengths (one number among its arguments that varies)")
    means = analyse.averages(table, kinds, ["data", "objective", "strength"], evidence.rng(), replicates=REPLICATES)
    means["which"] = [f"{kind.rpartition('.')[2]} representation" for kind in means["score"]]
    rows = []
    for kind in kinds:
        found = analyse.trend_with_strength(table, kind, evidence.rng(), replicates=REPLICATES)
        rows += [
            [r.data, r.objective, kind.rpartition(".")[2], _with(r.rho, r.low, r.high)] for r in found.itertuples()
        ]
    return (
        f"<h2>{title}</h2>{svg(study_figures.trends(means))}"
        "<p class=note>Total correlation in nats of a Gaussian with the covariance of the codes; mean over seeds. "
        "Regularisers act on the sampled code; metrics and users take the mean one.</p>"
        + _folded(
            "rank correlation of strength and total correlation",
            _table(["data set", "objective", "representation", "correlation"], rows),
        )
    )


def _agreement(evidence: Measured) -> str:
    title = "2. Do the metrics agree?"
    if len(evidence.metrics) < 2:
        return _cannot(title, f"it takes two metrics, and the runs have {len(evidence.metrics)}")
    return _correlated(title, evidence, evidence.metrics, evidence.metrics, "Spearman's rank correlation over runs.")


def _spread(evidence: Measured) -> str:
    title = "3. Scores by objective and by strength"
    if not evidence.metrics:
        return _cannot(title, "no metric was scored against factors")
    text = f"<h2>{title}</h2>"
    for data, part in evidence.parts():
        part = part.assign(choice=[f"{o} {s}".strip() for o, s in zip(part["objective"], part["setting"], strict=True)])
        text += f"<h3>{escape(data)}</h3>" + svg(study_figures.violins(part, evidence.metrics, "objective"))
        if (part.groupby("objective")["choice"].nunique() > 1).any():
            text += svg(study_figures.violins(part, evidence.metrics, "choice"))
    rows = []
    keys = ["data", "objective", "setting"]
    means = analyse.averages(evidence.table, evidence.metrics, keys, evidence.rng(), replicates=REPLICATES)
    for metric in evidence.metrics:
        both = means[means["score"] == metric].merge(analyse.spread(evidence.table, metric, keys), on=keys)
        for row in both.to_dict("records"):
            ranges = [_number(row[q]) for q in ("10 %", "median", "90 %")]
            mean = _with(row["mean"], row["low"], row["high"])
            rows.append([metric, row["data"], row["objective"], row["setting"], mean, *ranges])
    columns = ["metric", "data set", "objective", "setting", "mean", "10 %", "median", "90 %"]
    note = "<p class=note>A dot is a run; the bar spans 10 to 90 %.</p>"
    return text + note + _folded("means and quantiles", _table(columns, rows))


def _explained(evidence: Measured) -> str:
    title = "4. What explains a score?"
    if not evidence.metrics or evidence.table["objective"].nunique() < 2:
        return _cannot(title, "it takes a metric, and runs of two objectives")
    if len(evidence.table) == evidence.table.groupby(["data", "objective", "setting"], dropna=False).ngroups:
        return _cannot(title, "no setting has two seeds, so that nothing is left for the seed to explain")
    ways = {"objective": ["objective"], "both": ["objective", "setting"]}
    rows = []
    for data, part in evidence.parts():
        columns = part[["seed", "objective", "setting", *evidence.metrics]]
        found, low, high = analyse.intervals(
            columns, lambda t: analyse.shares(t, evidence.metrics, ways), evidence.rng(), REPLICATES
        )
        for metric in evidence.metrics:
            cells: list[Any] = [data, metric]
            for way, by in ways.items():
                chance = analyse.explained_by_chance(part, metric, by, evidence.rng(), 50)
                value, least, most = (float(frame.loc[metric, way]) for frame in (found, low, high))
                cells += [_with(value, least, most, "%"), f"{chance:.0%}"]
            rows.append(cells)
    return (
        f"<h2>{title}</h2>"
        + _table(["data set", "metric", "objective", "by chance", "objective and setting", "by chance"], rows)
        + "<p class=note>The share of a score's variance over runs that a regression on one-hot codes explains; the "
        "rest is the seed's. By chance: what as many groups explain of shuffled scores. A draw with repeated seeds "
        "leaves less to the seed, so these intervals lie high.</p>"
    )


def _selection(evidence: Measured) -> str:
    title = "5. Choosing a model without labels, or from elsewhere"
    if not evidence.metrics:
        return _cannot(title, "no metric was scored against factors")
    text = f"<h2>{title}</h2>"
    guides = {name: sign for name, sign in evidence.guides.items() if name != "udr"}
    if guides:
        text += _correlated("", evidence, list(guides), evidence.metrics, "What needs no labels against what does.")
        text += _chosen(evidence, guides)
    else:
        text += "<p class=note>No run has an ELBO, a reconstruction, a KL or a total correlation to choose by.</p>"
    return text + _transferred(evidence)


def _transferred(evidence: Measured) -> str:
    if evidence.table["seed"].nunique() < 2:
        return "<p class=note>Transfer of settings cannot be shown: it takes two seeds.</p>"
    kinds = {
        "same data set, same metric": (False, False),
        "same data set, another metric": (False, True),
        "another data set, same metric": (True, False),
        "another data set, another metric": (True, True),
    }
    rows, missing = [], []
    for name, (data, score) in kinds.items():
        found = analyse.transfer_over_seeds(
            evidence.table, evidence.metrics, evidence.rng(), other_data=data, other_score=score, replicates=REPLICATES
        )
        if np.isfinite(found[0]):
            rows.append([name, _with(*found, "%")])
        else:
            missing.append(name)
    lost = f" Not shown, for want of data sets, metrics or whole settings: {'; '.join(missing)}." if missing else ""
    return (
        (_table(["the best setting, on another seed and", "beats a random setting in"], rows) if rows else "")
        + "<p class=note>The setting that is best by one metric on one data set with one seed, against every other "
        f"setting where it is taken to; a random choice wins 50 %.{lost}</p>"
    )


def _downstream(evidence: Measured) -> str:
    title = "6. Do scores help downstream?"
    if not evidence.downstream or not evidence.metrics:
        return _cannot(title, "it takes the metric 'downstream' and another metric")
    ratios = [
        f"{label}: accuracy with {few:,} labels over {many:,}" for label, (few, many) in evidence.efficiency.items()
    ]
    note = "Metrics against accuracy with so many labels" + (
        f", and efficiency ({'; '.join(ratios)})." if ratios else "."
    )
    return _correlated(title, evidence, evidence.metrics, evidence.downstream, note)


def _udr(evidence: Measured) -> str:
    title = "7. UDR: the model whose latents other seeds find again"
    if "udr" not in evidence.guides:
        return _cannot(title, "no setting has two seeds whose codes are there")
    if not evidence.metrics:
        return _cannot(title, "no metric was scored against factors")
    return _correlated(title, evidence, ["udr"], evidence.metrics, "UDR against the metrics, over runs.") + _chosen(
        evidence, {"udr": 1}
    )


def _chosen(evidence: Measured, guides: Mapping[str, int]) -> str:
    """How good the run is that a guide would choose."""
    columns = evidence.table[["data", "seed", *guides, *evidence.metrics]]

    def rates(t: pd.DataFrame) -> pd.DataFrame:
        found = analyse.choices(t, guides, evidence.metrics)
        return found.assign(mean=found.mean(axis=1))

    found, low, high = analyse.intervals(columns, rates, evidence.rng(), REPLICATES)
    rows = [
        [f"{'most' if sign > 0 else 'least'} {guide}", *_cells(found.loc[guide], low.loc[guide], high.loc[guide], "%")]
        for guide, sign in guides.items()
    ]
    return (
        _table(["the run with the", *evidence.metrics, "mean"], rows)
        + "<p class=note>The share of the other runs on its data set that the chosen run beats; a random run beats "
        "50 %.</p>"
    )


def _correlated(title: str, evidence: Measured, first: Sequence[str], second: Sequence[str], note: str) -> str:
    """A picture of rank correlations on each data set, and their intervals in a table."""
    matrices, rows = {}, []
    for data, part in evidence.parts():
        columns = part[["seed", *dict.fromkeys([*first, *second])]]
        found, low, high = analyse.intervals(
            columns, lambda t: analyse.agreement(t, first, second), evidence.rng(), REPLICATES
        )
        matrices[data] = found
        rows += [[data, name, *_cells(found.loc[name], low.loc[name], high.loc[name])] for name in first]
    heading = f"<h2>{title}</h2>" if title else ""
    if not any(np.isfinite(matrix.to_numpy(float)).any() for matrix in matrices.values()):
        return heading + "<p class=note>Rank correlations cannot be shown: they take three runs that differ.</p>"
    return (
        f"{heading}{svg(study_figures.correlations(matrices))}<p class=note>{escape(note)} In hundredths.</p>"
        + _folded("the same with intervals", _table(["data set", "", *second], rows))
    )


def _cells(values: Iterable[float], low: Iterable[float], high: Iterable[float], unit: str = "") -> list[str]:
    return [_with(*each, unit) for each in zip(values, low, high, strict=True)]


def _with(value: float, low: float, high: float, unit: str = "") -> str:
    """A number and its interval."""
    if not np.isfinite(value):
        return ""
    scale, digits = (100, 0) if unit else (1, 2)
    text = f"{scale * value:.{digits}f}{' ' + unit if unit else ''}"
    return text + (f" ({scale * low:.{digits}f} to {scale * high:.{digits}f})" if np.isfinite(low + high) else "")


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f'<td class="number">{escape(str(c))}</td>' for c in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _cannot(title: str, why: str) -> str:
    return f"<h2>{title}</h2><p class=note>Cannot be shown yet: {escape(why)}.</p>"
