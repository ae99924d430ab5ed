"""`unbraid score`: the metrics of a run, or of codes and factors in a file."""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid.cli.console_tables import print_scores
from unbraid.cli.parser import Parser
from unbraid.errors import UserError


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("score", help="score the codes of a run, or of a file")
    parser.add_argument(
        "path",
        help="a run's directory, a table (.csv, .tsv, .parquet, .h5ad; name its columns with --codes and --factors), "
        "or an .npz file with arrays codes [n, d] and factors [n, k]",
    )
    parser.add_argument("--codes", help="columns of a table with the codes: names or patterns such as 'z*'")
    parser.add_argument("--factors", help="columns of a table with the factors, separated by commas")
    parser.add_argument("--metrics", help="names, separated by commas (default: the whole suite)")
    parser.add_argument("--block", help="block of the code (default: the first)")
    parser.add_argument(
        "--set",
        dest="options",
        action="append",
        default=[],
        metavar="METRIC.NAME=VALUE",
        help="an argument of a metric, such as translation.steps=60; may be given several times",
    )
    parser.add_argument("--seed", type=int, default=0, help="of whatever the metrics draw (default: 0)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--trust", action="store_true", help="import code of its own that the run names")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.data.io.table_files import column_names
    from unbraid.evaluate import score, score_file
    from unbraid.train.run import Run

    metrics = read_metrics(arguments.metrics)
    given: dict[str, Any] = {"block": arguments.block, "metrics": metrics, "seed": arguments.seed}
    given["options"] = read_options(arguments.options)
    path = Path(arguments.path)
    columns: dict[str, Any] = {"codes": column_names(arguments.codes), "factors": column_names(arguments.factors)}
    if path.is_dir() and any(columns.values()):
        raise UserError(f"--codes and --factors name columns of a table, and {path} is a directory")
    scores = score(Run(path), trust=arguments.trust, **given) if path.is_dir() else score_file(path, **columns, **given)
    plain = {name: value.as_dict() for name, value in scores.items()}
    if arguments.json:
        print(json.dumps(plain, indent=2))
    else:
        print_scores(plain, path.name)
    return 0


def read_metrics(words: str | None) -> list[str] | None:
    """Names between commas; None, for all, where nothing was given."""
    return None if words is None else [name.strip() for name in words.split(",") if name.strip()]


def read_options(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """METRIC.NAME=VALUE -> {METRIC: {NAME: VALUE}}; a value that is no Python literal is a word."""
    options: dict[str, dict[str, Any]] = {}
    for word in words:
        target, equals, text = word.partition("=")
        metric, dot, name = target.partition(".")
        if not (equals and dot and metric and name):
            raise UserError(f"'{word}' is not METRIC.NAME=VALUE, such as translation.steps=60")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        options.setdefault(metric, {})[name] = value
    return options
