"""The blocks of README and documentation run, one after the other, with three steps of training (docs/run_pages.py)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.run_pages import blocks, run_page, shorter

from unbraid.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GUIDES = ("your_own", "cases_and_controls", "data", "impossibility", "metrics", "metrics/torchmetrics", "studies")
PAGES = [*(DOCS / f"{name}.md" for name in GUIDES), *sorted((DOCS / "tutorials").glob("*.md"))]
EXPECTED = {"your_own": (9, 0), "cases_and_controls": (2, 1)}  # at least so many blocks of Python and of commands


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, studies_in_this_process: None) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def run(page: Path, folder: Path) -> dict[str, Any]:
    return run_page(page, folder, quick=True)[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page: Path, here: Path) -> None:
    kinds = [block.kind for block in blocks(page.read_text())]
    python, commands = EXPECTED.get(page.stem, (0, 0) if page.stem == "README" else (1, 0))
    assert kinds.count("python") >= python
    assert kinds.count("sh") >= commands
    names = run(page, here)
    if page.stem == "your_own":
        assert names["codes"].shape == (60, 2)
        assert np.isfinite(names["best"].loss)
        assert names["z"].shape == (3, 10)
        assert names["again"].shape == (200, 32, 32, 3)
    if page.stem == "cases_and_controls":
        assert len(names["table"]) == 8 * 30
        assert set(names["table"]["feature"]) == set(names["frame"].columns) - {"sample"}
        assert (names["run"] / "codes.csv").read_text().count("\ntarget,") == 50  # those that are held out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_prints_is_kept_in_it(page: Path) -> None:
    text = page.read_text()
    empty = [block.code for block in blocks(text) if block.output and not text[slice(*block.output)].strip()]
    assert not empty, "make tutorials"


def test_python_in_the_readme_runs(here: Path) -> None:
    (code,) = [block.code for block in blocks((ROOT / "README.md").read_text()) if block.kind == "python"]
    assert code in (DOCS / "index.md").read_text()
    page = here / "README.md"
    page.write_text(re.sub(r"```sh\n.*?```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL))
    names = run(page, here)
    assert {"mig", "mcc"} <= names["scores"].keys()
    assert (names["run"].path / "report.html").exists()
    assert (names["run"].path / "explorer.html").exists()


def test_commands_in_the_readme_run(here: Path) -> None:
    (commands,) = [b.code for b in blocks((ROOT / "README.md").read_text()) if b.code.startswith("unbraid list")]
    rng = np.random.default_rng(0)
    np.save("FOLDER.npy", rng.integers(0, 255, (30, 64, 64, 1), dtype=np.uint8))
    for name in ("cases", "controls"):
        table = "\n".join(",".join(map(str, row)) for row in rng.normal(size=(40, 3)).round(3))
        Path(f"{name}.csv").write_text(f"a,b,c\n{table}\n")
    rows = "\n".join(f"{i % 3},{i % 4},{i % 3}.1,{i % 4}.2" for i in range(100))
    Path("codes.csv").write_text(f"shape,scale,z0,z1\n{rows}\n")
    for line in commands.splitlines():
        words = shlex.split(line.replace("FOLDER", "FOLDER.npy"), comments=True)
        if words[1] == "run":
            words += ["--steps", "2", "--width", "4", "--quiet"]
        if words[1] == "explore":
            words[2:] = [*map(str, Path("runs").glob("vae-*")), "--no-open"]
        assert main(words[1:]) == 0, line


def test_the_demo_is_what_the_pages_say() -> None:
    (demo,) = re.findall(r"^DEMO := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"unbraid run {demo} --out runs/demo\n" in (DOCS / "getting-started.md").read_text()
    assert f"unbraid run {demo}\n" in (DOCS / "index.md").read_text()


PAGE = """
```python title="files/one.py"
VALUE = 3
```

```python
from pathlib import Path
print("steps=500", Path.cwd() / "x")
```

```text
old
```

<!-- slow -->
```python
print("slow")
```

```text
kept
```

```sh
unbraid --version   # a comment
python files/one.py && echo done \\
  twice
```

```text
```
"""


def test_outputs_are_replaced_and_slow_blocks_left_out(here: Path) -> None:
    page = here / "page.md"
    page.write_text(PAGE.replace("unbraid --version   # a comment\n", ""))
    quick, _ = run_page(page, here, quick=True)
    assert (here / "files" / "one.py").read_text() == "VALUE = 3\n"
    assert "```text\nsteps=3 x\n```" in quick
    assert "old" not in quick
    assert "```text\nkept\n```" in quick
    assert "```text\ndone twice\n```" in quick
    whole, _ = run_page(page, here)
    assert "```text\nsteps=500 x\n```" in whole
    assert "```text\nslow\n```" in whole


@pytest.mark.parametrize(
    "block", ["```python\n1 / 0\n```\n", "```sh\nunbraid report nowhere\n```\n", "```sh\nfalse\n```\n"]
)
def test_a_block_that_fails_fails_the_page(block: str, here: Path) -> None:
    page = here / "page.md"
    page.write_text(block)
    with pytest.raises((ZeroDivisionError, RuntimeError)):
        run_page(page, here)


def test_only_steps_are_shortened() -> None:
    assert (
        shorter("fit(steps=2000, c_steps=10) --steps 500 --batch 64") == "fit(steps=3, c_steps=10) --steps 3 --batch 64"
    )
