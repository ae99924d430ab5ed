"""How large and how fast the explorer of 64x64 images is, in Chromium: `python benchmarks/explorer.py [--rounds 40]`.

The networks are the convolutional ones of 64x64 images at their usual width; the time of a picture does not depend on
how long they were trained. Medians, and the least, which is nearer to the truth on a machine that is busy.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

BARS = {"MB": 3.0, "ms until it can be used": 1500.0, "ms for a picture": 40.0}


def measure(rounds: int) -> dict[str, list[float]]:
    """The size of the page, and the times of all rounds."""
    from playwright.sync_api import sync_playwright

    path = _page(Path(tempfile.mkdtemp()))
    ready, drawn = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(max(1, rounds // 8)):
            page = browser.new_page()
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", state="attached")
            ready.append(float(page.get_attribute("html", "data-ready") or "nan"))
            page.locator(".slider input").first.focus()
            page.wait_for_selector("html[data-idle=true]", state="attached")
            for _ in range(8):
                page.keyboard.press("ArrowRight")
                page.wait_for_timeout(60)
                page.wait_for_selector("html[data-idle=true]", state="attached")
                drawn.append(float(page.get_attribute("html", "data-took") or "nan"))
            page.close()
        browser.close()
    return dict(zip(BARS, ([path.stat().st_size / 1e6], ready, drawn), strict=True))


def _page(folder: Path) -> Path:
    from unbraid import build, explore, fit, load_data, represent

    data = load_data("dsprites")
    method = build("beta_vae", data)
    run = fit(method, data, steps=1, batch=2, out=str(folder), show=False)
    represent(run, method, data, points=500)
    run.write_json("scores.json", {})
    return explore(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="pictures to draw")
    for name, values in measure(parser.parse_args().rounds).items():
        median, met = statistics.median(values), statistics.median(values) <= BARS[name]
        print(f"{median:8.2f} {name}, least {min(values):.2f} (at most {BARS[name]:g}): {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
