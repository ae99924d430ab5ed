"""`unbraid list`: methods, data sets and metrics."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from unbraid import catalogue
from unbraid.cli.console_tables import print_table
from unbraid.cli.parser import Parser


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("list", help="show what there is")
    parser.add_argument("kind", choices=list(catalogue.KINDS), help="what to list")
    parser.add_argument("--json", action="store_true", help="with all arguments, for programs")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    entries = catalogue.entries(arguments.kind) | catalogue.installed_entries(arguments.kind)
    if arguments.json:
        listed = {
            name: {"summary": e.summary, "arguments": [asdict(a) for a in e.arguments]} for name, e in entries.items()
        }
        print(json.dumps(listed, indent=2))
    else:
        rows = [[name, entry.summary] for name, entry in entries.items()]
        print_table("", [catalogue.KINDS[arguments.kind], "what it is"], rows)
    return 0
