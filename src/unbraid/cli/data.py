"""`unbraid data list | show | fetch`: the data sets, their images and their files."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid import catalogue
from unbraid.cli.console_tables import print_table
from unbraid.cli.parser import Parser
from unbraid.errors import UserError

if TYPE_CHECKING:
    from unbraid.data.table import Table

OWN = re.compile(r"(.+\.py|\w+(\.\w+)*):\w+")  # the place of a data set of a user's own
LARGEST = 12  # values of a factor up to which a joint distribution is printed, beside being drawn


def add(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser("data", help="list, show and fetch data sets")
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=SetParser)
    listing = parts.add_parser("list", help="names, sizes, factors, folders, and which data sets are present")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(main=list_sets)
    show = parts.add_parser("show", help="draw images of a data set and count its factors")
    show.add_argument("data", metavar="NAME", help="a data set; its options can follow")
    show.add_argument("--out", type=Path, help="PNG file of the contact sheet (default: NAME.png)")
    show.add_argument("--joint", nargs=2, metavar=("A", "B"), help="two factors whose joint distribution is also drawn")
    show.set_defaults(main=show_set, has_options=True)
    fetch = parts.add_parser("fetch", help="download a data set's files into the data root")
    fetch.add_argument("data", metavar="NAME", help="a data set")
    fetch.add_argument("--file", action="append", help="only this file; can be repeated")
    fetch.set_defaults(main=fetch_set)
    for part in (listing, show, fetch):
        part.add_argument(
            "--data-root", help="folder of data files (default: UNBRAID_DATA, else data in the cache folder)"
        )


class SetParser(Parser):
    """If `has_options` is set, it also accepts the options of the data set that is named."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.get_default("has_options"):
            known = catalogue.entries("data")
            name = next((word for word in args or () if word in known or OWN.fullmatch(word)), None)
            entry = catalogue.find("data", name) if name else None
            if entry and entry.arguments:
                self.add_options(entry.name, entry.arguments, entry.summary)
        return super().parse_known_args(args, namespace)


def list_sets(arguments: argparse.Namespace) -> int:
    from unbraid.data.io.paths import data_root

    _choose_root(arguments)
    sets = [_describe(entry) for entry in catalogue.entries("data").values()]
    if arguments.json:
        print(json.dumps(sets, indent=2))
        return 0
    there = {True: "yes", False: "no", None: "-"}
    rows = [[s["name"], s["rows"], _factors(s["factors"]), _where(s), there[s["present"]]] for s in sets]
    print_table("", ["data set", "rows", "factors", "folder", "present"], rows, (1,))
    print(f"data root: {data_root()}")
    print("`unbraid data fetch NAME` downloads what is missing; without mnist, scikit-learn's digits take its place")
    return 0


def show_set(arguments: argparse.Namespace) -> int:
    from unbraid.figures.data_sheet import contact_sheet, joint_picture

    _choose_root(arguments)
    entry = catalogue.find("data", arguments.data)
    names = [argument.name for argument in entry.arguments]
    given = {name: value for name, value in vars(arguments).items() if name in names}
    catalogue.check(entry, given)
    table: Table = entry.load()(**given)
    for factor in arguments.joint or ():
        table.column(factor)
    out: Path = arguments.out or Path(f"{entry.name.rpartition(':')[2]}.png")
    try:
        _print_factors(table)
        print(f"contact sheet: {contact_sheet(table, out)}")
        if arguments.joint:
            a, b = arguments.joint
            _print_joint(table, a, b)
            print(f"joint distribution: {joint_picture(table, a, b, out.with_stem(f'{out.stem}-{a}-{b}'))}")
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror or error}") from error
    return 0


def fetch_set(arguments: argparse.Namespace) -> int:
    from unbraid.data.io.downloads import MADE_FROM, SOURCES

    _choose_root(arguments)
    name = catalogue.find("data", arguments.data).name
    if name not in SOURCES and name not in MADE_FROM:
        print(f"{name} needs no files")
        return 0
    for part in MADE_FROM.get(name, (name,)):
        _fetch(part, arguments.file or [])
    return 0


def _fetch(name: str, only: list[str]) -> None:
    from unbraid.data.io.downloads import SOURCES, is_present, set_folder
    from unbraid.data.io.fetch import fetch_file
    from unbraid.errors import unknown

    source = SOURCES[name]
    if not source.downloads:
        if not is_present(name):
            raise UserError(f"{name} cannot be fetched: {source.by_hand}, and put the files into {set_folder(name)}")
        print(f"{name} is in {set_folder(name)}")
    known = {download.file: download for download in source.downloads}
    for file in only:
        if file not in known:
            raise unknown(f"file of {name}", file, known)
    for file in only or known:
        with _bar(file, known[file].size) as progress:
            new = fetch_file(name, known[file], set_folder(name), progress)
        print(f"{'fetched' if new else 'already there'}: {set_folder(name) / (known[file].unpacks or file)}")
    if known and source.by_hand:
        print(f"not fetched: {source.by_hand}; put it into {set_folder(name)}")


@contextmanager
def _bar(file: str, size: int) -> Iterator[Callable[[int, int], None]]:
    """A progress bar, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = TextColumn(file), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    with Progress(*columns, transient=True, disable=not Console().is_terminal) as bar:
        task = bar.add_task("", total=size or None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _describe(entry: catalogue.Entry) -> dict[str, Any]:
    from unbraid.data.io.downloads import MADE_FROM, SOURCES, is_present, set_folder
    from unbraid.data.table import Grid

    kind = entry.load()
    parts = (entry.name,) if entry.name in SOURCES else MADE_FROM.get(entry.name, ())
    rows = f"{math.prod(f.size for f in kind.factors):,}" if issubclass(kind, Grid) and kind.factors else ""
    return {
        "name": entry.name,
        "summary": entry.summary,
        "rows": SOURCES[entry.name].rows if entry.name in SOURCES else rows,
        "factors": {factor.name: factor.size for factor in kind.factors},
        "gives": list(kind.gives),
        "folders": [set_folder(part).name for part in parts],
        "needs": [argument.name for argument in entry.arguments if argument.required],
        "present": all(map(is_present, parts)) if parts else None,
    }


def _where(described: dict[str, Any]) -> str:
    return "given by you" if described["needs"] else ", ".join(described["folders"]) or "(rendered)"


def _factors(factors: dict[str, int]) -> str:
    shown = [f"{name} {size}" for name, size in factors.items()]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], f"and {len(shown) - 4} more"])


def _print_factors(table: Table) -> None:
    """Each factor with its number of values, its role, and the range of frequencies of its values."""
    import numpy as np

    from unbraid.figures.data_sheet import MANY

    count = len(table)
    rows = np.arange(count) if count <= MANY else np.random.default_rng(0).integers(0, count, MANY)
    values = table.values(rows)
    lines = []
    for column, factor in enumerate(table.factors):
        share = np.bincount(values[:, column], minlength=factor.size) / len(rows)
        roles = {"class": (table.label,), "nuisance": table.nuisances, "shared by views": table.shared}
        role = ", ".join(role for role, names in roles.items() if factor.name in names)
        lines.append([factor.name, str(factor.size), role, f"{100 * share.min():.2f} .. {100 * share.max():.2f} %"])
    test = f", {len(table.test):,} test rows" if table.test else ""
    behind = f", {len(table.background):,} of background" if table.background else ""
    size = " x ".join(map(str, table.shape)) if table.shape[1] > 1 else f"{table.shape[2]} features"
    print(f"{table.name}: {count:,} rows{test}{behind} of {size}; gives {', '.join(table.gives)}")
    if lines:
        print_table("", ["factor", "values", "role", "share of a value"], lines, (1,))
    else:
        print("no factors are known")


def _print_joint(table: Table, a: str, b: str) -> None:
    from unbraid.figures.data_sheet import joint

    shares = joint(table, a, b)
    if max(shares.shape) <= LARGEST:
        lines = [[str(i), *(f"{100 * share:.2f}" for share in line)] for i, line in enumerate(shares)]
        numbers = tuple(range(1, shares.shape[1] + 1))
        columns = [f"{a}, {b} to the right", *map(str, range(shares.shape[1]))]
        print_table("share of each pair in %", columns, lines, numbers)


def _choose_root(arguments: argparse.Namespace) -> None:
    if arguments.data_root:
        os.environ["UNBRAID_DATA"] = arguments.data_root
