"""Hooks of the site's build.

Formulae become MathML, which browsers draw themselves; the changelog is included; links to files that are not part of
the site become text.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:[A-Z]+\.md|(?:examples|src|tests|benchmarks|experiments)/[^)]*)\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    if page.file.src_uri == "changelog.md":
        markdown = (Path(config["config_file_path"]).parent / "CHANGELOG.md").read_text().replace("](docs/", "](")
    return OUTSIDE.sub(r"\1", markdown)  # files of the repository that the site does not have


def on_page_content(html_of_page: str, page: Any, config: Any, files: Any) -> str:
    def drawn(found: re.Match[str]) -> str:
        display = "block" if found[2] == "[" else "inline"
        return convert(html.unescape(found[3]), display=display)

    return FORMULA.sub(drawn, html_of_page)
