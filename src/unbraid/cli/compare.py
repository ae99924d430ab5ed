"""`unbraid compare`: runs side by side, or a folder of runs as a leaderboard."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.cli.console_tables import print_table
from unbraid.cli.parser import Parser

if TYPE_CHECKING:
    from unbraid.figures.parts import Table

DESCRIPTION = (
    "Show the scores of runs side by side, with intervals, and what differs in their arguments. Of a folder of runs a "
    "leaderboard is made, the best run first. The page also has traversals of each run on the same image, and curves."
)


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "compare", help="show runs side by side, or the best of a folder", description=DESCRIPTION
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's directory, or a folder of runs")
    parser.add_argument(
        "--by", metavar="METRIC", help="sort runs by this score, the best first (of folders by default)"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.reports import compare

    found = compare.compare(arguments.runs, arguments.by)
    if found.by:
        _print(f"{len(found.runs)} runs by {found.by}", compare.leaderboard(found))
    else:
        _print("scores", compare.side_by_side(found))
        if found.differences:
            _print("what differs", compare.different(found))
    if arguments.html:
        print(f"comparison: {compare.report(found, arguments.html)}")
    return 0


def _print(title: str, table: Table) -> None:
    print_table(title, list(table.columns), [[str(cell) for cell in row] for row in table.rows])
