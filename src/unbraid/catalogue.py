"""What there is: methods, data sets and metrics, found by listing their folders, and users' own.

Signatures and docstrings are read from the source without importing it, so that the command line answers at once.
Users' own methods and data sets are named by their place, 'file.py:Class' or 'package.module:Class', or by the name
under which an installed package gives them (the entry points `unbraid.methods` and `unbraid.data`); those are imported.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from unbraid import config
from unbraid.config import Argument, arguments_in_source, literal
from unbraid.errors import UserError, unknown

HERE = Path(__file__).parent
KINDS = {"methods": "method", "data": "data set", "metrics": "metric"}
FOLDERS = {"metrics": ("metrics", "metrics/model"), "data": ("data/sets",)}  # where not the kind's name
OBJECT = "an object of "  # begins the description of a network that was given as a module, not as a factory
FROM_FILE = "__unbraid_file__"  # in a module that was loaded from a user's file: its path
TRAIT = {"methods": "batch_kind", "data": "gives"}  # what the classes of a kind have
CLASS_OF = {"methods": "unbraid.methods.contract.Method", "data": "unbraid.data.table.Table"}
NETWORKS = (  # arguments of every method that has such a network
    Argument("encoder", "str | None", False, None, "encoder of your own: file.py:Net or package.module:Net"),
    Argument("decoder", "str | None", False, None, "decoder of your own: file.py:Net or package.module:Net"),
)


@dataclass(frozen=True)
class Entry:
    """A method, data set or metric: the class or function named like its file, or a user's own, named by its place."""

    folder: str  # empty of a user's own
    name: str
    summary: str
    definition: str
    arguments: tuple[Argument, ...]
    traits: dict[str, Any]  # literal or name-valued class attributes, and `batch_kind`, the type parameter of a method
    imported: Any = field(default=None, compare=False)  # a user's own class

    def load(self) -> Any:
        """The class or function itself."""
        if self.imported is not None:
            return self.imported
        return getattr(importlib.import_module(f"unbraid.{self.folder.replace('/', '.')}.{self.name}"), self.definition)


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind: 'methods', 'data' or 'metrics'."""
    folders = FOLDERS.get(kind, (kind,))
    found = (_read(folder, path) for folder in folders for path in sorted((HERE / folder).glob("*.py")))
    return {entry.name: entry for entry in found if entry}


def find(kind: str, name: str) -> Entry:
    """A method, data set or metric by its name, or a user's own by its place, 'file.py:Class'."""
    if isinstance(name, str) and ":" in name and kind in TRAIT:
        return _own(kind, load_object(name), absolute(name))
    known = entries(kind)
    if name in known:
        return known[name]
    installed = _installed(kind)
    if name in installed:
        return _own(kind, installed[name].load(), name)
    raise unknown(KINDS[kind], name, [*known, *installed])


def entry_of(kind: str, thing: Any) -> Entry:
    """The entry of a method or data set that is given by name, by place or as a class."""
    if isinstance(thing, str):
        return find(kind, thing)
    if not isinstance(thing, type):
        raise UserError(f"a {KINDS[kind]} is given by its name, as 'file.py:Class' or as a class, not as {thing!r}")
    return _own(kind, thing, name_of(thing))


def installed_entries(kind: str) -> dict[str, Entry]:
    """What installed packages give; they are imported."""
    return (
        {} if kind not in TRAIT else {name: _own(kind, point.load(), name) for name, point in _installed(kind).items()}
    )


def name_of(thing: Any) -> str:
    """The name by which a class is found again: that of its file here, or the place of a user's own."""
    module = str(thing.__module__)
    if module.startswith(("unbraid.methods.", "unbraid.data.sets.")):
        return module.rpartition(".")[2]
    place = place_of(thing)
    names = [name for kind in TRAIT for name, point in _installed(kind).items() if point.value == place]
    return names[0] if names else place


def name_of_table(table: Any) -> str:
    """The name by which a data set is found again, or the place of a user's own class that was not loaded by it."""
    ours = type(table).__module__.startswith("unbraid.")
    return str(table.origin or (table.name if ours else place_of(type(table))))


def place_of(thing: Any) -> str:
    """'file.py:name' of what was defined in a script or loaded from a file, 'package.module:name' of all else."""
    module = sys.modules.get(thing.__module__)
    file = getattr(module, "__file__" if thing.__module__ == "__main__" else FROM_FILE, None)
    return f"{Path(file).absolute() if file else thing.__module__}:{thing.__qualname__}"


def absolute(place: str) -> str:
    """A place with the absolute path of its file, so that it means the same from any working directory."""
    file, name, arguments = split_place(place)
    file = str(Path(file).expanduser().absolute()) if file.endswith(".py") else file
    return f"{file}:{name}{arguments}"


def split_place(place: str) -> tuple[str, str, str]:
    """The file or module of a place, the name in it, and the arguments behind that name, with their brackets."""
    found = re.fullmatch(r"(?P<file>.*?\.py|[^(:]*):(?P<name>[^(]*)(?P<arguments>.*)", place, re.DOTALL)
    if not found or not found["file"] or not found["name"]:
        raise UserError(f"'{place}' names nothing: write file.py:name or package.module:name")
    return found["file"], found["name"], found["arguments"]


def source_digest(place: str) -> str | None:
    """A digest of the file that a place lies in; None where there is none. Nothing is imported."""
    try:
        module = split_place(place.removeprefix(OBJECT))[0]
        file = module if module.endswith(".py") else getattr(sys.modules.get(module), "__file__", None)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file and Path(file).is_file() else None
    except (OSError, ValueError, UserError):  # what a run calls a file need not be one
        return None


def load_object(spec: str) -> Any:
    """What 'file.py:name' or 'package.module:name' stands for."""
    place, name, _ = split_place(absolute(spec))
    try:
        module = _module(place) if place.endswith(".py") else importlib.import_module(place)
    except (ImportError, SyntaxError) as error:
        raise UserError(f"'{spec}' cannot be imported: {error}") from error
    if not hasattr(module, name):
        raise UserError(f"{place} has no '{name}'")
    return getattr(module, name)


def check_place(spec: str) -> None:
    """Refuses 'file.py:name' without such a file or such a name in it, and a module that is not installed.

    The file is read and not imported: it may need what is slow to import, or what only other machines have.
    """
    place, name, _ = split_place(absolute(spec))
    if not place.endswith(".py"):
        if importlib.util.find_spec(place.partition(".")[0]) is None:
            raise UserError(f"'{spec}' cannot be imported: there is no '{place.partition('.')[0]}'")
        return
    if not Path(place).is_file():
        raise UserError(f"there is no file {place}")
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{place} cannot be read as Python: {error}") from error
    names = {getattr(node, part, None) for node in ast.walk(tree) for part in ("name", "asname", "id")}
    if not {name, "*"} & names:
        raise UserError(f"{place} has no '{name}'")


def _own(kind: str, thing: Any, name: str) -> Entry:
    """The entry of a user's own class, from its signature."""
    if not isinstance(thing, type) or not hasattr(thing, TRAIT[kind]):
        raise UserError(f"'{name}' is no {KINDS[kind]}: derive it from {CLASS_OF[kind]}")
    if missing := sorted(getattr(thing, "__abstractmethods__", ())):
        raise UserError(f"'{name}' is not complete: it lacks {', '.join(missing)}")
    doc = inspect.getdoc(thing) or ""
    arguments = config.arguments_of(thing.__init__, doc)  # type: ignore[misc]
    trait = getattr(thing, TRAIT[kind])
    traits = {TRAIT[kind]: trait.__name__ if isinstance(trait, type) else trait}
    return Entry("", name, doc.split("\n")[0], thing.__name__, arguments, traits, thing)


@cache
def _installed(kind: str) -> dict[str, EntryPoint]:
    """The entry points of installed packages; a name that exists here is ours."""
    return {point.name: point for point in entry_points(group=f"unbraid.{kind}") if point.name not in entries(kind)}


def _module(file: str) -> Any:
    path = Path(file)
    if not path.is_file():
        raise UserError(f"there is no file {path}")
    main = sys.modules.get("__main__")
    if getattr(main, "__file__", None) and Path(str(main.__file__)).absolute() == path:  # type: ignore[union-attr]
        return main
    return _executed(path, path.read_bytes())


@cache
def _executed(path: Path, source: bytes) -> Any:
    """The module of a file as it is now: one that was edited since it was loaded is another."""
    digest = hashlib.sha256(str(path).encode() + source).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}_{digest}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    module.__dict__[FROM_FILE] = str(path)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def of_models() -> tuple[str, ...]:
    """The metrics that need the model, not its codes alone."""
    return tuple(name for name, entry in entries("metrics").items() if entry.folder == "metrics/model")


def check(entry: Entry, given: dict[str, Any]) -> None:
    """Refuses arguments that the entry does not take, or not with this value, and missing ones that it needs."""
    config.check(entry.name.rpartition(":")[2], entry.arguments, given)


def sampling(kind: str) -> tuple[Argument, ...]:
    """The keyword arguments of the sampler of a batch kind, by the record's name."""
    return signature("data/samplers.py", re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower())


def signature(file: str, function: str) -> tuple[Argument, ...]:
    """The keyword arguments of a function in a file of the package."""
    for node in ast.parse((HERE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return arguments_in_source(node, ast.get_docstring(node) or "")
    raise LookupError(f"{file} has no function {function}")


def _read(folder: str, path: Path) -> Entry | None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
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
