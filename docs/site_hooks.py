"""Hooks of the site's build.

Formulae become MathML, which browsers draw themselves; pages of methods and metrics get the table of their arguments;
the changelog is included; verdicts are coloured; links to files that are not part of the site become text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

from unbraid import catalogue
from unbraid.config import Argument

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:[A-Z]+\.md|(?:examples|src|tests|benchmarks|experiments)/[^)]*)\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
FUNCTION = re.compile(r"<mi>log</mi>(?=<mi>)")  # the converter leaves no space between a function and a letter
ARGUMENTS = "<!-- arguments -->"  # where a page of a method has its table,
OF_METRIC = "<!-- arguments of the metric -->"  # and where a page of a metric has it
BASELINE = "vae"  # arguments that a method shares with it are folded away,
FEWEST = 3  # where there are so many
VERDICT = re.compile(r"[🟢🔴🟡] <strong>(shown|not shown|unclear)</strong>")  # not every machine can draw the discs


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    if page.file.src_uri == "changelog.md":
        markdown = (Path(config["config_file_path"]).parent / "CHANGELOG.md").read_text().replace("](docs/", "](")
    if ARGUMENTS in markdown:
        markdown = markdown.replace(ARGUMENTS, arguments(Path(page.file.src_uri).stem))
    if OF_METRIC in markdown:
        markdown = markdown.replace(OF_METRIC, arguments_of_metric(Path(page.file.src_uri).stem))
    return OUTSIDE.sub(r"\1", markdown)  # files of the repository that the site does not have


def on_page_content(html_of_page: str, page: Any, config: Any, files: Any) -> str:
    coloured = VERDICT.sub(
        lambda found: f'<strong class="verdict {found[1].replace(" ", "-")}">{found[1]}</strong>', html_of_page
    )
    return FORMULA.sub(lambda found: formula(html.unescape(found[3]), block=found[2] == "["), coloured)


def formula(tex: str, *, block: bool) -> str:
    """TeX as MathML; a formula on a line of its own is in a box that scrolls where it is too wide."""
    drawn = convert(tex, display="block" if block else "inline")
    drawn = FUNCTION.sub(r'\g<0><mspace width="0.17em" />', drawn)
    return f'<div class="formula">{drawn}</div>' if block else drawn


def arguments(method: str) -> str:
    """The arguments of a method in Markdown: its own, those of the samples that it draws, and those of the baseline."""
    entry, baseline = catalogue.find("methods", method), catalogue.find("methods", BASELINE)
    shared = [] if method == BASELINE else [a for a in entry.arguments if a in baseline.arguments]
    shared = shared if len(shared) >= FEWEST else []
    own = [a for a in entry.arguments if a not in shared]
    text = _table(own)
    if sampling := catalogue.sampling(entry.traits["batch_kind"]):
        text += f"\nHow batches are drawn:\n\n{_table(sampling)}"
    if shared:
        names = ", ".join(f"<code>{a.name}</code>" for a in shared)
        title = f"<summary>As in {BASELINE}: {names}</summary>"
        text += f'\n<details markdown="1">{title}\n\n{_table(shared)}\n</details>\n'
    return text


def arguments_of_metric(metric: str) -> str:
    listed = catalogue.find("metrics", metric).arguments
    return _table(listed) if listed else "It has none.\n"


def _table(listed: Iterable[Argument]) -> str:
    rows = [f"| `{a.name}` | {_default(a)} | {_meaning(a)} |\n" for a in listed]
    return "| argument | default | meaning |\n|---|---|---|\n" + "".join(rows)


def _default(argument: Argument) -> str:
    value = argument.default
    if argument.required or value in (None, ()):
        return "required" if argument.required else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def _meaning(argument: Argument) -> str:
    explained = all(choice in argument.meaning for choice in argument.choices)
    choices = "" if explained else f": {', '.join(f'`{choice}`' for choice in argument.choices)}"
    return (argument.meaning + choices).replace("|", "\\|")
