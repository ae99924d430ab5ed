"""The page of every method has the same sections, formulae that can be set, and what its small run gave."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from docs.method_pages import NOT_RUN, command, explained, with_scores
from docs.site_hooks import ARGUMENTS, arguments, formula

from unbraid import catalogue
from unbraid.cli import main

PAGES = Path(__file__).parents[1] / "docs" / "methods"
SECTIONS = ["Objective", "Arguments", "What to expect", "Limits", "References"]
METHODS = sorted(catalogue.entries("methods"))
LARGEST = 60_000  # bytes of a picture
TEX = re.compile(r"\$\$\n(?P<block>.*?)\n\$\$|(?<![\\$])\$(?P<inline>[^$\n]+)\$", re.DOTALL)


@pytest.fixture(params=METHODS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_sections_of_a_page_are_there_in_order(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    top, *sections = re.split(r"^## ", NOT_RUN.sub(r"\1", text), flags=re.MULTILINE)
    assert [section.partition("\n")[0] for section in sections] == SECTIONS
    title, purpose, picture, *caption = top.strip().split("\n\n")
    assert title == f"# {name}"
    assert len(re.findall(r"[.:](?= |\n|$)", purpose)) >= 2, "two sentences say what it is for"
    assert re.fullmatch(rf"!\[[^\]]+\]\(pictures/{name}\.png\)", picture)
    assert len(caption) == 1
    body = dict(zip(SECTIONS, sections, strict=True))
    assert "$$" in body["Objective"]
    assert ARGUMENTS in body["Arguments"]
    assert all(len(body[section].splitlines()) > 2 for section in ("Limits", "References"))


def test_formulae_are_set_without_a_rest_of_tex(name: str) -> None:
    found = list(TEX.finditer((PAGES / f"{name}.md").read_text()))
    assert found
    for each in found:
        drawn = formula(each["block"] or each["inline"], block=each["block"] is not None)
        left = re.findall(r">([^<]*[\\&{}][^<]*)<", re.sub(r"&#?\w+;", "", drawn))
        assert drawn.count("<math") == 1 and not left, each[0]


def test_every_argument_is_in_the_table(name: str) -> None:
    text = arguments(name)
    for argument in catalogue.find("methods", name).arguments:
        (row,) = re.findall(rf"^\| `{argument.name}` \| (.+) \| (.+) \|$", text, re.MULTILINE)
        assert row[0] and argument.meaning.split("|")[0] in row[1]


def test_a_page_has_a_command_for_its_scores(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    (names,) = re.findall(r"<!-- scores ([\w. ]+) -->\n", text)
    line = command(text)
    assert line.startswith(f"unbraid run {name} ")
    assert set(line.partition("--metrics ")[2].split(",")) == {each.partition(".")[0] for each in names.split()}


def test_a_page_keeps_what_its_run_gave(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    tables = re.findall(r"<!-- scores ([\w. ]+) -->\n\n\| score .*\n\|[-:| ]+\n((?:\|.*\n)+)", text)
    picture = PAGES / "pictures" / f"{name}.png"
    assert len(tables) == 1 and not NOT_RUN.search(text), f"python -m docs.method_pages {name}"
    ((names, table),) = tables
    assert len(table.splitlines()) == len(names.split()), f"python -m docs.method_pages {name}"
    assert 1_000 < picture.stat().st_size < LARGEST


def test_the_overview_names_every_method() -> None:
    text = (PAGES / "README.md").read_text()
    assert {each for each in METHODS if f"[{each}]({each}.md)" not in text} == set()


def test_scores_of_a_run_are_written_into_a_page() -> None:
    page = "before\n\n<!-- scores mig dci.completeness salience -->\n\n| score | old |\n|---|\n| mig | 7 |\n\nafter\n"
    scores = {
        "mig": {"value": 0.126, "low": 0.1, "high": 0.15, "null": 0.004, "parts": {}},
        "dci": {"value": 1.0, "low": None, "high": None, "null": None, "parts": {"completeness": 0.5}},
        "salience": {"value": 2.0, "low": 1.9, "high": 2.1, "null": None, "parts": {}},
    }
    new = with_scores(page, scores)
    assert "| mig | 0.13 | 0.10 to 0.15 | 0.00 |\n| dci: completeness | 0.50 | – | – |\n" in new
    assert "| salience | 2.00 | 1.90 to 2.10 | – |\n\nafter\n" in new
    assert "old" not in new
    assert with_scores(new, scores) == new


def test_the_share_that_a_factor_explains() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, 50_000)
    latents = np.stack([values == 1, rng.normal(size=50_000)], 1)
    told = np.var(values == 1)  # all of the first latent, nothing of the second, which has variance 1
    assert explained(latents, values) == pytest.approx(told / (told + 1), abs=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:MNIST is not in", "ignore:.*grass.png does not exist")
def test_the_command_of_a_page_runs(name: str, tmp_path: Path) -> None:
    line = re.sub(r"--steps \d+", "--steps 2", command((PAGES / f"{name}.md").read_text()))
    if "cifar10" in line:
        pytest.skip("needs the images of CIFAR-10")
    assert main([*shlex.split(line)[1:], "--train-only", "--quiet", "--out", str(tmp_path)]) == 0
