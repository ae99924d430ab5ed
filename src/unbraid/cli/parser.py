"""Argument parsers made from signatures, which suggest the nearest name for a misspelt one."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from unbraid.config import Argument
from unbraid.errors import UserError, unknown

TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str}


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        arguments, rest = self.parse_known_args(words)
        for word in rest:
            if word.startswith("-"):
                raise unknown("option", word.partition("=")[0], self._flags(words))
        if rest:
            self.error(f"'{rest[0]}' is one word too many")
        return arguments

    def add_options(self, title: str, arguments: Iterable[Argument], summary: str | None = None) -> None:
        """A group with an option for each argument of a signature."""
        group = self.add_argument_group(title, summary)
        try:
            add(group, arguments)
        except argparse.ArgumentError as error:
            flag = re.findall(r"--[\w-]+", error.message)[0]
            other = next(
                g.title for g in self._action_groups if any(flag in a.option_strings for a in g._group_actions)
            )
            raise UserError(
                f"{flag} is an option of '{other}' and of '{title}': rename that argument of the one that is yours"
            ) from error

    def error(self, message: str) -> Any:
        """A misspelt command or choice gets the nearest one; everything else is argparse's own sentence."""
        match = re.search(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if match:
            kind = "command" if match[1] == "COMMAND" else f"value of {match[1]}"
            raise unknown(kind, match[2], re.findall(r"[\w-]+", match[3]))
        super().error(message)

    def _flags(self, words: Sequence[str]) -> list[str]:
        flags = [flag for action in self._actions for flag in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word in words:
                    if word in action.choices:
                        flags += action.choices[word]._flags(words)
        return flags


def add(group: argparse._ArgumentGroup, arguments: Iterable[Argument]) -> None:
    """An option for each argument of a signature."""
    for argument in arguments:
        flag = f"--{argument.name.replace('_', '-')}"
        kind = argument.type.removesuffix(" | None").strip()
        shown = "required" if argument.required else f"default: {argument.default}"
        text = f"{argument.meaning} ({kind}, {shown})".replace("%", "%%")
        options: dict[str, Any] = {"dest": argument.name, "default": argparse.SUPPRESS, "help": text}
        if kind == "bool":
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
            continue
        choices = argument.choices or None
        group.add_argument(flag, type=TYPES.get(kind, str), choices=choices, metavar=argument.name.upper(), **options)
