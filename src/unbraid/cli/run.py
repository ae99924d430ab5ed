"""`unbraid run`: train, encode, score and report."""

from __future__ import annotations

import argparse
import os
from typing import Any

from unbraid import catalogue, machine
from unbraid.cli.console_tables import print_scores, print_table
from unbraid.cli.parser import Parser
from unbraid.cli.parser import add as add_options
from unbraid.cli.report import POINTS, check_points
from unbraid.cli.score import read_metrics
from unbraid.config import Argument
from unbraid.errors import UserError

TRAINING = ("steps", "batch", "seed", "decay", "start_from", "out", "device", "threads", "compile", "save_every")
SUMMARY = "train a method on a data set, score it and write a report"
DESCRIPTION = f"{SUMMARY[0].upper()}{SUMMARY[1:]}. The same command again continues a run that was stopped."


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """For the list of commands only; `main` reads the words itself, since the options depend on method and data."""
    commands.add_parser("run", help=SUMMARY, add_help=False)


def main(words: list[str]) -> int:
    method = words[0] if words and not words[0].startswith("-") else None
    if method is None:
        if {"-h", "--help"} & set(words):
            _print_help()
            return 0
        raise UserError(
            "say which method to run, as in 'unbraid run beta_vae'; 'unbraid list methods' shows them all, "
            "and one of your own is file.py:Class"
        )
    entry = catalogue.find("methods", method)
    data = catalogue.find("data", _option(words, "--data"))
    parser = _parser(method, data.name)
    sampling = catalogue.sampling(entry.traits["batch_kind"])
    parser.add_options(entry.name, entry.arguments, entry.summary)
    parser.add_options("networks", catalogue.NETWORKS)
    parser.add_options("drawing of batches", sampling)
    given = vars(parser.parse(words[1:]))

    def take(arguments: tuple[Argument, ...]) -> dict[str, Any]:
        return {argument.name: given[argument.name] for argument in arguments if argument.name in given}

    chosen = {argument.name: given.get(argument.name, argument.default) for argument in sampling}
    training = take(catalogue.signature("train/fit.py", "fit"))
    if given.get("data_root"):
        os.environ["UNBRAID_DATA"] = given["data_root"]
    machine.prepare_threads(given.get("threads"))
    own = take((*entry.arguments, *catalogue.NETWORKS))
    return _run(entry, data, own, take(data.arguments), chosen, training, given)


def _run(
    entry: catalogue.Entry,
    data: catalogue.Entry,
    method_arguments: dict[str, Any],
    data_arguments: dict[str, Any],
    sampling: dict[str, Any],
    training: dict[str, Any],
    given: dict[str, Any],
) -> int:
    import unbraid
    from unbraid.evaluate import checked_metrics, complete
    from unbraid.train.hooks import TensorBoard
    from unbraid.train.progress import Stages

    check_points(given["points"])
    metrics = read_metrics(given["metrics"])
    if metrics is not None:
        checked_metrics(metrics, {})
    table = unbraid.load_data(data.name, **data_arguments)
    method = unbraid.build(entry.name, table, seed=training.get("seed", 0), **method_arguments)
    hooks = [TensorBoard(given["tensorboard"])] if given["tensorboard"] else []
    run = unbraid.fit(method, table, sampling=sampling, show=not given["quiet"], hooks=hooks, **training)
    if given["train_only"]:
        print(f"trained: {run.path}")
        return 0
    with machine.torch_threads(training.get("threads")), Stages(show=not given["quiet"]) as tell:
        complete(run, lambda: (method, table), given["points"], suite=True, metrics=metrics, tell=tell)
        page = unbraid.report(run, tell=tell)
    print_scores(run.scores(), run.path.name)
    for name, what in (("codes.csv", "codes of each sample"), ("effects.csv", "what each latent moves")):
        if (run.path / name).exists():
            print(f"{what}: {run.path / name}")
    print(f"report: {page}")
    return 0


def _parser(method: str, data: str) -> Parser:
    parser = Parser(
        prog=f"unbraid run {method}",
        usage=f"unbraid run {method} [--data NAME] [options]",
        description=DESCRIPTION,
    )
    _add_training(parser)
    entry = catalogue.find("data", data)
    parser.add_options(f"data set {data}", entry.arguments, entry.summary)
    return parser


def _add_training(parser: Parser) -> None:
    training = parser.add_argument_group("training")
    training.add_argument("--data", metavar="NAME", help="data set (default: dsprites; two_folders with --target)")
    options = [argument for argument in catalogue.signature("train/fit.py", "fit") if argument.name in TRAINING]
    add_options(training, options)
    training.add_argument("--points", type=int, help=f"images to encode for the scores (default: {POINTS})")
    training.add_argument("--metrics", help="names, separated by commas (default: all that the run can have)")
    training.add_argument("--tensorboard", metavar="DIR", help="write loss terms and traversals for TensorBoard")
    training.add_argument("--data-root", metavar="DIR", help="folder of data files (default: UNBRAID_DATA)")
    training.add_argument("--train-only", action="store_true", help="neither score nor report")
    training.add_argument("--quiet", action="store_true", help="no progress bar")


def _print_help() -> None:
    """What goes for all methods, and their names; each has a help of its own."""
    parser = Parser(
        prog="unbraid run METHOD",
        usage="unbraid run METHOD [--data NAME] [options]",
        description=DESCRIPTION,
        epilog="'unbraid run METHOD --data NAME --help' shows the options of that method and that data set.",
    )
    _add_training(parser)
    print(parser.format_help())
    rows = [[entry.name, entry.summary] for entry in catalogue.entries("methods").values()]
    print_table("", ["method", "what it is"], rows)


def _option(words: list[str], flag: str) -> str:
    for i, word in enumerate(words):
        if word == flag and i + 1 < len(words):
            return words[i + 1]
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    two = any(word.partition("=")[0] in ("--target", "--background") for word in words)
    return "two_folders" if two else "dsprites"
