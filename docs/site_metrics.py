"""Hook of the site's build: the page of each metric gets the table of its arguments, from the signature."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from unbraid import catalogue
from unbraid.config import Argument

PLACE = "<!-- arguments of the metric -->"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    if PLACE not in markdown:
        return markdown
    return markdown.replace(PLACE, arguments(PurePosixPath(page.file.src_uri).stem))


def arguments(metric: str) -> str:
    """The arguments of a metric as a table in Markdown."""
    rows = [f"| `{a.name}` | {_default(a)} | {_meaning(a)} |\n" for a in catalogue.find("metrics", metric).arguments]
    return "| argument | default | meaning |\n|---|---|---|\n" + "".join(rows) if rows else "It has none.\n"


def _default(argument: Argument) -> str:
    value = argument.default
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, ()) else f"`{value}`"


def _meaning(argument: Argument) -> str:
    left = [f"`{choice}`" for choice in argument.choices if choice not in argument.meaning]
    return (argument.meaning + (f"; one of {', '.join(left)}" if left else "")).replace("|", "\\|")
