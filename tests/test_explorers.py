"""The live explorers of the site: pages that are small enough, made by the commands beside them, and that work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from docs.make_explorers import PAGE, linked
from docs.run_pages import blocks

TEXT = PAGE.read_text()
NAMES = linked(TEXT)
WITHOUT_DECODER = ("sub_infomax",)
LARGEST, ALL = 3_000_000, 6_000_000  # bytes


def test_there_are_pages_of_several_kinds_and_they_are_small() -> None:
    sizes = {name: (PAGE.parent / f"{name}.html").stat().st_size for name in NAMES}
    assert len(sizes) >= 5
    assert max(sizes.values()) < LARGEST
    assert sum(sizes.values()) < ALL
    assert {path.stem for path in PAGE.parent.glob("*.html")} == set(NAMES), "a page that nothing links to"


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_has_its_commands_and_a_picture(name: str) -> None:
    commands = [block.code.replace("\\\n", " ") for block in blocks(TEXT) if f"--out {name}.html" in block.code]
    assert len(commands) == 1
    run, explore = commands[0].strip().splitlines()
    assert re.fullmatch(rf"unbraid run .* --out {name}", run)
    assert re.fullmatch(rf"unbraid explore {name}/\* --images \d+ --out {name}\.html --no-open", explore)
    assert len(re.findall(rf'<a href="{name}\.html[^>]*"><img src="pictures/{name}\.png"', TEXT)) == 1
    assert (PAGE.parent / "pictures" / f"{name}.png").stat().st_size < 150_000


def test_the_first_is_the_demo_and_the_home_page_leads_to_it() -> None:
    root = PAGE.parents[2]
    (demo,) = re.findall(r"^DEMO := (.*)$", (root / "Makefile").read_text(), re.MULTILINE)
    assert f"unbraid run {demo} --out {NAMES[0]}\n" in TEXT
    assert f'<iframe src="{NAMES[0]}.html#start=' in TEXT
    assert f"](explorers/{NAMES[0]}.html#start=" in (root / "docs" / "index.md").read_text()[:1000]


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_opens_without_an_error(name: str, browser: Any) -> None:
    faults: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:", "blob:")) else faults.append(request.url),
    )
    page.goto(Path(PAGE.parent / f"{name}.html").as_uri())
    page.wait_for_selector("canvas", state="attached")
    page.wait_for_timeout(500)
    sliders = page.locator(".slider input:visible").count()
    assert sliders == 0 if name in WITHOUT_DECODER else sliders > 0
    page.close()
    assert not faults
