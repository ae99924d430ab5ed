"""`unbraid report`: a run, all runs of a study, or the claims of an experiment as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.cli.parser import Parser
from unbraid.errors import UserError

if TYPE_CHECKING:
    from unbraid.data.table import Table
    from unbraid.methods.contract import Method

POINTS = 10_000


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("report", help="write the report of a run, of a study or of an experiment")
    parser.add_argument("path", help="a run's directory; a folder of runs; or an experiment's NAME.json")
    parser.add_argument("--points", type=int, help=f"images to encode (default: those that are, or {POINTS})")
    parser.add_argument("--image", type=int, help="row of the image to traverse; encodes anew")
    parser.add_argument("--png", type=Path, metavar="FILE", help="also write the traversals as a picture")
    parser.add_argument("--trust", action="store_true", help="import code of its own that the run names")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    import unbraid
    from unbraid.evaluate import complete
    from unbraid.reports.page import traversal_sheet
    from unbraid.train.load import load_method, load_table
    from unbraid.train.progress import Stages
    from unbraid.train.run import Run

    if any(Path(arguments.path).glob("*/run.json")) and not (Path(arguments.path) / "run.json").exists():
        return _study(Path(arguments.path), arguments)
    if arguments.path.endswith(".json"):
        from unbraid.reports import claims

        print(f"report: {claims.report(Path(arguments.path))}")
        return 0
    run = Run(arguments.path)
    check_points(arguments.points)

    def trained() -> tuple[Method[Any], Table]:
        return load_method(run.path, trust=arguments.trust), load_table(run, trust=arguments.trust)

    with Stages(show=True) as tell:
        complete(run, trained, arguments.points, image=arguments.image, tell=tell)
        page = unbraid.report(run, tell=tell)
    print(f"report: {page}")
    if arguments.png:
        traversal_sheet(run, arguments.png)
        print(f"picture: {arguments.png}")
    return 0


def check_points(points: int | None) -> None:
    if points is not None and points < 1:
        raise UserError(f"at least one image must be encoded, not {points}")


def _study(folder: Path, arguments: argparse.Namespace) -> int:
    from unbraid.reports.study import report

    if arguments.image is not None or arguments.png:
        raise UserError(f"--image and --png are for one run, and {folder} is a folder of runs: name one of them")
    print(f"report: {report(folder)}")
    return 0
