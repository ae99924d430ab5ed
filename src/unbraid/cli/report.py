"""`unbraid report`: a run as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from unbraid.cli.parser import Parser


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("report", help="write the report of a run")
    parser.add_argument("path", help="a run's directory")
    parser.add_argument("--points", type=int, default=10_000, help="images to encode (default: 10000)")
    parser.add_argument("--image", type=int, help="row of the image to traverse; encodes anew")
    parser.add_argument("--png", type=Path, metavar="FILE", help="also write the traversals as a picture")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid import api
    from unbraid.reports.page import traversal_sheet
    from unbraid.run import Run

    run = Run(arguments.path)
    if arguments.image is not None or not (run.path / "codes.npz").exists():
        table = api.load_data(run.plan.data, **run.plan.data_arguments)
        api.represent(run, api.load_run(run.path), table, points=arguments.points, image=arguments.image)
    if not (run.path / "scores.json").exists():
        api.score(run)
    print(f"report: {api.report(run)}")
    if arguments.png:
        traversal_sheet(run, arguments.png)
        print(f"picture: {arguments.png}")
    return 0
