"""A study as one self-contained HTML page: its scores, and analyses of all runs in a folder, with intervals over seeds.

It is made of what is there: of a study that is half done, or that lacks data sets, seeds or metrics, the page ends with
what cannot be shown, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from unbraid.figures.parts import Cell, Note, Part, Section, Table
from unbraid.reports import analyses, render
from unbraid.reports.page import FILE
from unbraid.study import analyse
from unbraid.study.measured import Measured, gather
from unbraid.train.run import commit, write

BEST = 5  # runs in the table of the best
LEADING = ("mig", "dci", "factor_vae_score")  # the metric that runs are sorted by, the first that was taken


def report(folder: Path) -> Path:
    """Writes report.html of all scored runs in a folder beside them, and gives its path."""
    evidence = gather(folder)
    made = [analysis(evidence) for analysis in analyses.ALL]
    shown = [section for section in made if isinstance(section, Section)]
    missing = [each for each in made if isinstance(each, analyses.Missing)]
    sections = [*shown[:1], *_best(evidence, folder), *shown[1:], _runs(evidence), *_missing(missing)]
    about = (
        f"Intervals are {100 * analyse.LEVEL:.0f} % by bootstrap over seeds ({analyses.REPLICATES} draws of whole "
        f"seeds). With few seeds they are narrower than the truth. Made with commit {commit() or 'unknown'}."
    )
    title = f"The study {folder.resolve().name}"
    path = folder / FILE
    known = {"facts": [_amount(evidence)], "about": about, "notes": evidence.notes}
    write(path, render.page("study.html", title=title, sections=sections, **known))
    return path


def _amount(evidence: Measured) -> str:
    cost = [c for c in ("seconds.train", "seconds.evaluate") if c in evidence.table]
    seconds = float(evidence.table[cost].sum().sum())
    return counted(len(evidence.table), "scored") + (f", {spoken(seconds)} of one core" if seconds else "")


def counted(number: int, kind: str = "") -> str:
    """'1 run', '2 runs', '2 scored runs'."""
    return " ".join(filter(None, [f"{number:,}", kind, "run" if number == 1 else "runs"]))


def spoken(seconds: float) -> str:
    """A time in the unit that a person would choose."""
    for unit, size, least in (("days", 86400.0, 3), ("hours", 3600.0, 1.5), ("minutes", 60.0, 1.5)):
        if seconds >= least * size:
            return f"{seconds / size:.0f} {unit}" if unit == "minutes" else f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _best(evidence: Measured, folder: Path) -> list[Section]:
    """The best runs by the first metric that leads, with links to their pages."""
    if not evidence.metrics:
        return []
    by = next((name for name in LEADING if name in evidence.metrics), evidence.metrics[0])
    tables: list[Part] = []
    for data, part in evidence.parts():
        ordered = part.dropna(subset=[by]).sort_values(by, ascending=False)
        rows: list[list[str | Cell]] = [
            [
                Cell(str(row["choice"]), link=link_to(folder, str(row["run"])), more=f"seed {row['seed']}"),
                *(Cell(analyses.number(row[metric]), bold=metric == by) for metric in evidence.metrics),
            ]
            for row in ordered.head(BEST).to_dict("records")
        ]
        tables += [Note(f"**{data}**: the best of {counted(len(ordered))} by {by}")]
        tables += [Table(["run", *evidence.metrics], rows)]
    return [Section("The best runs", tables, "Best runs")]


def link_to(folder: Path, run: str) -> str:
    """The page of a run, or its directory where it has none."""
    name = quote(run)
    return f"{name}/{FILE}" if (folder / run / FILE).exists() else f"{name}/"


def _missing(missing: Sequence[analyses.Missing]) -> list[Section]:
    rows = [[each.title, f"{each.why}."] for each in missing]
    return (
        [Section("What cannot be shown", [Table(["analysis", "why"], rows, prose=True)], "Not shown")] if rows else []
    )


def _runs(evidence: Measured) -> Section:
    """What is there."""
    rows: list[list[str | Cell]] = []
    for (data, objective), part in evidence.table.groupby(["data", "objective"]):
        strengths = sorted(part["strength"].dropna().unique())
        names = part["strength_name"].dropna().unique()
        grid = f"{names[0]} {', '.join(f'{s:g}' for s in strengths)}" if len(names) == 1 else ""
        settings = grid or str(part["setting"].nunique())
        rows.append([str(data), str(objective), str(len(part)), settings, str(part["seed"].nunique())])
    table = Table(["data set", "objective", "runs", "settings", "seeds"], rows)
    return Section("All runs", [Note(f"{_amount(evidence)}."), table])
