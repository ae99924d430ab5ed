"""What the project says of itself in several places agrees."""

from __future__ import annotations

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
