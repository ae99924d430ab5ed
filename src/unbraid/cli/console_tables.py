"""Tables for people."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_table(title: str, columns: list[str], rows: list[list[str]], numbers: tuple[int, ...] = ()) -> None:
    """Texts are printed as they are: rich would take what stands in brackets for markup."""
    shown = Text(title, style="table.title") if title else None
    table = Table(title=shown, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if i in numbers else "left", no_wrap=i == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 140)
    console.print(table)


def print_scores(scores: dict[str, dict[str, Any]], title: str) -> None:
    """Value, interval, chance level and sub-scores of each metric, then what to beware of."""
    if not scores:
        print("no factors are known for this data set, so there is nothing to score against")
        return
    rows = []
    for name, score in scores.items():
        interval = "" if score["low"] is None else f"{score['low']:.3f} .. {score['high']:.3f}"
        parts = ", ".join(f"{part} {value:.3f}" for part, value in score["parts"].items() if isinstance(value, float))
        rows.append([name, number(score["value"]), interval, number(score["null"]), parts])
    print_table(title, ["metric", "value", "95 % interval", "by chance", "parts"], rows, (1, 2, 3))
    for text in dict.fromkeys(text for score in scores.values() for text in score["warnings"]):
        print(f"note: {text}")


def number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
