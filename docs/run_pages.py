"""Runs the blocks of a page one after the other, and keeps in the page what they print.

python -m docs.run_pages [PAGE ...]        (all tutorials; `make tutorials`)

What happens to a fenced block of a page:

    ```python                     is run; all blocks of a page share their names
    ```python title="study.py"    is written to that file
    ```sh                         its lines are run as commands
    ```text                       right after a block that is run: what that block prints

`<!-- slow -->` in the line before a block: the tests leave it out. `<!-- not run -->`: it needs what is not here, such
as a cluster.
A page runs in a folder of its own. Pictures that it makes there and shows are copied to `pictures/` beside it.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"(?:<!-- (?P<mark>slow|not run) -->\n)?```(?P<kind>python|sh)(?: title=\"(?P<file>[^\"]+)\")?\n(?P<code>.*?)```\n"
    r"(?:\n```text\n(?P<output>.*?)```\n)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block, and where in the page its output stands."""

    kind: str
    code: str
    mark: str | None
    file: str | None
    output: tuple[int, int] | None


def blocks(text: str) -> Iterator[Block]:
    for found in FENCE.finditer(text):
        output = None if found["output"] is None else found.span("output")
        yield Block(found["kind"], found["code"], found["mark"], found["file"], output)


def shorter(code: str) -> str:
    """The same with three steps of training."""
    return re.sub(r"\b(steps(?:=| |\": ))\d+", r"\g<1>3", code)


def run_page(page: Path, folder: Path, *, quick: bool = False) -> tuple[str, dict[str, Any]]:
    """Runs a page in a folder; gives its text with the new outputs, and the names that its blocks have made."""
    text = page.read_text()
    names: dict[str, Any] = {"__name__": "page"}
    pieces, done = [], 0
    with chdir(folder):
        for block in blocks(text):
            if block.mark == "not run" or (quick and block.mark == "slow"):
                continue
            printed = _run(block, shorter(block.code) if quick else block.code, names, page)
            if block.output:
                pieces += [text[done : block.output[0]], _tidy(printed)]
                done = block.output[1]
    return "".join([*pieces, text[done:]]), names


def _run(block: Block, code: str, names: dict[str, Any], page: Path) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(code)
        elif block.kind == "python":
            exec(compile(code, str(page), "exec"), names)
        else:
            for line in code.replace("\\\n", " ").splitlines():
                _command(line)
    return printed.getvalue()


def _command(line: str) -> None:
    from unbraid.cli import main

    words = shlex.split(line, comments=True)
    if words[:1] == ["unbraid"]:
        words = [path for word in words for path in _matching(word)]
        code = main(words[1:])
    else:
        python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(line, shell=True, env={**os.environ, "PATH": python}, capture_output=True, text=True)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
        code = done.returncode
    if code:
        raise RuntimeError(f"'{line}' ends with code {code}")


def _matching(word: str) -> list[str]:
    """The paths that a pattern stands for, as in a shell; the word itself where there are none."""
    found = sorted(map(str, Path().glob(word))) if "*" in word and not Path(word).is_absolute() else []
    return found or [word]


def _tidy(printed: str) -> str:
    """Without the folder that the page ran in, and without spaces at the ends of lines."""
    lines = printed.replace(f"{Path.cwd()}/", "").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines).strip("\n") + "\n"


def keep_pictures(page: Path, text: str, folder: Path) -> None:
    for name in re.findall(r"\]\(pictures/([\w.]+)\)", text):
        if (folder / name).exists():
            shutil.copy(folder / name, page.parent / "pictures" / name)


def main() -> None:
    os.environ.setdefault("COLUMNS", "110")
    for page in [Path(word) for word in sys.argv[1:]] or sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        folder = ROOT / "build" / "tutorials" / page.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        start = time.monotonic()
        text, _ = run_page(page.resolve(), folder)
        page.write_text(text)
        keep_pictures(page, text, folder)
        print(f"{page.name}: {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
