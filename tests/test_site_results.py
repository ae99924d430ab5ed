"""The overview of all claims holds every claim of the records, and its buttons leave out what they should."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs.site_results import overview

RESULTS = Path(__file__).parents[1] / "docs" / "results"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    claim = {"paper": "a < b", "ours": "see `x < y`", "low": -1.0, "high": 2.0, "seeds": 3, "note": ""}
    one = [{"id": "1 (big, new)", "verdict": "shown", **claim}, {"id": "2", "verdict": "unclear", **claim}]
    two = [{"id": "3", "verdict": "shown", **claim, "low": None, "note": "why"}]
    for name, claims in (("one", one), ("two", two)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"title": f"Small: paper {name}", "claims": claims}))
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n## Claims\n")
    (tmp_path / "one.md").write_text("# one\n\n## Claims\n\n### 1 (big, new)\n")
    (tmp_path / "else.json").write_text("{}")
    return tmp_path


def test_a_claim_is_shown_as_it_was_written(folder: Path) -> None:
    text = overview(folder)
    first, second, third = re.findall(r"<article.*?</article>", text, re.DOTALL)
    assert "The paper:</b> a &lt; b" in first
    assert "see <code>x &lt; y</code>" in first
    assert "interval -1 to 2 · seeds: 3" in first
    assert 'href="one.html#1-big-new"' in first
    assert 'href="one.html#claims"' in second  # its page has no heading for it yet
    assert 'class="unclear"' in second
    assert "interval" not in third
    assert "why" in third and "details" not in first
    assert re.findall(r'"verdict" value="[^"]+">([^<]+)', text) == ["shown (2)", "not shown (0)", "unclear (1)"]
    assert re.findall(r'"paper" value="[^"]+">([^<]+)', text) == ["Paper one (2)", "Paper two (1)"]


def test_all_claims_of_the_records_are_there() -> None:
    claims = [claim for path in RESULTS.glob("*.json") for claim in json.loads(path.read_text())["claims"]]
    assert len(claims) >= 49
    assert overview(RESULTS).count("<article") == len(claims)


def test_buttons_leave_claims_out(folder: Path, browser: Any) -> None:
    page = browser.new_page()
    page.set_content(overview(folder))
    seen = page.locator("article:visible")
    assert seen.count() == 3
    page.click("text=shown (2)")
    assert seen.evaluate_all("all => all.map(one => one.dataset.paper)") == ["one", "two"]
    page.click("text=Paper one (2)")
    assert seen.count() == 1
    assert page.inner_text(".left") == "1 of 3 claims"
    assert page.get_attribute("text=Paper one (2)", "aria-pressed") == "true"
    page.click("text=every verdict")
    assert seen.count() == 2
    page.close()


def test_without_javascript_everything_is_shown(folder: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(overview(folder))
    assert page.locator("article:visible").count() == 3
    assert page.locator("button:visible").count() == 0
    context.close()
