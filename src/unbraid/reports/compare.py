"""Runs side by side: scores, what differs in their arguments, traversals on one image and curves on one axis."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from unbraid.errors import UserError, unknown
from unbraid.figures import charts
from unbraid.figures.parts import Cell, Charts, Note, Part, Section, Strips, Table
from unbraid.problems import PROBLEMS
from unbraid.problems.contract import Page, Trained
from unbraid.problems.latents import strongest
from unbraid.problems.scores import aim_of
from unbraid.reports import render
from unbraid.reports.page import FILE, read_page
from unbraid.train import history
from unbraid.train.run import Run, write

SHOWN = 6  # runs of a folder whose traversals and curves are shown, the best first
STRONG = 4  # latents of each run
COLUMNS = 5  # metrics in a leaderboard
Score = dict[str, Any]  # as it stands in scores.json


@dataclass(frozen=True)
class Compared:
    """Runs in their order, with names that tell them apart."""

    runs: list[Run]
    names: list[str]
    differences: dict[str, list[str]]  # argument -> its value in each run, where that is not the same in all
    scores: dict[str, list[Score | None]]  # metric -> its score in each run
    by: str  # the metric that sorts a leaderboard; empty where the runs stand as they were named

    @property
    def metrics(self) -> list[str]:
        """The metric that sorts, then those that say most, then the others."""
        leading = [self.by, *(name for problem in PROBLEMS for name in problem.headlines)]
        return [name for name in dict.fromkeys([*leading, *self.scores]) if name in self.scores]

    def best(self, metric: str) -> set[int]:
        """The places of the runs with the best value, where several runs have one."""
        ranks = [rank(metric, score) for score in self.scores[metric]]
        known = [value for value in ranks if value is not None]
        return {i for i, value in enumerate(ranks) if value == max(known)} if len(known) > 1 else set()


def compare(paths: Sequence[Path | str], by: str | None = None) -> Compared:
    """The runs at these paths; of a folder all runs below it, sorted by a metric.

    Args:
        by: the metric that sorts them, the best first; unless given, folders are sorted by the one that says most
    """
    folders = [path for path in map(Path, paths) if not (path / "run.json").exists()]
    runs = [run for path in map(Path, paths) for run in _runs(path)]
    if len(runs) < 2:
        raise UserError(f"there is nothing to compare with {runs[0].path}: name another run, or a folder of runs")
    scores = _scores(runs)
    if by is not None and by not in scores:
        raise unknown("metric", by, list(scores)) if scores else UserError(f"no run has scores to sort by {by}")
    if folders and not scores:
        raise UserError(f"no run in {folders[0]} has scores: give it some with 'unbraid score RUN'")
    if by is None and folders:
        by = Compared(runs, [], {}, scores, "").metrics[0]
    if by is not None:
        ranks = [rank(by, score) for score in scores[by]]
        known = [(-float("inf") if value is None else value) for value in ranks]
        runs = [runs[i] for i in sorted(range(len(runs)), key=lambda i: -known[i])]
    differences = _differences(runs)
    return Compared(runs, _names(runs, differences), differences, _scores(runs), by or "")


def rank(metric: str, score: Score | None) -> float | None:
    """A number that is larger for a better score."""
    if score is None or score["value"] is None:
        return None
    value, best = float(score["value"]), aim_of(metric).best
    if best == "chance":
        return -abs(value - (score["null"] or 0.0))
    return value if best == "high" else -value


def told(score: Score | None, *, interval: bool = True) -> str:
    """A value with its interval."""
    if score is None or score["value"] is None:
        return ""
    reach = f" ({score['low']:.3f} to {score['high']:.3f})" if interval and score["low"] is not None else ""
    return f"{score['value']:.3f}{reach}"


def side_by_side(found: Compared) -> Table:
    """A row for each metric, a column for each run."""
    rows: list[list[str | Cell]] = []
    for metric in found.metrics:
        best = found.best(metric)
        cells = [Cell(told(score), bold=i in best) for i, score in enumerate(found.scores[metric])]
        rows.append([metric, *cells, aim_of(metric).best])
    return Table(["metric", *found.names, "wanted"], rows)


def leaderboard(found: Compared, out: Path | None = None) -> Table:
    """A row for each run, the best first; runs that have a page are linked from `out`."""
    metrics = found.metrics[:COLUMNS]
    rows: list[list[str | Cell]] = []
    for i, run in enumerate(found.runs):
        link = _link(run, out) if out else ""
        values = [Cell(told(found.scores[m][i], interval=m == found.by), bold=i in found.best(m)) for m in metrics]
        rows.append([Cell(run.path.name, link=link), *values, _own(found, i)])
    return Table(["run", *metrics, "arguments"], rows)


def _own(found: Compared, i: int) -> str:
    """The arguments in which a run differs from the others of its method and data set."""
    kind = [(run.plan.method, run.plan.data) for run in found.runs]
    alike = [j for j in range(len(kind)) if kind[j] == kind[i]]
    differ = {n: v for n, v in found.differences.items() if len({v[j] for j in alike}) > 1}
    return ", ".join(f"{name}={values[i]}" for name, values in differ.items())


def different(found: Compared) -> Table:
    """A row for each argument that is not the same in all runs."""
    return Table(["argument", *found.names], [[name, *values] for name, values in found.differences.items()])


def report(found: Compared, out: Path) -> Path:
    """Writes the comparison as one self-contained page, and gives its path."""
    if out.is_dir() or not out.parent.is_dir():
        raise UserError(f"{out} cannot be written: give --html the name of a file in a folder that exists")
    if found.by:
        sections = [Section(f"Sorted by {found.by}", [leaderboard(found, out)], "Leaderboard")]
    else:
        sections = [Section("Scores", [side_by_side(found), Note("The best is bold; intervals are 95 %.")])]
        same = Note("The runs have the same arguments.")
        sections.append(Section("What differs", [different(found) if found.differences else same]))
    few = replace(found, runs=found.runs[:SHOWN], names=found.names[:SHOWN])
    histories = [history.read(run.path / "history.csv") for run in few.runs]
    curves = charts.curves(dict(zip(few.names, histories, strict=True)))
    sections += _traversals(few)
    if curves:
        sections.append(Section("Training", [Charts(curves)]))
    which = f"the {'best' if found.by else 'first'} {SHOWN}"
    notes = [f"Traversals and curves are those of {which}."] if len(found.runs) > SHOWN else []
    title = f"{len(found.runs)} runs compared"
    facts = sorted({f"{run.plan.method} on {run.plan.data}" for run in found.runs})
    write(out, render.page("study.html", title=title, facts=facts, about="", notes=notes, sections=sections))
    return out


def _runs(path: Path) -> list[Run]:
    if (path / "run.json").exists():
        return [Run(path)]
    found = [Run(file.parent) for file in sorted(path.rglob("run.json"))] if path.is_dir() else []
    if not found:
        raise UserError(f"{path} is neither a run nor a folder of runs")
    return found


def _scores(runs: Sequence[Run]) -> dict[str, list[Score | None]]:
    each = [run.scores() for run in runs]
    return {name: [scores.get(name) for scores in each] for name in dict.fromkeys(n for s in each for n in s)}


def _differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    each = []
    for run in runs:
        plan = run.plan
        own = {"method": plan.method, "data": plan.data, "steps": plan.steps, "batch": plan.batch, "seed": plan.seed}
        own |= {**plan.data_arguments, **plan.sampling, **plan.arguments}
        each.append({**own, "decay": plan.decay, "start_from": plan.start_from or ""})
    names = dict.fromkeys(name for arguments in each for name in arguments)
    values = {name: [str(a[name]) if name in a else "" for a in each] for name in names}
    return {name: column for name, column in values.items() if len(set(column)) > 1}


def _names(runs: Sequence[Run], differences: dict[str, list[str]]) -> list[str]:
    """Method and up to two arguments that differ, else the names of their directories."""
    told = {n: v for n, v in differences.items() if n not in ("method", "data")}
    names = []
    for i, run in enumerate(runs):
        own = [f"{name}={values[i]}" for name, values in told.items() if values[i]]
        names.append(" ".join([run.plan.method.rpartition(":")[2], *own[:2]]))
    return names if len(set(names)) == len(names) else [run.path.name for run in runs]


def _traversals(found: Compared) -> list[Section]:
    pages, notes = _on_one_image(found.runs)
    parts: list[Part] = [Note(note) for note in notes]
    for name, run in zip(found.names, found.runs, strict=True):
        if (page := pages.get(run.path)) and (rows := strongest(page, STRONG)):
            parts += [Note(f"**{name}**"), Strips(rows, sweep=True)]
    return [Section("Traversals of the strongest latents", parts, "Traversals")] if len(parts) > len(notes) else []


def _on_one_image(runs: Sequence[Run]) -> tuple[dict[Path, Page], list[str]]:
    """What each run that draws images makes of the first one's; of its own where the run or its data cannot be had."""
    pages = {run.path: read_page(run) for run in runs if (run.path / "pictures.npz").exists()}
    drawing = [run for run in runs if run.path in pages and _image(pages[run.path]) is not None]
    own = list[str]()
    for run in drawing[1:]:
        first, page = pages[drawing[0].path], pages[run.path]
        same = (run.plan.data, run.plan.data_arguments) == (drawing[0].plan.data, drawing[0].plan.data_arguments)
        if np.array_equal(_image(page), _image(first)):
            continue
        try:
            if not same:
                raise UserError("another data set")
            row = int(first.pictures.get("original_rows", first.codes.rows)[0])
            again = replace(page, pictures=_redrawn(run, page, row))
            if not np.array_equal(_image(again), _image(first)):
                raise UserError("another image: an earlier version did not keep its row")
            pages[run.path] = again
        except UserError:
            own.append(run.path.name)
    return pages, [f"On an image of its own: {', '.join(own)}."] if own else ["All of the same image."]


def _image(page: Page) -> Any:
    return page.pictures["originals"][0] if "originals" in page.pictures else None


def _redrawn(run: Run, page: Page, row: int) -> dict[str, Any]:
    import torch

    from unbraid.problems.plain import draw
    from unbraid.train.load import load_method, load_table

    data = load_table(run)
    table = data.test or data
    if not 0 <= row < len(table):
        raise UserError(f"there is no image {row}")
    trained = Trained(load_method(run.path), table, table.background or data.background, np.array([row]), 0)
    with torch.no_grad():
        return draw(trained, page.codes)


def _link(run: Run, out: Path) -> str:
    """The page of a run as seen from another file, where it has one."""
    page = run.path.resolve() / FILE
    if not page.exists():
        return ""
    return quote(os.path.relpath(page, out.resolve().parent))
