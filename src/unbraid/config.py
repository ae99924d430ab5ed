"""The constructor is the configuration: signatures are read, values checked against them, and arguments remembered.

A limit stands beside its argument as an annotation: `latents: Size = 10`, `crop: Annotated[int, Within(1, 178)] = 148`.
An argument that names a file or folder is a `FilePath`, which is kept as an absolute path; `FilePaths` are several of
them, separated by commas. Annotations are read as
text, so that a signature can be read from the source without importing it.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from unbraid.errors import UserError, unknown


@dataclass(frozen=True)
class AtLeast:
    """A number that is not smaller than this."""

    least: float

    def refusal(self, value: float) -> str | None:
        return None if value >= self.least else f"{self.least:g} or more"


@dataclass(frozen=True)
class MoreThan:
    """A number that is larger than this."""

    bound: float

    def refusal(self, value: float) -> str | None:
        return None if value > self.bound else f"more than {self.bound:g}"


@dataclass(frozen=True)
class Within:
    """A number from `least` to `most`, both included."""

    least: float
    most: float

    def refusal(self, value: float) -> str | None:
        return None if self.least <= value <= self.most else f"from {self.least:g} to {self.most:g}"


Limit = AtLeast | MoreThan | Within
Size = Annotated[int, AtLeast(1)]
Count = Annotated[int, AtLeast(0)]
Weight = Annotated[float, AtLeast(0)]
Rate = Annotated[float, MoreThan(0)]
Share = Annotated[float, Within(0, 1)]
FilePath = Annotated[str, "a file or folder"]
FilePaths = Annotated[str, "files or folders, separated by commas"]
ALIASES = {"Size": Size, "Count": Count, "Weight": Weight, "Rate": Rate, "Share": Share}
LIMITED: dict[str, tuple[str, Limit]] = {
    name: (kind.__name__, limit) for name, alias in ALIASES.items() for kind, limit in [get_args(alias)]
}
PATHS = ("FilePath", "FilePaths")
LIMITS = {"AtLeast": AtLeast, "MoreThan": MoreThan, "Within": Within}
INLINE = re.compile(r"Annotated\[(int|float), (AtLeast|MoreThan|Within)\((.*)\)\]")
PLAIN: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
NUMBERS: dict[str, tuple[type, str]] = {"int": (Integral, "a whole number"), "float": (Real, "a number")}


@dataclass(frozen=True)
class Argument:
    """One keyword argument of a method, data set, metric or function."""

    name: str
    annotation: str
    required: bool
    default: Any
    meaning: str

    @property
    def type(self) -> str:
        """Without its limits: int, float, str, bool or Literal[...], with ' | None' where that is allowed."""
        kind, optional = _split(self.annotation)
        return _limited(kind)[0] + optional

    @property
    def choices(self) -> list[str]:
        kind = _split(self.annotation)[0]
        return re.findall(r"'([^']*)'", kind.replace('"', "'")) if kind.startswith("Literal[") else []

    def check(self, value: Any, owner: str) -> None:
        """Refuses a value that the annotation does not allow."""
        kind, optional = _split(self.annotation)
        if value is None:
            if optional or (self.default is None and not self.required):
                return
            raise UserError(f"{self.name} of {owner} must be given: {self.meaning or 'it cannot be None'}")
        plain, limit = _limited(kind)
        number: Any
        number, described = NUMBERS.get(plain, (object, ""))
        if not isinstance(value, number) or (described and isinstance(value, bool)):
            raise UserError(f"{self.name} of {owner} must be {described}, not {value!r}")
        if self.choices and value not in self.choices:
            raise UserError(f"{self.name} of {owner} must be {_either(self.choices)}, not '{value}'")
        if described and not math.isfinite(value):
            raise UserError(f"{self.name} of {owner} must be a finite number, not {value}")
        wanted = limit.refusal(value) if limit else None
        if wanted:
            raise UserError(f"{self.name} of {owner} must be {wanted}, not {value}")

    def absolute(self, value: Any) -> Any:
        """A path as an absolute one, so that it means the same from any working directory; all else as it is."""
        kind = _split(self.annotation)[0]
        if kind not in PATHS or not isinstance(value, str | Path):
            return value
        return ",".join(map(_absolute, split_paths(str(value)) if kind == "FilePaths" else [str(value)]))

    def converted(self, value: Any, owner: str) -> Any:
        """The value in its declared type, so that beta=4 and beta=4.0 are the same run; refuses what does not fit."""
        self.check(value, owner)
        value, kind = plain(self.absolute(value)), self.type.removesuffix(" | None").strip()
        if type(value) in (int, float) and type(self.default) in (int, float) and value == self.default:
            return self.default
        if value is None:
            return None
        if kind == "float" and type(value) in (int, float):
            return float(value)
        if kind in PLAIN and type(value) is not PLAIN[kind]:
            raise UserError(f"{self.name} of {owner} must be {'an' if kind == 'int' else 'a'} {kind}, not {value!r}")
        return value


def split_paths(text: str) -> list[str]:
    """The paths that are separated by commas; one where a file of the whole name exists."""
    return [text] if Path(text).expanduser().exists() else [part.strip() for part in text.split(",")]


def plain(value: Any) -> Any:
    """Arguments are kept as JSON, which knows neither numpy's numbers nor paths."""
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):  # it takes a while to import
        return value.item()
    return str(value) if isinstance(value, Path) else value


def check(owner: str, arguments: tuple[Argument, ...], given: dict[str, Any]) -> None:
    """Refuses arguments that the owner does not have, or not with this value, and missing ones that it needs."""
    names = [argument.name for argument in arguments]
    for name in given:
        if name not in names:
            raise unknown(f"argument of {owner}", name, names)
    for argument in arguments:
        if argument.required and argument.name not in given:
            raise UserError(f"{owner} needs --{argument.name.replace('_', '-')}: {argument.meaning}")
        if argument.name in given:
            argument.check(given[argument.name], owner)


def arguments_in_source(function: ast.FunctionDef, doc: str) -> tuple[Argument, ...]:
    """The keyword-only arguments of a function whose source was parsed; `doc` explains them."""
    meanings = _meanings(doc)
    return tuple(
        Argument(
            name=arg.arg,
            annotation=ast.unparse(arg.annotation) if arg.annotation else _kind_of(literal(default)),
            required=default is None,
            default=literal(default),
            meaning=meanings.get(arg.arg, ""),
        )
        for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    )


def arguments_of(function: Callable[..., Any], doc: str = "") -> tuple[Argument, ...]:
    """The same of a function that was imported."""
    meanings = _meanings(doc or inspect.getdoc(function) or "")
    keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return tuple(
        Argument(
            name=p.name,
            annotation=_kind_of(p.default) if p.annotation is p.empty else _as_text(p.annotation),
            required=p.default is p.empty,
            default=None if p.default is p.empty else p.default,
            meaning=meanings.get(p.name, ""),
        )
        for p in keywords
    )


def literal(node: ast.expr | None) -> Any:
    """The value of an expression that is a literal, else its text."""
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return ast.unparse(node) if node else None


class Configured:
    """Checks the keyword arguments of the constructor, and keeps them, defaults included, in `arguments`."""

    arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        signature = inspect.signature(cls.__init__)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        known = _constructor(cls)  # type: ignore[arg-type]
        owner = cls.__module__.rpartition(".")[2]
        kept = {a.name: a.converted(bound.arguments[a.name], owner) for a in known}
        object.__setattr__(self, "arguments", kept)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have the content, and need no arguments of the constructor."""
        return object.__new__, (type(self),), self.__dict__


@cache
def _constructor(cls: type) -> tuple[Argument, ...]:
    return arguments_of(cls.__init__, cls.__doc__ or "")  # type: ignore[misc]


def _kind_of(default: Any) -> str:
    """What stands for the annotation that an argument lacks."""
    return type(default).__name__ if type(default) in PLAIN.values() else "Any"


def _as_text(annotation: Any) -> str:
    """An annotation as it is written; it is an object where its file does not import annotations from __future__."""
    if isinstance(annotation, str):
        return annotation
    for name, alias in {**ALIASES, "FilePath": FilePath, "FilePaths": FilePaths}.items():
        if annotation == alias:
            return name
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " | ".join("None" if part is type(None) else _as_text(part) for part in parts)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin is Annotated and isinstance(parts[1], Limit):
        bounds = ", ".join(map(str, vars(parts[1]).values()))
        return f"Annotated[{parts[0].__name__}, {type(parts[1]).__name__}({bounds})]"
    return getattr(annotation, "__name__", "Any")


def _split(annotation: str) -> tuple[str, str]:
    kind = annotation.removesuffix(" | None").strip()
    return kind, " | None" if kind != annotation else ""


def _limited(kind: str) -> tuple[str, Limit | None]:
    """The plain type of an annotation, and its limit."""
    if kind in LIMITED:
        return LIMITED[kind]
    if inline := INLINE.fullmatch(kind):
        return inline[1], LIMITS[inline[2]](*map(float, inline[3].split(",")))
    return ("str" if kind in PATHS else kind), None


def _absolute(text: str) -> str:
    if not text or "://" in text:
        return text
    path = Path(text)
    with suppress(RuntimeError):  # '~name' of a user who does not exist
        path = path.expanduser()
    return str(path.resolve() if ".." in path.parts else path.absolute())


def _meanings(doc: str) -> dict[str, str]:
    return dict(re.findall(r"^ {4,}(\w+): (.+)$", doc, re.MULTILINE))


def _either(choices: Sequence[Any]) -> str:
    *others, last = map(str, choices)
    return f"{', '.join(others)} or {last}" if others else last
