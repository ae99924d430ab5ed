"""What there is: methods, data sets and metrics, found by listing their folders.

Signatures and docstrings are read from the source without importing it, so that the command line answers at once.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from unbraid import config
from unbraid.config import Argument, arguments_in_source, literal
from unbraid.errors import UserError, unknown

HERE = Path(__file__).parent
KINDS = {"methods": "method", "data": "data set", "metrics": "metric"}
FOLDERS = {"metrics": ("metrics", "metrics/model"), "data": ("data/sets",)}  # where not the kind's name


@dataclass(frozen=True)
class Entry:
    """A method, data set or metric: the class or function named like its file."""

    folder: str
    name: str
    summary: str
    definition: str
    arguments: tuple[Argument, ...]
    traits: dict[str, Any]  # literal or name-valued class attributes, and `batch_kind`, the type parameter of a method

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


def load_object(spec: str) -> Any:
    """What 'file.py:name' or 'package.module:name' stands for."""
    place, _, name = spec.rpartition(":")
    module = _module(place) if place.endswith(".py") else importlib.import_module(place)
    if not hasattr(module, name):
        raise UserError(f"{place} has no '{name}'")
    return getattr(module, name)


@cache
def _module(file: str) -> Any:
    path = Path(file)
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def of_models() -> tuple[str, ...]:
    """The metrics that need the model, not its codes alone."""
    return tuple(name for name, entry in entries("metrics").items() if entry.folder == "metrics/model")


def check(entry: Entry, given: dict[str, Any]) -> None:
    """Refuses arguments that the entry does not take, or not with this value, and missing ones that it needs."""
    config.check(entry.name, entry.arguments, given)


def sampling(kind: str) -> tuple[Argument, ...]:
    """The keyword arguments of the sampler of a batch kind, by the record's name."""
    return signature("data/samplers.py", re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower())


def signature(file: str, function: str) -> tuple[Argument, ...]:
    """The keyword arguments of a function in a file of the package."""
    for node in ast.parse((HERE / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return arguments_in_source(node, ast.get_docstring(node) or "")
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
        doc = ast.get_docstring(node) or ""
        arguments = arguments_in_source(function, doc) if isinstance(function, ast.FunctionDef) else ()
        summary = (ast.get_docstring(tree) or "").split("\n")[0]
        return Entry(folder, path.stem, summary, node.name, arguments, traits)
    return None


def _is_final(node: ast.ClassDef | ast.FunctionDef) -> bool:
    """An entry is a function, or a class that derives from a contract and is not abstract itself."""
    if isinstance(node, ast.FunctionDef):
        return True
    return bool(node.bases) and not any(isinstance(base, ast.Name) and base.id == "ABC" for base in node.bases)


def _traits(node: ast.ClassDef) -> list[tuple[str, Any]]:
    parameters = [base.slice.id for base in node.bases if isinstance(base, ast.Subscript) and hasattr(base.slice, "id")]
    lines = [line for line in node.body if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)]
    return [
        *(("batch_kind", name) for name in parameters),
        *((line.targets[0].id, getattr(line.value, "id", None) or literal(line.value)) for line in lines),  # type: ignore[attr-defined]
    ]
