"""What was survived: each script adds its rows to survived.json; `python -m torture.table` writes them to the page."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "torture" / "survived.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"
TITLES = {  # of the scripts, in the order of the page
    "kills": "Kills of a run",
    "studies": "Kills of a study",
    "files": "Faults of files",
    "bad_files": "Damaged files",
    "fuzz": "Fuzzed parsers",
    "odd_numbers": "Odd numbers",
    "load": "Load",
}


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    script: str  # that measured it
    what: str  # was done
    count: int
    survived: int
    said: str  # more numbers, in words
    seconds: float

    @property
    def good(self) -> bool:
        return self.survived == self.count


def keep(rows: list[Row], path: Path = KEPT) -> None:
    """Replaces the rows of the same name, and prints them."""
    names = {(row.script, row.what) for row in rows}
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two scripts run side by side
        found = [row for row in kept(path) if (row.script, row.what) not in names] + rows
        file.truncate(0)
        file.write(json.dumps([asdict(row) for row in found], indent=1) + "\n")
    for row in rows:
        print(f"{row.what}: {row.survived:,} of {row.count:,} survived; {row.said}; {row.seconds:.0f} s", flush=True)


def kept(path: Path = KEPT) -> list[Row]:
    text = path.read_text() if path.exists() else ""
    return [Row(**row) for row in json.loads(text)] if text else []


def markdown(rows: list[Row]) -> str:
    """A table for each script, below its command; what all rows of a script say stands above them."""
    named = sorted(rows, key=lambda row: row.what)
    parts = ([row for row in named if row.script == script] for script in TITLES)
    return "\n\n".join(_table(part) for part in parts if part)


def _table(rows: list[Row]) -> str:
    words = Counter(row.said for row in rows)
    usual, often = words.most_common(1)[0]
    usual = usual if often > 1 else ""
    lines = [
        f"### {TITLES[rows[0].script]}",
        "",
        f"`python -m torture.{rows[0].script}`{': ' if usual else ''}{usual}",
        "",
    ]
    more = any(row.said != usual for row in rows)
    lines += [
        f"| what | times | survived | seconds |{' more |' if more else ''}",
        f"|---|--:|--:|--:|{'---|' if more else ''}",
    ]
    for row in rows:
        said = row.said.removeprefix(f"{usual}; ") if row.said != usual else "–"
        numbers = f"| {row.what} | {row.count:,} | {row.survived:,} | {row.seconds:.0f} |"
        lines.append(numbers + (f" {said} |" if more else ""))
    return "\n".join(lines)


def write_page(rows: list[Row], page: Path = PAGE) -> None:
    """Puts the table and the machine into the page."""
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{markdown(rows)}\n\n{machine()}\n{END}{after}")


def machine() -> str:
    import numpy
    import torch

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"Measured on {time.strftime('%d %B %Y')}: {os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB of "
        f"memory, {platform.system()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"numpy {numpy.__version__}."
    )


class Watch:
    seconds = 0.0


@contextmanager
def timed() -> Iterator[Watch]:
    watch, begin = Watch(), time.monotonic()
    yield watch
    watch.seconds = time.monotonic() - begin


if __name__ == "__main__":
    write_page(kept())
