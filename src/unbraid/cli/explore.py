"""`unbraid explore`: runs as a page in which the latents move."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from unbraid.cli.parser import Parser

IMAGES = 500
DESCRIPTION = (
    "Write one HTML file with the trained networks of a run, which runs them in the browser: move latents and see the "
    "picture follow, drop pictures of your own, look at the map of the codes. It needs no server and no network. "
    "Several runs, of one data set, are shown side by side."
)


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "explore", help="write a page in which the latents of runs move", description=DESCRIPTION
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run's directory")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the page (default: explorer.html in the first run)")
    parser.add_argument("--images", type=int, default=IMAGES, help=f"images to choose from (default: {IMAGES})")
    parser.add_argument(
        "--bits",
        type=int,
        choices=(16, 32),
        default=16,
        help="of each weight; 32 doubles their part of the file (default: 16)",
    )
    parser.add_argument("--no-open", action="store_true", help="write the page, and do not open it in a browser")
    parser.add_argument("--trust", action="store_true", help="import code of its own that a run names")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    import unbraid

    given = {name: getattr(arguments, name) for name in ("out", "images", "bits", "trust")}
    path = unbraid.explore(*arguments.runs, **given).resolve()
    print(f"explorer: {path}")
    if not arguments.no_open:
        webbrowser.open(path.as_uri())
    return 0
