"""What the project says of itself in several places agrees."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project() -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def test_the_version_is_the_same_everywhere(project: dict[str, object]) -> None:
    citation = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    released = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert citation == [project["version"]] == released[:1]


def test_workflows_call_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.M))
    called = {
        target
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for target in re.findall(r"run: make (\S+)", path.read_text())
    }
    assert {"test", "docs", "package"} <= called <= targets


def test_benchmarks_that_make_runs_exist() -> None:
    (names,) = re.findall(r"for script in (.+?);", (ROOT / "Makefile").read_text())
    assert {name for name in names.split() if not (ROOT / "benchmarks" / f"{name}.py").exists()} == set()


def without_encoding(source: str) -> list[int]:
    """The lines of calls that read or write text in whatever encoding the machine prefers."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        words = {keyword.arg for keyword in node.keywords}
        text = any(re.fullmatch(r"'[rwxat+]+'", ast.unparse(argument)) for argument in node.args)
        opens = called in ("open", "fdopen") and (text or "newline" in words or not (node.args or words))
        if (opens or called in ("read_text", "write_text")) and "encoding" not in words:
            found.append(node.lineno)
    return found


def test_text_is_read_and_written_as_utf_8() -> None:
    lines = ["p.read_text()", "p.write_text(x)", "p.open()", "open(p, 'w')", "os.fdopen(1, 'w')", "p.open(newline='')"]
    lines += ["p.read_text(encoding='utf-8')", "p.open('rb')", "archive.open(name)", "open(p, 'a', encoding='utf-8')"]
    assert without_encoding("\n".join(lines)) == [1, 2, 3, 4, 5, 6]
    found = {path: without_encoding(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


def lines_of_code(node: ast.Module | ast.FunctionDef) -> set[int]:
    """The lines on which code begins in a module or in a function, without its signature and without descriptions."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    text = {id(each.body[0]) for each in ast.walk(node) if isinstance(each, described) and ast.get_docstring(each)}
    own = [each for part in node.body for each in ast.walk(part)]
    words = {id(part) for each in own if id(each) in text for part in ast.walk(each)}
    return {each.lineno for each in own if id(each) not in words and isinstance(each, ast.stmt | ast.expr | ast.arg)}


def test_files_methods_and_functions_stay_short() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    assert len(sources) > 200
    assert not {path.name for path, text in sources.items() if len(text.splitlines()) > 300}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    assert not {
        path.name for path, tree in trees.items() if path.parent.name == "methods" and len(lines_of_code(tree)) > 120
    }
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not {node.name for node in functions if len(lines_of_code(node)) > 40}
    example = "'''A module.'''\n\nx = (1 +\n  2)\n\ndef f(\n  a,\n  b\n):\n  '''It.'''\n  return a\n"
    assert lines_of_code(ast.parse(example)) == {3, 4, 6, 7, 8, 11}
    (function,) = (node for node in ast.walk(ast.parse(example)) if isinstance(node, ast.FunctionDef))
    assert lines_of_code(function) == {11}
