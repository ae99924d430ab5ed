from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.toys import Squares
from unbraid import build, fit, represent, score
from unbraid.explorer.page import explore
from unbraid.train.run import Run

Opened = Callable[..., Any]


@pytest.fixture(scope="session")
def window(browser: Any) -> Callable[[int, bool], Any]:
    """A window of each width, light and dark: to make one takes as long as to load a page."""

    @cache
    def made(width: int, dark: bool) -> Any:
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", accept_downloads=True)
        return context.new_page()

    return made


@pytest.fixture
def opened(window: Callable[[int, bool], Any]) -> Iterator[Opened]:
    """Opens a page from disk; it may not fail, or ask for anything that is not in the file."""
    faults = list[str]()
    with ExitStack() as afterwards:

        def open_page(path: Path, fragment: str = "", *, width: int = 1200, dark: bool = False) -> Any:
            page = window(width, dark)
            for event, told in {
                "pageerror": lambda error: faults.append(str(error)),
                "console": lambda message: faults.append(message.text) if message.type == "error" else None,
                "request": lambda request: _check(request.url, path, faults),
            }.items():
                page.on(event, told)
                afterwards.callback(page.remove_listener, event, told)
            afterwards.callback(_leave, page)
            page.goto(path.as_uri() + fragment)
            settle(page)
            return page

        yield open_page
    assert not faults


def _leave(page: Any) -> None:
    """The next page finds a window without a page, and the mouse in its corner."""
    page.mouse.move(0, 0)
    page.goto("about:blank")


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


def trained(folder: Path, name: str, table: Squares, *, steps: int = 150, **arguments: Any) -> Run:
    """A run of a method on the squares, encoded and scored."""
    method = build(name, table, **arguments)
    run = fit(method, table, steps=steps, batch=32, out=str(folder), show=False)
    represent(run, method, table, points=300)
    score(run, metrics=["mig"])
    return run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("runs"), "ada_gvae", alone(), steps=300, width=8, lr=3e-3)


@pytest.fixture(scope="session")
def written(run: Run) -> Path:
    """The explorer of that run, with full precision."""
    return explore(run, data=alone(), images=80, bits=32)
