from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.toys import Squares
from unbraid import build, fit, represent, score
from unbraid.explorer.page import explore
from unbraid.train.run import Run

Opened = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    """Opens pages from disk; none of them may fail, or ask for anything that is not in the file."""
    contexts, faults = [], list[str]()

    def open_page(path: Path, fragment: str = "", *, width: int = 1200, dark: bool = False) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: _check(request.url, path, faults))
        page.goto(path.as_uri() + fragment)
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def _check(address: str, path: Path, faults: list[str]) -> None:
    if not address.startswith(("blob:", "data:", path.as_uri())):
        faults.append(f"the page asks for {address}")


def settle(page: Any) -> None:
    """Waits until the page has drawn all that it was asked for."""
    page.wait_for_selector("html[data-ready]", state="attached")
    page.wait_for_timeout(220)  # some things are drawn, and the address is kept, a little later
    page.wait_for_selector("html[data-idle=true]", state="attached")
    page.wait_for_timeout(30)


def alone() -> Squares:
    """The squares without their background."""
    table = Squares()
    table.background = None
    return table


def trained(folder: Path, name: str, table: Squares, *, steps: int = 300, **arguments: Any) -> Run:
    """A run of a method on the squares, encoded and scored."""
    method = build(name, table, **arguments)
    run = fit(method, table, steps=steps, batch=32, out=str(folder), show=False)
    represent(run, method, table, points=300)
    score(run, metrics=["mig"])
    return run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("runs"), "ada_gvae", alone(), width=8, lr=3e-3)


@pytest.fixture(scope="session")
def written(run: Run) -> Path:
    """The explorer of that run, with full precision."""
    return explore(run, data=alone(), images=80, bits=32)
