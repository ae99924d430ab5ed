"""Would the tests notice? Plants one fault at a time in a module and runs the tests that belong to it.

    python -m tests.mutate src/unbraid/maths src/unbraid/methods --log mutants.jsonl

Each fault is a line of the log, with whether a test failed ("killed") or all passed ("survived"). What the log has of a
module that has not changed since is not done again (survivors are, with --again), so that this may be stopped at any
time. The faults of a folder come in random order: a part of them is a fair sample. Not planted: other defaults of
arguments (a test of a default would only repeat it), `strict` of zip, another order for `max` and the like, a missing
`device` (which needs a GPU to be seen), and anything in annotations and messages.

Tests of a module are its own (tests mirror src), those of modules that import it, those that mention it, and those of
every method or metric. Its own run first, then those with its name in theirs, then all.
tests/equivalent_mutants.md lists survivors that no test can see.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pkgutil
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src", ROOT / "tests"
FOLDERS = ("maths", "methods", "metrics")
HEAVY = [
    "hypothesis",
    "lightgbm",
    "matplotlib.pyplot",
    "pandas",
    "scipy.optimize",
    "scipy.stats",
    "torch.distributions",
]
HEAVY += [f"sklearn.{part}" for part in ("ensemble", "linear_model", "manifold", "svm", "tree")]
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
OPPOSITE = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPPOSITE |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
EDGE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
DROPPED = {"detach", "abs", "clamp", "sqrt", "exp", "log", "square", "clip"}
SWAPPED = {"mean": "sum", "sum": "mean", "min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin"}
SWAPPED |= {"any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor"}
SYMMETRIC = {"equal", "max", "maximum", "min", "minimum"}  # whose arguments may stand in any order
Place = tuple[ast.AST, str, int | None]  # parent, field, place in the field where it is a list


def places(node: ast.AST) -> Iterator[Place]:
    """Where a fault may be planted: everywhere but in annotations, docstrings, messages and defaults of arguments."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "type_params"):
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(
                child, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom
            ):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            yield node, field, i
            yield from places(child)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """The faults that a node may be replaced by."""

    def changed(**fields: Any) -> ast.AST:
        new = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        return new

    if isinstance(node, ast.BinOp | ast.AugAssign):
        if type(node.op) in ARITHMETIC:
            yield changed(op=ARITHMETIC[type(node.op)]())
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow):
            yield node.left
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            yield node.right
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (OPPOSITE, EDGE):
            if type(node.ops[0]) in table:
                yield changed(ops=[table[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield changed(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield changed(test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in DROPPED and isinstance(node.func, ast.Attribute):
        yield node.func.value if not _is_module(node.func.value) or not node.args else node.args[0]
    if name in SWAPPED:
        other = copy.deepcopy(node)
        assert isinstance(other.func, ast.Attribute)
        other.func.attr = SWAPPED[name]
        yield other
    symmetric = (name or getattr(node.func, "id", "")) in SYMMETRIC
    if len(node.args) > 1 and not symmetric and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    for i, keyword in enumerate(node.keywords):
        if keyword.arg not in (None, "strict", "device"):
            yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("np", "torch", "math", "F")


def mutants(source: str, file: str) -> Iterator[tuple[str, str, CodeType]]:
    """Line and column, what stands there instead of what, and the module's code with that fault."""
    tree = ast.parse(source)
    for parent, field, i in list(places(tree)):
        value = getattr(parent, field)
        old = value if i is None else value[i]
        for new in list(changes(old)):
            setattr(parent, field, new if i is None else [*value[:i], new, *value[i + 1 :]])
            if ast.unparse(new) != ast.unparse(old):
                code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
                yield f"{old.lineno}:{old.col_offset}", f"{_short(old)} -> {_short(new)}", code
        setattr(parent, field, value)


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:200]


class Faulty(importlib.machinery.SourceFileLoader):
    code: CodeType

    def get_code(self, fullname: str) -> CodeType:
        return self.code


class Planted(importlib.abc.MetaPathFinder):
    """Imports one module from other code than its file's."""

    def __init__(self, module: str, path: Path, code: CodeType) -> None:
        self.module, self.path, self.code = module, path, code

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.module:
            return None
        loader = Faulty(fullname, str(self.path))
        loader.code = self.code
        return importlib.util.spec_from_loader(fullname, loader)


class OneMethod:
    """Of the tests of the contract only those of one method."""

    def __init__(self, name: str) -> None:
        self.name = name

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        contract = TESTS / "test_contract.py"
        items[:] = [item for item in items if item.path != contract or f"[{self.name}]" in item.name]


def tests_of(path: Path) -> list[Path]:
    """The module's own tests first."""

    def own(of: Path) -> Path:
        part = of.relative_to(SOURCE / "unbraid")
        return TESTS / part.parent / f"test_{part.name}"

    stage = path.relative_to(SOURCE / "unbraid").parts[0]
    name = f"unbraid.{'.'.join(path.relative_to(SOURCE / 'unbraid').with_suffix('').parts)}"
    mentions = (name, f"from {name.rpartition('.')[0]} import {path.stem}", f'"{path.stem}"')
    sources = [p for folder in FOLDERS for p in sorted((SOURCE / "unbraid" / folder).rglob("*.py"))]
    using = [p for p in sources if any(mention in p.read_text() for mention in mentions[:2])]
    found = [own(path), *map(own, using)]
    found += [p for p in sorted((TESTS / stage).rglob("test_*.py")) if any(m in p.read_text() for m in mentions)]
    found += [TESTS / "test_contract.py"] if stage == "methods" else []
    found += sorted((TESTS / stage).glob("test_every_*.py"))
    return [p for p in dict.fromkeys(found) if p.exists()]


def run_tests(
    tests: Sequence[Path], planted: Planted | None, method: str, seconds: float, named: str = ""
) -> tuple[str, float]:
    """What came of the tests, or of those with a word in their names, in a process of their own, and the seconds."""
    begun, child = time.monotonic(), os.fork()
    if not child:
        os.setsid()
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        if planted:
            sys.meta_path.insert(0, planted)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options += ["-k", named] if named else []
        code = pytest.main([*options, *map(str, tests)], plugins=[OneMethod(method)])
        os._exit(0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code)
    while time.monotonic() - begun < seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return ("survived" if status == 0 else "killed"), time.monotonic() - begun
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "killed", seconds


class Module:
    """A file with the tests that belong to it."""

    def __init__(self, file: Path) -> None:
        self.file, self.name = file, str(file.relative_to(SOURCE))
        self.digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        self.mutants = list(mutants(file.read_text(), str(file)))
        tests, own = tests_of(file), TESTS / file.relative_to(SOURCE / "unbraid").parent / f"test_{file.name}"
        self.stages = [([own], "")] if own in tests else []
        self.stages += [(tests, file.stem), (tests, "")]
        self.usual: dict[int, float | None] = {}

    def outcome(self, code: CodeType, *, quick: bool) -> str:
        planted = Planted(self.name.removesuffix(".py").replace("/", "."), self.file, code)
        for i, (tests, named) in enumerate(self.stages[:-1] if quick else self.stages):
            seconds = self._usual(i)
            if seconds is None:
                continue
            if run_tests(tests, planted, self.file.stem, 60 + 10 * seconds, named)[0] == "killed":
                return "killed"
        return "survived"

    def _usual(self, stage: int) -> float | None:
        """The seconds that the tests of a stage take without a fault; None if they fail."""
        if stage not in self.usual:
            tests, named = self.stages[stage]
            outcome, seconds = run_tests(tests, None, self.file.stem, 3600, named)
            self.usual[stage] = None if outcome == "killed" else seconds
            if outcome == "killed":
                print(f"left out, they fail without any fault: {' '.join(map(str, tests))}", flush=True)
        return self.usual[stage]


def preload() -> None:
    """Imports all that the package needs, but not the package, so that each process need not."""
    import torch

    import unbraid

    torch.optim.Adam([torch.zeros(1, requires_grad=True)], fused=True)
    stages = [f"unbraid.{folder}." for folder in (*FOLDERS, "data", "train", "nets")]
    found = [module.name for module in pkgutil.walk_packages(unbraid.__path__, "unbraid.")]
    for name in (*HEAVY, *(name for name in found if name.startswith(tuple(stages)))):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "unbraid"]:
        del sys.modules[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="modules, or folders of them")
    parser.add_argument("--log", type=Path, required=True, help="file of results, a line of JSON each")
    parser.add_argument("--again", action="store_true", help="also try again those that survived")
    parser.add_argument("--quick", action="store_true", help="leave the last stage, all tests, out; --again does it")
    given = parser.parse_args()
    preload()
    lines = [json.loads(line) for line in given.log.read_text().splitlines()] if given.log.exists() else []
    known = {line["id"]: line["outcome"] for line in lines}
    for top in (path.resolve() for path in given.paths):
        modules = [Module(file) for file in (sorted(top.rglob("*.py")) if top.is_dir() else [top])]
        todo = [(module, *mutant) for module in modules for mutant in module.mutants]
        random.Random(0).shuffle(todo)
        for module, place, change, code in todo:
            key = f"{module.name} {module.digest} {place} {change}"
            if key in known and not (given.again and known[key] == "survived"):
                continue
            record = {"id": key, "file": module.name, "place": place, "change": change}
            with given.log.open("a") as log:
                log.write(json.dumps({**record, "outcome": module.outcome(code, quick=given.quick)}) + "\n")


if __name__ == "__main__":
    main()
