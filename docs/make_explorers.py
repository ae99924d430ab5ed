"""Trains the models of the live explorers, and writes their pages with a picture of each.

python -m docs.make_explorers        (all but finished runs: half an hour of one core; `make explorers`)

The commands are those of `docs/explorers/README.md`. They are run in `build/explorers`, where a run that is finished is
not trained again, so that this can be stopped and started again. Digits and photographs come from the data root.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from pathlib import Path

from docs.run_pages import ROOT, run_page
from PIL import Image
from playwright.sync_api import sync_playwright

PAGE = ROOT / "docs" / "explorers" / "README.md"
WIDTH, HEIGHT = 1000, 640  # pixels of the window
SHOWN = 0.8  # of that
COLOURS = 128
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def linked(text: str) -> list[str]:
    """The explorers that a page shows, in its order."""
    return list(dict.fromkeys(re.findall(r"\]\((\w+)\.html[)#]", text)))


def started(name: str) -> str:
    """The picture that the page of explorers begins with, where it names one: '#start=1'."""
    found = re.search(rf'"{re.escape(name)}(#start=\d+)"', PAGE.read_text())
    return found[1] if found else ""


def take_pictures(pages: list[Path]) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for page in pages:
            tab = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            tab.goto(f"{page.as_uri()}{started(page.name)}")
            tab.wait_for_timeout(2000)
            shown = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
            small = shown.resize((round(SHOWN * WIDTH), round(SHOWN * HEIGHT)), Image.Resampling.LANCZOS)
            small.quantize(COLOURS).save(page.parent / "pictures" / f"{page.stem}.png", optimize=True)
            tab.close()
        chromium.close()


def main() -> None:
    os.environ.setdefault("COLUMNS", "110")
    folder = ROOT / "build" / "explorers"
    folder.mkdir(parents=True, exist_ok=True)
    run_page(PAGE, folder)
    pages = [PAGE.parent / f"{name}.html" for name in linked(PAGE.read_text())]
    for page in pages:
        shutil.copy(folder / page.name, page)
    take_pictures(pages)
    for page in pages:
        print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
