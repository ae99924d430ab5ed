"""Pages from the templates, with the style sheet and the script inside: one file that needs nothing beside it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

HERE = Path(__file__).parent
LINK = re.compile(r"\[([^\]]+)\]\((https://[^)\s]+|[\w./#-]+)\)")


def page(template: str, **content: Any) -> bytes:
    """The page of a template, as a file."""
    parts = {"style": _static("report.css"), "script": _static("report.js")}
    return _environment().get_template(template).render(**parts, **content).encode()


def marked(text: str) -> Markup:
    """Text with `words to type`, **emphasis** and [links](page) as HTML; everything else in it is escaped."""
    safe = str(escape(text))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe)
    return Markup(LINK.sub(r'<a href="\2">\1</a>', safe))


def soft(text: str) -> Markup:
    """A name that may be broken after its underscores and dots."""
    return Markup(re.sub(r"([_.])", r"\1<wbr>", str(escape(text))))


def paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    found = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found.filters |= {"marked": marked, "paragraphs": paragraphs, "soft": soft}
    return found


def _static(name: str) -> Markup:
    return Markup((HERE / "static" / name).read_text(encoding="utf-8"))
