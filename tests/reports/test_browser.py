"""The report in a browser: it sorts, sweeps, enlarges and tells values, and fits a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reports.test_unusual import leave
from unbraid.reports.page import report


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = leave(tmp_path_factory.mktemp("runs"))
    scores = run.scores()
    scores["sap"] = {**scores["mig"], "value": 0.05, "low": 0.04, "high": 0.06, "parts": {}}
    run.write_json("scores.json", scores)
    return report(run)


@pytest.fixture
def page(browser: Any, path: Path) -> Any:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    shown = context.new_page()
    faults: list[str] = []
    shown.on("pageerror", lambda error: faults.append(str(error)))
    shown.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    shown.goto(path.as_uri())
    yield shown
    context.close()
    assert not faults


def test_a_click_on_a_column_sorts_and_another_turns_it_round(page: Any) -> None:
    def first() -> list[str]:
        found: list[str] = page.locator("#scores tbody tr td:first-child").all_inner_texts()
        return found

    assert first() == ["mig", "dci", "sap"]
    page.locator("#scores th button").nth(1).click()
    assert first()[0] == "sap"
    page.locator("#scores th button").nth(1).click()
    assert first()[-1] == "sap"


def test_a_slider_goes_through_the_images_of_a_traversal(page: Any) -> None:
    figure = page.locator("#traversals figure").first
    slider, frame = figure.locator("input"), figure.locator(".frame")
    slider.fill("8")
    assert frame.evaluate("e => e.style.backgroundPosition") == "100% 0px"
    slider.fill("2")
    assert frame.evaluate("e => e.style.backgroundPosition") == "25% 0px"
    box = frame.bounding_box()
    assert box["width"] == pytest.approx(box["height"], abs=1.5)  # one image, in its own shape


def test_the_cursor_tells_the_values_of_a_curve(page: Any) -> None:
    plot = page.locator("#training .plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 10.2 / 29, box["y"] + 40)
    assert plot.locator(".told").inner_text().split() == ["10", "90"]  # the loss is 100 less the step


def test_a_click_enlarges_a_picture_and_another_closes_it(page: Any) -> None:
    page.locator("#reconstructions img").first.click()
    large = page.locator("#large img")
    assert large.bounding_box()["width"] > page.locator("#reconstructions img").first.bounding_box()["width"]
    large.click()
    assert not page.locator("#large").is_visible()


def test_it_fits_a_phone_and_prints_without_controls(page: Any) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    text = page.locator("#scores tbody tr").first.locator("td").last
    assert text.bounding_box()["width"] > 300  # it is not squeezed into a sliver
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator(".viewer").first.is_visible()


def test_dark_is_dark(page: Any) -> None:
    def paper() -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    light = paper()
    page.emulate_media(color_scheme="dark")
    assert paper() != light
