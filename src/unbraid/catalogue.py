"""What there is: methods, data sets and metrics, found by listing their folders.

Signatures and docstrings are read from the source without importing it, so that the command line answers at once.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from unbraid.errors import UserError, unknown

HERE = Path(__file__).parent
NUMBERS: dict[str, tuple[type, str]] = {"int": (Integral, "a whole number"), "float": (Real, "a number")}
SIZES = {"width", "critic_width", "translator_width", "critic_layers", "latents", "features", "dims", "codes", "slices"}
SIZES |= {"common", "salient", "nuisance", "adversary_steps", "hidden"}
SIZES |= {"batch", "pairs", "bins"}  # of metrics
COUNTS = {"predictive", "noise", "draw"}  # sizes that may be 0, and seeds of data
KINDS = {"methods": "method", "data": "data set", "metrics": "metric"}
FOLDERS = {
    "metrics": ("metrics", "metrics/model"),
    "data": ("data/sets",),
}  # where not the kind's name


@dataclass(frozen=True)
class Argument:
    name: str
    type: str
    required: bool
    default: Any
    meaning: str


@dataclass(frozen=True)
class Entry:
    """A method, data set or metric: the class or function named like its file."""

    folder: str
    name: str
    summary: str
    definition: str
    arguments: tuple[Argument, ...]
    traits: dict[str, Any]  # literal or name-valued class attributes, such as `eats` and `gives`

    def load(self) -> Any:
        """The class or function itself."""
        return getattr(importlib.import_module(f"unbraid.{self.folder.replace('/', '.')}.{self.name}"), self.definition)


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind: 'methods', 'data' or 'metrics'."""
    folders = FOLDERS.get(kind, (kind,))
    found = (_read(folder, path) for folder in folders for path in sorted((HERE / folder).glob("*.py")))
    return {entry.name: entry for entry in found if entry}


def find(kind: str, name: str) -> Entry:
    known = entries(kind)
    if name not in known:
        raise unknown(KINDS[kind], name, known)
    return known[name]


def of_models() -> tuple[str, ...]:
    """The metrics that need the model, not its codes alone."""
    return tuple(name for name, entry in entries("metrics").items() if entry.folder == "metrics/model")


def check(entry: Entry, given: dict[str, Any]) -> None:
    """Refuses arguments that the entry does not take, or not with this value, and missing ones that it needs."""
    names = [argument.name for argument in entry.arguments]
    for name in given:
        if name not in names:
            raise unknown(f"argument of {entry.name}", name, names)
    for argument in entry.arguments:
        if argument.required and argument.name not in given:
            raise UserError(f"{entry.name} needs --{argument.name.replace('_', '-')}: {argument.meaning}")
        if argument.name in given:
            _check_value(entry, argument, given[argument.name])


def _check_value(entry: Entry, argument: Argument, value: Any) -> None:
    number, told = NUMBERS.get(argument.type, (object, ""))
    if not isinstance(value, number) or (told and isinstance(value, bool)):
        raise UserError(f"{argument.name} of {entry.name} must be {told}, not {value!r}")
    if argument.name in SIZES and isinstance(value, Integral) and value < 1:
        raise UserError(f"{argument.name} of {entry.name} must be 1 or more, not {value}")
    if argument.name in COUNTS and isinstance(value, Integral) and value < 0:
        raise UserError(f"{argument.name} of {entry.name} must be 0 or more, not {value}")
    if isinstance(value, Real) and told:
        if not math.isfinite(value):
            raise UserError(f"{argument.name} of {entry.name} must be a finite number, not {value}")
        if (argument.name == "lr" or argument.name.endswith("_lr")) and value <= 0:
            raise UserError(f"{argument.name} of {entry.name} must be more than 0, not {value}")


def sampling(kind: str) -> tuple[Argument, ...]:
    """The keyword arguments of the sampler of a batch kind, by the record's name."""
    return signature("data/samplers.py", re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower())


def signature(file: str, function: str) -> tuple[Argument, ...]:
    """The keyword arguments of a function in a file of the package."""
    for node in ast.parse((HERE / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return tuple(_arguments(node, ast.get_docstring(node) or ""))
    raise LookupError(f"{file} has no function {function}")


def _read(folder: str, path: Path) -> Entry | None:
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if node.name.lower().replace("_", "") != path.stem.replace("_", "") or not _is_final(node):
            continue
        function, traits = node, dict[str, Any]()
        if isinstance(node, ast.ClassDef):
            traits = dict(_traits(node))
            function = next((f for f in node.body if getattr(f, "name", "") == "__init__"), node)  # type: ignore[assignment]
        arguments = _arguments(function, ast.get_docstring(node) or "") if isinstance(function, ast.FunctionDef) else []
        summary = (ast.get_docstring(tree) or "").split("\n")[0]
        return Entry(folder, path.stem, summary, node.name, tuple(arguments), traits)
    return None


def _is_final(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """An entry is a function, or a class that derives from a contract and is not abstract itself."""
    if isinstance(node, ast.FunctionDef):
        return True
    return bool(node.bases) and not any(isinstance(base, ast.Name) and base.id == "ABC" for base in node.bases)


def _traits(node: ast.ClassDef) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for line in node.body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            value = line.value.id if isinstance(line.value, ast.Name) else _literal(line.value)
            found.append((line.targets[0].id, value))
    return found


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return ast.unparse(node) if node else None


def _arguments(function: ast.FunctionDef, doc: str) -> list[Argument]:
    meanings = dict(re.findall(r"^ {4,}(\w+): (.+)$", doc, re.MULTILINE))
    return [
        Argument(
            name=arg.arg,
            type=ast.unparse(arg.annotation) if arg.annotation else "str",
            required=default is None,
            default=_literal(default),
            meaning=meanings.get(arg.arg, ""),
        )
        for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    ]
