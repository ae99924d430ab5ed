"""The part of the report on a code that is cut into slices: what each slice tells, and what sort of solution it is."""

from __future__ import annotations

from html import escape
from typing import Any

from unbraid.figures import svg as figures

BALANCE = ("infomax", "infomin")


def section(scores: dict[str, dict[str, Any]], rows: list[dict[str, float]]) -> str:
    """Nothing for a run without probes of slices.

    Args:
        rows: of the run's history
    """
    tables = "".join(
        _table(name.removeprefix("probes_"), score["parts"], scores.get(f"copies_{name.removeprefix('probes_')}"))
        for name, score in scores.items()
        if name.startswith("probes_") and "accuracy" in score["parts"]
    )
    return tables + (_balance(rows) if any(BALANCE[1] in row for row in rows) else "")


def _balance(rows: list[dict[str, float]]) -> str:
    return (
        f"<h2>InfoMax against InfoMin</h2>{figures.together(rows, BALANCE)}"
        '<p class="note">infomax falls as views of one thing are told from others; infomin, the loss of telling one '
        "slice from another, rises as slices say less of each other, whether it was asked for or not. Where one falls "
        "and takes the other along, what views share is learned by both slices.</p>"
    )


def _table(whole: str, found: dict[str, Any], copies: dict[str, Any] | None) -> str:
    accuracy, tasks = found["accuracy"], list(found["chance"])

    def row(name: str, values: dict[str, float], best: bool = False) -> str:
        cells = "".join(
            f'<td class="number">{"<b>" if best and _is_best(accuracy, whole, name, task) else ""}'
            f"{100 * values[task]:.1f}{'</b>' if best and _is_best(accuracy, whole, name, task) else ''}</td>"
            for task in tasks
        )
        return f"<tr><td>{escape(name)}</td>{cells}</tr>"

    rows = "".join(row(block, values, best=True) for block, values in accuracy.items())
    rows += row("gap", found["gap"]) + row("by chance", found["chance"])
    heads = "".join(f"<th>{escape(task)}</th>" for task in tasks)
    return (
        f"<h2>What each slice of {escape(whole)} tells</h2>"
        f"<table><tr><th>linear probe on</th>{heads}</tr>{rows}</table>"
        f'<p class="note">Accuracy in per cent on held-out rows; the better slice is bold. {_shares(found)}'
        f"{_verdict(found)}"
        f"{_sham(whole, copies)}</p>"
    )


def _shares(found: dict[str, Any]) -> str:
    """Of runs that were scored before there were shares, nothing."""
    told = [
        f"{block} {', '.join(f'{task} {value:.0%}' for task, value in tasks.items())}"
        for block, tasks in found.get("share", {}).items()
    ]
    return f"Share of the variance that lies between classes: {escape('; '.join(told))}. " if told else ""


def _is_best(accuracy: dict[str, dict[str, float]], whole: str, block: str, task: str) -> bool:
    slices = [name for name in accuracy if name != whole]
    return block in slices and accuracy[block][task] == max(accuracy[name][task] for name in slices)


def _verdict(found: dict[str, Any]) -> str:
    share = found["diagonal_share"]
    again = "" if share is None else f" (so it is in {share:.0%} of resamplings of the test rows)"
    if found["diagonal"]:
        return f"Diagonal: each of two slices is the better one at some task{again}."
    return f"Not diagonal: one slice is the better one at every task, or they are equal{again}."


def _sham(whole: str, copies: dict[str, Any] | None) -> str:
    if copies is None or copies["value"] is None:
        return ""
    solution = copies["parts"]["solution"]
    text = (
        f" A slice predicts another with R2 {copies['value']:.2f}; the mean |cosine| between slices is "
        f"{copies['parts']['cosine']:.2f}."
    )
    return text + (f" Degenerate: {escape(solution)} ({escape(copies['warnings'][0])})." if solution else "")
