"""The record of a reproduction: claims with verdicts and tables, as a page for people and as JSON for programs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unbraid.train.run import commit, write

Verdict = Literal["shown", "not shown", "unclear"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
INDEX = "# What we found"
MARKS: dict[Verdict, str] = {"shown": "\U0001f7e2", "not shown": "\U0001f534", "unclear": "\U0001f7e1"}
Numbers = NDArray[np.float64]  # [seeds]


@dataclass(frozen=True)
class Claim:
    """What a paper says, and what came out here."""

    id: str
    paper: str  # the claim, with the paper's numbers
    ours: str  # what we measured, in words and numbers
    low: float | None  # interval of the number that decides
    high: float | None
    seeds: int
    verdict: Verdict
    note: str = ""  # what was found when a claim that is not shown was looked into
    decides: str = ""  # the margin that decides, in words
    count: str = ""  # in how many seeds an unclear claim goes the paper's way
    before: Verdict | None = None  # under an earlier rule, where that was changed after results had been seen


@dataclass(frozen=True)
class Table:
    """Rows under a heading; numbers are rounded when the page is written."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""


@dataclass(frozen=True)
class Record:
    title: str
    about: str  # what was run, at which size, and how that differs from the paper
    command: str
    seconds: float  # of one core, for the training and evaluation of all runs together
    claims: list[Claim]
    tables: list[Table]
    pictures: list[tuple[str, str]] = field(default_factory=list)  # caption, path relative to the page


def publish(record: Record, folder: Path, name: str, begun: Sequence[str] = ()) -> None:
    """Writes NAME.md and NAME.json, and README.md that lists all records of the folder.

    Args:
        begun: commits at which the runs were begun
    """
    folder.mkdir(parents=True, exist_ok=True)
    plain = asdict(record) | {"commit": commit(), "begun": list(begun)}
    write(folder / f"{name}.json", (json.dumps(_finite(plain), indent=2) + "\n").encode())
    write(folder / f"{name}.md", _page(record, begun).encode())
    index = folder / "README.md"
    if not index.exists() or index.read_text(encoding="utf-8").startswith(INDEX):  # somebody else's is left alone
        write(index, _index(folder).encode())


def _index(folder: Path) -> str:
    rows = []
    for path in sorted(folder.glob("*.json")):
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if not isinstance(told, dict) or not {"title", "claims", "command", "seconds"} <= told.keys():
            continue
        verdicts = [claim["verdict"] for claim in told["claims"]]
        page = f"[{told['title']}]({path.stem}.md)"
        rows.append([page, f"`{told['command']}`", told["seconds"] / 3600, *(verdicts.count(v) for v in VERDICTS)])
    lines = [
        INDEX,
        "",
        "The claims of the papers beside our numbers, at sizes that fit two cores. A page says what was run, how that "
        "differs from the paper, and what was found where a claim does not hold. Files are taken from the data root "
        "([UNBRAID_DATA](../data_files.md)), and a command says which it lacks: all but `unsupervised` need MNIST "
        "(`unbraid data fetch mnist`), and `contrastive` and `subembeddings` photographs of CIFAR-10 besides.",
        "",
        *_markdown(["record", "command", "hours of one core", *VERDICTS], rows),
    ]
    return "\n".join(lines) + "\n"


def _page(record: Record, begun: Sequence[str]) -> str:
    told = [f"{sum(c.verdict == v for c in record.claims)} {v}" for v in VERDICTS]
    lines = [
        f"# {record.title}",
        "",
        record.about.strip(),
        "",
        f"Made by `{record.command}` at commit `{commit() or 'unknown'}`{_begun(begun)}; "
        f"{record.seconds / 3600:.1f} hours of one core. Claims: {', '.join(told)}.",
        "",
        "## Claims",
        "",
    ]
    rows = [[f"[{c.id}](#{_anchor(c.id)})", c.paper, f"{MARKS[c.verdict]} **{c.verdict}**"] for c in record.claims]
    lines += _markdown(["claim", "the paper", "here"], rows)
    for claim in record.claims:
        lines += ["", *_details(claim)]
    for table in record.tables:
        lines += ["", f"## {table.title}", "", *_markdown(table.columns, table.rows)]
        lines += ["", table.note] if table.note else []
    for caption, path in record.pictures:
        lines += ["", f"[![{caption}]({path})]({path})", "", caption]  # a tap opens it whole
    return "\n".join(lines) + "\n"


def _details(claim: Claim) -> list[str]:
    """What was measured for a claim, and what decides it."""
    what = f" of: {claim.decides}" if claim.decides else ""
    told = [
        f"### {claim.id}",
        "",
        f"{MARKS[claim.verdict]} **{claim.verdict}**. The paper: {claim.paper}.",
        "",
        f"Here: {claim.ours}.",
        "",
        f"Interval {_interval(claim)}{what}; seeds: {claim.seeds}." if _interval(claim) else f"Seeds: {claim.seeds}.",
    ]
    told += ["", f"{claim.count[:1].upper()}{claim.count[1:]}."] if claim.count else []
    told += ["", f"By the rule before: {claim.before}."] if claim.before else []
    return told + (["", claim.note.strip()] if claim.note else [])


def _anchor(id: str) -> str:
    """The anchor of a heading, as it is derived where pages are shown."""
    return re.sub(r"[^\w\- ]", "", id.lower()).replace(" ", "-")


def _begun(commits: Sequence[str]) -> str:
    others = [name for name in commits if name != commit()]
    return f" from runs begun at {', '.join(f'`{name}`' for name in others)}" if others else ""


def _interval(claim: Claim) -> str:
    bounds = (claim.low, claim.high)
    known = all(bound is not None and math.isfinite(bound) for bound in bounds)
    return f"{claim.low:.3g} to {claim.high:.3g}" if known else ""


def _markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    body = [[_cell(value) for value in row] for row in rows]
    return [f"| {' | '.join(line)} |" for line in [list(columns), ["---"] * len(columns), *body]]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return (f"{value:.3g}" if isinstance(value, float) else str(value)).replace("|", "\\|")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
