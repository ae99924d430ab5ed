"""`unbraid reproduce`: a paper's experiment at our scale, from data to a page of verdicts."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from unbraid.cli.parser import Parser
from unbraid.errors import UserError, unknown

HERE = Path(__file__).parents[1] / "reproduce"


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("reproduce", help="run a paper's experiment and write its page of results")
    parser.add_argument("name", help=f"one of: {', '.join(names())}")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/results"), help="folder of the page (default: docs/results)"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of the runs (default: runs)")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time, one thread each (default: 2)")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    if arguments.name not in names():
        raise unknown("reproduction", arguments.name, names())
    if arguments.workers < 1:
        raise UserError(f"--workers is {arguments.workers}: at least one run must be at work")
    module = importlib.import_module(f"unbraid.reproduce.{arguments.name}")
    module.main(arguments.out, arguments.runs / arguments.name, workers=arguments.workers)
    print(f"results: {arguments.out / arguments.name}.md")
    return 0


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.py") if "\ndef main(" in path.read_text())
