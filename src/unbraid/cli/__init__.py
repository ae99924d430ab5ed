"""The command line: run | score | report | study | collect | reproduce | list | data."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from unbraid.cli import data, listing, report, reproduce, run, score, study
from unbraid.cli.parser import Parser
from unbraid.errors import Problem


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command and gives the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _note
        return _main(words)


def _note(message: Warning | str, *place: Any, **more: Any) -> None:
    """A warning as one plain line, without the place in our source that gave it."""
    print(f"unbraid: note: {' '.join(str(message).split())}", file=sys.stderr)


def _main(words: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if words is None else words)
    try:
        if words[:1] == ["run"]:
            return run.main(words[1:])
        parser = Parser(prog="unbraid", description="Learn disentangled representations and measure them.")
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
        for module in (run, score, report, study, reproduce, listing, data):
            module.add(commands)
        arguments = parser.parse(words)
        code: int = arguments.main(arguments)
        return code
    except Problem as problem:
        print(f"unbraid: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(f"\nunbraid: {stop or 'stopped'}; the same command continues from there", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
