"""`unbraid reproduce`: an experiment's folder, from data to a page of verdicts."""

from __future__ import annotations

import argparse
from pathlib import Path

from unbraid.cli.parser import Parser
from unbraid.errors import UserError


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("reproduce", help="run a paper's experiment and write its page of results")
    parser.add_argument("folder", type=Path, help="of the experiment, such as experiments/contrastive in a clone")
    parser.add_argument("--out", type=Path, help="folder of the page (default: docs/results beside the experiments)")
    parser.add_argument("--runs", type=Path, help="folder of the runs (default: runs/NAME)")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time, one thread each (default: 2)")
    parser.add_argument("--quick", action="store_true", help="the smallest size, in minutes, to see that all works")
    parser.add_argument(
        "--so-far", action="store_true", help="run nothing: the page of the runs that are done, in RUNS"
    )
    parser.add_argument(
        "--recorded",
        action="store_true",
        help="take runs that are not there from the records beside the published page, and do only the others",
    )
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.reports import claims
    from unbraid.study.reproduce import reproduce
    from unbraid.study.run import Resources

    folder: Path = arguments.folder
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}: a clone of unbraid has experiments/contrastive and others")
    name = folder.resolve().name
    runs = arguments.runs or Path("runs") / (f"quick-{name}" if arguments.quick else name)
    beside = folder.resolve().parent.parent / "docs" / "results"
    records = beside / f"{name}.runs.zip"
    if arguments.recorded and not records.exists():
        raise UserError(f"no runs of {name} are recorded: there is no file {records}")
    out = arguments.out or (runs / "results" if arguments.quick or arguments.so_far else beside)
    page = reproduce(
        folder,
        out=out,
        runs=runs,
        resources=Resources(workers=arguments.workers),
        quick=arguments.quick,
        so_far=arguments.so_far,
        records=records if arguments.recorded else None,
    )
    print(f"results: {page}")
    print(f"report: {claims.report(page.with_suffix('.json'), runs / 'report.html')}")
    return 0
