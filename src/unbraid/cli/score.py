"""`unbraid score`: the metrics of a run, or of plain arrays."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from unbraid.cli.parser import Parser
from unbraid.cli.show import print_scores


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("score", help="score the codes of a run, or of an npz file")
    parser.add_argument("path", help="a run's directory, or an .npz file with arrays codes [n, d] and factors [n, k]")
    parser.add_argument("--metrics", help="names, separated by commas (default: the whole suite)")
    parser.add_argument("--block", help="block of the code (default: the first)")
    parser.add_argument("--seed", type=int, default=0, help="of whatever the metrics draw (default: 0)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.run import Run
    from unbraid.scores import score, score_file

    metrics = arguments.metrics.split(",") if arguments.metrics else None
    path = Path(arguments.path)
    if path.is_dir():
        scores = score(Run(path), block=arguments.block, metrics=metrics, seed=arguments.seed)
    else:
        scores = score_file(path, block=arguments.block, metrics=metrics, seed=arguments.seed)
    plain = {name: value.as_dict() for name, value in scores.items()}
    if arguments.json:
        print(json.dumps(plain, indent=2))
    else:
        print_scores(plain, path.name)
    return 0
