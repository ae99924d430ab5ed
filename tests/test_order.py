"""Data flows one way: a module imports only from stages to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import unbraid

STAGES = [
    ["errors"],
    ["config", "machine"],
    ["catalogue"],
    ["maths"],
    ["data"],
    ["nets"],
    ["methods"],
    ["train"],
    ["codes"],
    ["encode", "effects"],
    ["metrics"],
    ["torchmetrics"],
    ["model"],
    ["sample_files"],
    ["encode_files"],
    ["export"],
    ["estimator"],
    ["figures"],
    ["problems"],
    ["evaluate"],
    ["study"],
    ["reports"],
    ["explorer"],
    ["cli"],
]
RANK = {name: rank for rank, stage in enumerate(STAGES) for name in stage}
ENTRANCES = {"__init__", "__main__"}
ROOT = Path(unbraid.__file__).parent


def imports(path: Path) -> set[str]:
    """The stages of the package that a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "unbraid":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unbraid."):
            found.add(str(node.module).split(".")[1])
    return found


def stage_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_file_belongs_to_a_stage() -> None:
    strangers = {stage_of(path) for path in ROOT.rglob("*.py")} - RANK.keys() - ENTRANCES
    assert not strangers


def test_imports_follow_the_flow() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in ROOT.rglob("*.py")
        if stage_of(path) not in ENTRANCES
        for name in imports(path)
        if RANK[name] > RANK[stage_of(path)] or (RANK[name] == RANK[stage_of(path)] and path.parent == ROOT)
    ]
    assert not wrong


def test_metrics_never_see_a_model_or_a_data_set() -> None:
    for path in (ROOT / "metrics").glob("*.py"):
        assert imports(path) <= {"errors", "config", "machine", "metrics"}, path.name


BLOCKS = {"s", "z", "p", "n"}  # names of blocks, and what the arrays of blocks in a file begin with
PREFIXES = ("codes_", "background_")
MAY_NAME_BLOCKS = ("problems", "methods", "encode.py", "codes.py")


def names_of_blocks(path: Path) -> list[str]:
    """String constants of a file that are names of blocks, docstrings aside; 'background_color' is a factor."""
    words = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
    strings = [word for word in words if isinstance(word, str) and word != "background_color"]
    return [word for word in strings if word in BLOCKS or word.startswith(PREFIXES)]


def test_blocks_are_named_by_problems_and_methods_alone() -> None:
    strangers = {
        str(path.relative_to(ROOT)): found
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] not in MAY_NAME_BLOCKS and (found := names_of_blocks(path))
    }
    assert not strangers
    assert names_of_blocks(ROOT / "problems" / "two_sets.py")  # the test sees them where they are
