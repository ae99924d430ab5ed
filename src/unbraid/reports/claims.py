"""The record of an experiment as one self-contained HTML page: each claim in a line with its verdict."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

from unbraid.errors import UserError
from unbraid.figures.parts import Cell, Note, Section, Table
from unbraid.reports import render
from unbraid.reports.study import spoken
from unbraid.study.claims import VERDICTS
from unbraid.train.run import write

TYPES = {".png": "png", ".webp": "webp", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".svg": "svg+xml"}


def report(record: Path, out: Path | None = None) -> Path:
    """Writes the page of a record, NAME.json, and gives its path.

    Args:
        out: the page; NAME.html beside the record unless given
    """
    told = _read(record)
    sections = [
        Section(table["title"], [Table(table["columns"], _rows(table["rows"])), *_note(table)])
        for table in told["tables"]
    ]
    verdicts = [claim["verdict"] for claim in told["claims"]]
    content = render.page(
        "claims.html",
        title=told["title"],
        about=told["about"],
        facts=[told["command"], f"{spoken(told['seconds'])} of one core", f"commit {told.get('commit') or 'unknown'}"],
        tally=[(verdict, verdicts.count(verdict)) for verdict in VERDICTS],
        claims=[claim | {"interval": _interval(claim)} for claim in told["claims"]],
        pictures=[
            (caption, _inlined(record.parent / path))
            for caption, path in told.get("pictures", [])
            if (record.parent / path).is_file()
        ],
        sections=sections,
    )
    path = out or record.with_suffix(".html")
    write(path, content)
    return path


def _read(record: Path) -> dict[str, Any]:
    try:
        told = json.loads(record.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"there is no file {record}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{record} cannot be read as a record of claims ({error})") from error
    if not isinstance(told, dict) or not {"title", "about", "claims", "tables", "command", "seconds"} <= told.keys():
        raise UserError(f"{record} is no record of claims, such as 'unbraid reproduce' writes")
    return told


def _rows(rows: list[list[Any]]) -> list[list[str | Cell]]:
    return [[_cell(value) for value in row] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _note(table: dict[str, Any]) -> list[Note]:
    return [Note(table["note"])] if table.get("note") else []


def _interval(claim: dict[str, Any]) -> str:
    low, high = claim.get("low"), claim.get("high")
    if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
        return ""
    return f"{low:.3g} to {high:.3g}" + (f" of: {claim['decides']}" if claim.get("decides") else "")


def _inlined(picture: Path) -> str:
    kind = TYPES.get(picture.suffix.lower(), "png")
    return f"data:image/{kind};base64," + base64.b64encode(picture.read_bytes()).decode()
