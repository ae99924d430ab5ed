"""A run as one self-contained HTML page: what it is, what it draws, what it scores, and how it was made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unbraid import catalogue
from unbraid.codes import Codes, fitting_together, read_codes
from unbraid.errors import UserError
from unbraid.figures import charts, pictures
from unbraid.figures.parts import Cell, Charts, Code, Folded, Note, Part, Section, Strips, Table
from unbraid.metrics.suite import Tell, silent
from unbraid.problems import PROBLEMS, problems_of
from unbraid.problems.contract import Page
from unbraid.problems.latents import PREFIX, active_latents, neighbours_shown, strongest
from unbraid.problems.scores import aim_of
from unbraid.reports import render
from unbraid.reports.cautions import cautions, fault
from unbraid.train import history
from unbraid.train.run import Plan, Run, write

FILE = "report.html"
EXPLORER = "explorer.html"
NUMBERS = 4  # headline numbers
STRONG = 5  # latents in the first picture


@dataclass(frozen=True)
class Headline:
    """A score at the top of a page; places on its scale are in per cent."""

    name: str
    meaning: str
    value: str
    interval: str
    chance: str
    wanted: str
    fault: str
    at: float
    low: float | None
    high: float | None
    null: float | None


def report(run: Run | Path | str, *, tell: Tell = silent) -> Path:
    """Writes report.html from the run's files, and gives its path.

    Args:
        run: the run, or its directory
        tell: is called with what is done next
    """
    run = Run.of(run)
    page = read_page(run)
    with fitting_together(run):
        content = _content(run, page, tell)
    path = run.path / FILE
    write(path, content)
    return path


def _content(run: Run, page: Page, tell: Tell) -> bytes:
    sections: list[Section] = []
    for problem in problems_of(page.codes):
        tell(f"writing the report: {problem.name.replace('_', ' ')}")
        sections += problem.sections(page)
    sections += [_scores(page), *_curves(page), _details(run)]
    return render.page(
        "run.html",
        title=title(run.plan),
        summary=summary(run.plan),
        facts=_facts(run, page.codes),
        hero=_hero(page),
        headlines=headlines(page),
        cautions=cautions(run, page),
        explorer=EXPLORER if (run.path / EXPLORER).exists() else "",
        sections=sections,
    )


def read_page(run: Run) -> Page:
    """All that a page shows of a run, from its files."""
    drawn = run.arrays("pictures.npz") if (run.path / "pictures.npz").exists() else {}
    return Page(read_codes(run), drawn, run.scores(), history.read(run.path / "history.csv"))


def title(plan: Plan) -> str:
    """Method and data; a user's own class without its file."""
    return f"{plan.method.rpartition(':')[2]} on {subject(plan)}"


def subject(plan: Plan) -> str:
    """The data in words: a user's own class without its file, and files by their names."""
    given = [plan.data_arguments.get(name) for name in ("path", "target", "background")]
    files = [Path(path).name for path in given if isinstance(path, str) and path]
    return " against ".join(files) or plan.data.rpartition(":")[2]


def without_folders(plan: Plan) -> Plan:
    """The plan for others to read: files by their names alone."""

    def named(value: Any) -> Any:
        return Path(value).name if isinstance(value, str) and "/" in value else value

    told: dict[str, Any] = {name: named(getattr(plan, name)) for name in ("method", "data", "start_from")}
    for name in ("arguments", "data_arguments", "sampling"):
        told[name] = {key: named(value) for key, value in getattr(plan, name).items()}
    return replace(plan, **told)


def summary(plan: Plan) -> str:
    known = catalogue.entries("methods").get(plan.method)
    return known.summary if known else plan.method


def headlines(page: Page) -> list[Headline]:
    """The scores that say most, of the kinds of problem of the run in their order."""
    wanted = [name for problem in PROBLEMS for name in problem.headlines]
    there = [name for name in wanted if name in page.scores and page.scores[name]["value"] is not None]
    return [_headline(name, page.scores[name]) for name in there[:NUMBERS]]


def meaning_of(name: str, score: dict[str, Any]) -> str:
    entry = catalogue.entries("metrics").get(name)
    return entry.summary if entry else str(score["params"].get("meaning", ""))


def interval_of(score: dict[str, Any]) -> str:
    return "" if score["low"] is None else f"{score['low']:.3f} to {score['high']:.3f}"


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def traversal_sheet(run: Run, path: Path) -> None:
    """The traversals of a run as a PNG picture."""
    page = read_page(run)
    rows = [
        ("\n".join(label), page.pictures[name][latent])
        for name in page.pictures
        if name.startswith(PREFIX)
        for latent, label in active_latents(name.removeprefix(PREFIX), page.codes, page.scores)
    ]
    if not rows and not any(name.startswith(PREFIX) for name in page.pictures):
        raise UserError(f"{run.path} has no traversals: its method draws nothing, or its samples are features")
    if not rows:
        raise UserError(f"{run.path} has no latent that carries anything: there is nothing to draw")
    write(path, pictures.sheet(rows))


def _headline(name: str, score: dict[str, Any]) -> Headline:
    known = [score[part] for part in ("value", "low", "high", "null") if score[part] is not None]
    least, most = min(0.0, *known), max(1.0, *known)

    def at(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - least) / (most - least), 1)

    place = at(score["value"])
    assert place is not None
    return Headline(
        name=name,
        meaning=meaning_of(name, score),
        value=f"{score['value']:.2f}",
        interval="" if score["low"] is None else f"{score['low']:.2f} to {score['high']:.2f}",
        chance="" if score["null"] is None else f"{score['null']:.2f}",
        wanted=aim_of(name).best,
        fault=fault(name, score),
        at=place,
        low=at(score["low"]),
        high=at(score["high"]),
        null=at(score["null"]),
    )


def _hero(page: Page) -> Strips | None:
    """What the strongest latents draw; neighbours where nothing is drawn."""
    if rows := strongest(page, STRONG):
        return Strips(rows, sweep=True)
    if found := neighbours_shown(page.pictures):
        strips = next(part for part in found[0].parts if isinstance(part, Strips))
        return Strips(strips.rows[:STRONG], beside=True)
    return None


def _facts(run: Run, codes: Codes) -> list[str]:
    plan = run.plan
    return [f"{plan.steps:,} steps of {plan.batch}", f"seed {plan.seed}", f"scored on {len(codes):,} samples"]


def _scores(page: Page) -> Section:
    if not page.scores:
        text = (
            "No factors are known for this data set, or none varies, so nothing can be scored against them: look at "
            "the traversals."
        )
        return Section("Scores", [Note(text)])
    rows = [_row(name, score) for name, score in page.scores.items()]
    found: dict[str, list[str]] = {}
    for name, score in page.scores.items():
        for text in score["warnings"]:
            found.setdefault(text, []).append(name)
    about = (
        f'From the codes of {len(page.codes):,} samples. "By chance" is the same metric when the codes are shuffled '
        "against the factors."
    )
    table = Table(["metric", "value", "95 % interval", "by chance", "wanted", "what it says"], rows, prose=True)
    notes = [Note(f"{', '.join(names)}: {text}") for text, names in found.items()]
    return Section("Scores", [table, Note(about), *notes])


def _row(name: str, score: dict[str, Any]) -> list[str | Cell]:
    parts = ", ".join(f"{part} {value:.3f}" for part, value in score["parts"].items() if isinstance(value, float))
    bad = "bad" if fault(name, score) else ""
    return [
        name,
        Cell(number(score["value"]), bold=True, mark=bad),
        interval_of(score),
        number(score["null"]),
        aim_of(name).best,
        Cell(meaning_of(name, score), more=parts),
    ]


def _curves(page: Page) -> list[Section]:
    if not page.history:
        return []
    note = Note("Loss and terms against steps; likelihoods, entropies and contrasts in nats per sample.")
    return [Section("Training", [note, Charts(charts.curves({"": page.history}))])]


def _details(run: Run) -> Section:
    plan, config = run.plan, run.config
    arguments = {**plan.arguments, **plan.data_arguments, **plan.sampling}
    rows = [[name, "" if value is None else str(value)] for name, value in arguments.items()]
    made = ", ".join(f"{name} {version}" for name, version in config.get("versions", {}).items())
    again: list[Part] = [Note("To repeat it:"), Code(plan.command)]
    if not plan.repeated:
        again = [Note("It was given arrays or modules, and is repeated from Python.")]
    table = Table(["argument", "value"], rows)
    about = Note(f"Run {run.path.name}, commit {config.get('commit') or 'unknown'}; {made or 'versions unknown'}.")
    explore = (
        [] if (run.path / EXPLORER).exists() else [Note("To move its latents:"), Code(f"unbraid explore {run.path}")]
    )
    return Section("How it was made", [*again, *explore, Folded("All arguments", [table]), about], "Details")
