"""Hook of the site's build: the overview of all claims, from the records of the experiments as they are now.

The page `results/README.md` gets a section with every claim of `results/*.json`, and buttons that leave some of
them out. Without JavaScript there are no buttons, and all claims are shown.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

PAGE = "results/README.md"
PLACE = "<!-- claims -->"
VERDICTS = ("shown", "not shown", "unclear")
INTRODUCTION = """
## All claims

**Shown**: the interval of what decides lies on the paper's side. **Not shown**: it lies on the other side. **Unclear**:
it lies on both. What decides is a function in `claims.py` of the experiment; a rule that was changed after results had
been seen says so.
"""
STYLE = """<style>
.claims [hidden] { display: none; }
.claims button { font: inherit; font-size: 0.65rem; margin: 0.15rem 0.2rem 0.15rem 0; padding: 0.15rem 0.6rem;
  border: 1px solid var(--md-default-fg-color--lighter); border-radius: 1rem; cursor: pointer; color: inherit; }
.claims button[aria-pressed="true"] { background: var(--md-default-fg-color); color: var(--md-default-bg-color); }
.md-typeset .claims details { border: 0; box-shadow: none; margin: 0; padding: 0; font-size: 0.65rem; }
.md-typeset .claims summary { background: none; border: 0; margin: 0; padding: 0 1.2rem 0 0; width: fit-content;
  min-height: 0; }
.md-typeset .claims summary::before { display: none; }
.md-typeset .claims summary::after { top: 0; right: 0; }
.claims .choices { margin: 0.3rem 0; }
.claims article { border-left: 0.25rem solid var(--colour); padding: 0.1rem 0 0.1rem 0.8rem; margin: 1rem 0; }
.claims article p { margin: 0.3rem 0; }
.claims .verdict { color: var(--colour); font-weight: bold; }
.claims .aside { color: var(--md-default-fg-color--light); font-size: 0.65rem; }
.claims .shown { --colour: #1a8754; }
.claims .not-shown { --colour: #c62f3e; }
.claims .unclear { --colour: #9a6a00; }
[data-md-color-scheme="slate"] .claims .shown { --colour: #5ecb98; }
[data-md-color-scheme="slate"] .claims .not-shown { --colour: #ff8a93; }
[data-md-color-scheme="slate"] .claims .unclear { --colour: #e5b454; }
</style>"""
SCRIPT = """<script>
(() => {
  const all = document.querySelector(".claims"), chosen = {};
  const articles = [...all.querySelectorAll("article")];
  const show = () => {
    let left = 0;
    for (const article of articles) {
      article.hidden = Object.keys(chosen).some(kind => chosen[kind] && article.dataset[kind] !== chosen[kind]);
      left += !article.hidden;
    }
    all.querySelector(".left").textContent = `${left} of ${articles.length} claims`;
    for (const button of all.querySelectorAll("button"))
      button.setAttribute("aria-pressed", (chosen[button.dataset.kind] || "") === button.value);
  };
  all.querySelector(".filters").hidden = false;
  all.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (button) { chosen[button.dataset.kind] = button.value; show(); }
  });
  show();
})();
</script>"""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    return f"{markdown}{INTRODUCTION}\n{PLACE}\n" if page.file.src_uri == PAGE else markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    if page.file.src_uri != PAGE:
        return html
    return html.replace(PLACE, overview(Path(config["docs_dir"]) / "results"))


def overview(folder: Path) -> str:
    """All claims of the records in a folder, with the buttons, as HTML."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    records = {name: record for name, record in records.items() if "claims" in record}
    verdicts = Counter(claim["verdict"] for record in records.values() for claim in record["claims"])
    papers = {name: _short(record["title"]) for name, record in records.items()}
    counts = {name: len(record["claims"]) for name, record in records.items()}
    filters = (
        '<div class="filters" hidden>'
        + _choices("verdict", {verdict: f"{verdict} ({verdicts[verdict]})" for verdict in VERDICTS})
        + _choices("paper", {name: f"{papers[name]} ({counts[name]})" for name in records})
        + '<p class="aside left" role="status"></p></div>'
    )
    articles = [
        _article(claim, name, papers[name], anchors(folder / f"{name}.md"))
        for name, record in records.items()
        for claim in record["claims"]
    ]
    return f'{STYLE}<div class="claims">{filters}{"".join(articles)}</div>{SCRIPT}'


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings of the third rank, of which each claim has one in pages that are new enough."""
    return {_anchor(heading) for heading in re.findall(r"^### (.+)$", page.read_text(), re.MULTILINE)}


def _anchor(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _short(title: str) -> str:
    paper = title.rpartition(": ")[2]
    return paper[:1].upper() + paper[1:]


def _choices(kind: str, labels: dict[str, str]) -> str:
    buttons = [
        f'<button type="button" data-kind="{kind}" value="{escape(value)}">{escape(label)}</button>'
        for value, label in {"": f"every {kind}", **labels}.items()
    ]
    return f'<div class="choices" role="group" aria-label="{kind}">{"".join(buttons)}</div>'


def _article(claim: dict[str, Any], name: str, paper: str, there: set[str]) -> str:
    verdict, anchor = claim["verdict"], _anchor(claim["id"])
    place = f"{name}.html#{anchor if anchor in there else 'claims'}"
    low, high = claim.get("low"), claim.get("high")
    decides = f" of: {_text(claim['decides'])}" if claim.get("decides") else ""
    interval = "" if low is None or high is None else f"interval {low:.3g} to {high:.3g}{decides} · "
    note = claim.get("note", "").strip()
    return (
        f'<article class="{verdict.replace(" ", "-")}" data-verdict="{verdict}" data-paper="{name}">'
        f'<p><span class="verdict">{verdict}</span> · <a href="{place}">{escape(claim["id"])}</a> · '
        f'<span class="aside">{escape(paper)}</span></p>'
        f"<p><b>The paper:</b> {_text(claim['paper'])}</p><p><b>Here:</b> {_text(claim['ours'])}</p>"
        f'<p class="aside">{interval}seeds: {claim["seeds"]}</p>'
        + (f"<details><summary>What was found</summary><p>{_text(note)}</p></details>" if note else "")
        + "</article>"
    )


def _text(words: str) -> str:
    """Text with code between backticks, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))
