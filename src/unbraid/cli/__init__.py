"""The command line: a module for each command, or for two that belong together."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import unbraid
from unbraid.cli import compare, data, encode, explore, export, listing, report, reproduce, run, score, study
from unbraid.cli.parser import Parser
from unbraid.errors import UserError


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command and gives the exit code."""
    told: set[str] = set()

    def note(message: Warning | str, *place: Any, **more: Any) -> None:
        """A warning as one plain line, once, without the place in our source that gave it."""
        line = " ".join(str(message).split())
        if line not in told:
            print(f"unbraid: note: {line}", file=sys.stderr)
        told.add(line)

    with warnings.catch_warnings():
        warnings.showwarning = note
        return _main(words)


def _main(words: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if words is None else words)
    try:
        if words[:1] == ["run"]:
            return run.main(words[1:])
        parser = Parser(prog="unbraid", description="Learn disentangled representations and measure them.")
        parser.add_argument("--version", action="version", version=f"unbraid {unbraid.__version__}")
        commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
        for module in (run, score, report, compare, explore, encode, export, study, reproduce, listing, data):
            module.add(commands)
        arguments = parser.parse(words)
        code: int = arguments.main(arguments)
        return code
    except UserError as error:
        print(f"unbraid: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(f"\nunbraid: {str(stop) or 'stopped'}; the same command continues from there", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    except MemoryError as error:
        print(f"unbraid: there is not enough memory for this: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # whatever was not foreseen: a folder that is not yours, a disk that is read-only
        print(f"unbraid: {error.filename or 'a file'} cannot be used: {error.strerror or error}", file=sys.stderr)
        return 1
