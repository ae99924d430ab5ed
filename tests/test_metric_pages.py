"""Every metric has a page with the same sections, formulae that can be set, a picture, and a line in the overview."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from docs.site_hooks import OF_METRIC, arguments_of_metric
from latex2mathml.converter import convert

from unbraid import catalogue

DOCS = Path(__file__).parents[1] / "docs"
PAGES = DOCS / "metrics"
METRICS = sorted(catalogue.entries("metrics"))
SECTIONS = [
    "Definition",
    "Range and direction",
    "Chance level",
    "Samples needed",
    "Known failures",
    "Agreement with others",
    "Arguments",
    "Reference",
]
TEX = re.compile(r"\$\$\n(?P<block>.*?)\n\$\$|(?<![\\$])\$(?P<inline>[^$\n]+)\$", re.DOTALL)


@pytest.fixture(params=METRICS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_sections_of_a_page_are_there_in_order(name: str) -> None:
    top, *sections = re.split(r"^## ", (PAGES / f"{name}.md").read_text(), flags=re.MULTILINE)
    body = {section.partition("\n")[0]: section.partition("\n")[2].strip() for section in sections}
    assert list(body) == SECTIONS
    assert all(body.values())
    assert top.startswith(f"# {name}\n\n") and top.strip().count("\n\n") == 1, "a title, and what it asks"
    assert body["Definition"].startswith("$$\n"), "the formula"
    assert re.search(r"^- .*\$", body["Definition"], re.MULTILINE), "the symbols"
    assert body["Known failures"].startswith("- ")
    assert body["Arguments"] == OF_METRIC
    assert "better" in body["Range and direction"] or "means more" in body["Range and direction"]


def test_formulae_are_set_without_a_rest_of_tex(name: str) -> None:
    found = list(TEX.finditer((PAGES / f"{name}.md").read_text()))
    assert found
    for each in found:
        drawn = convert(each["block"] or each["inline"])
        left = re.findall(r">([^<]*[\\&{}][^<]*)<", re.sub(r"&#?\w+;", "", drawn))
        assert not left, each[0]


def test_every_argument_is_in_the_table(name: str) -> None:
    text = arguments_of_metric(name)
    for argument in catalogue.find("metrics", name).arguments:
        ((default, meaning),) = re.findall(rf"^\| `{argument.name}` \| (.+?) \| (.+) \|$", text, re.MULTILINE)
        assert default
        assert argument.meaning.split("|")[0] in meaning
        assert all(choice in meaning for choice in argument.choices)


def test_metrics_of_arrays_have_a_picture(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    pictures = re.findall(r"\]\((pictures/.+?)\)", text)
    if catalogue.find("metrics", name).folder == "metrics/model":
        assert not pictures and "no picture" in text
        return
    assert pictures == [f"pictures/{name}.svg"]
    drawing = PAGES / pictures[0]
    ElementTree.parse(drawing)
    assert drawing.stat().st_size < 60_000


def test_the_overview_and_the_navigation_name_every_metric(name: str) -> None:
    assert len(re.findall(rf"^\| \[`{name}`\]\(metrics/{name}\.md\)", (DOCS / "metrics.md").read_text(), re.M)) == 1
    assert (DOCS.parent / "mkdocs.yml").read_text().count(f"- metrics/{name}.md\n") == 1


def test_the_overview_marks_the_default_suite() -> None:
    from unbraid.metrics.suite import DEFAULT

    marked = re.findall(r"\]\(metrics/(\w+)\.md\)\\\*", (DOCS / "metrics.md").read_text())
    assert sorted(marked) == sorted(DEFAULT)
