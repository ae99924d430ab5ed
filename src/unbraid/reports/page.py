"""A run as one self-contained HTML page: what was run, what it cost, what it scores and what it learned to draw."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from unbraid import catalogue
from unbraid.codes import Codes, read_codes
from unbraid.errors import UserError
from unbraid.figures import svg
from unbraid.problems import problems_of
from unbraid.problems.contract import Page
from unbraid.problems.plain import active_latents, information
from unbraid.train import history
from unbraid.train.run import Plan, Run, write

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; background: #fff; max-width: 60rem; margin: 2rem auto;
       padding: 0 1.2rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
pre { background: #f3f5f7; padding: .8rem 1rem; border-radius: 6px; white-space: pre-wrap; font-size: .85rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; } th { color: #52606d; font-weight: 600; }
tr { border-bottom: 1px solid #e4e7eb; } .note { color: #52606d; font-size: .88rem; max-width: 46rem; }
.warning { color: #8a5300; font-size: .85rem; } svg { max-width: 100%; height: auto; }
img { image-rendering: pixelated; display: block; width: 100%; }
.latent { display: grid; grid-template-columns: 9.5rem 1fr; gap: .9rem; align-items: center; margin: .35rem 0; }
.wide { overflow-x: auto; } summary { cursor: pointer; color: #2563a8; font-size: .9rem; margin: .6rem 0; }
.latent span { font-size: .85rem; line-height: 1.3; } .latent b { font-size: .95rem; }
"""


def report(run: Run) -> Path:
    """Writes report.html from the run's files, and gives its path."""
    pictures = run.arrays("pictures.npz") if (run.path / "pictures.npz").exists() else {}
    page = Page(read_codes(run), pictures, run.scores(), history.read(run.path / "history.csv"))
    parts = [_header(run), _scores(page.scores, page.codes)]
    parts += [problem.section(page) for problem in problems_of(page.codes)]
    parts += [_curves(page.history), _facts(run)]
    path = run.path / "report.html"
    write(path, document(title(run.plan), "".join(parts)).encode())
    return path


def document(title: str, body: str) -> str:
    """A whole page around its content."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>{body}</body></html>'
    )


def _header(run: Run) -> str:
    plan = run.plan
    known = catalogue.entries("methods").get(plan.method)
    summary = known.summary if known else plan.method
    again = f"To repeat it:</p><pre>{escape(plan.command)}</pre>"
    return (
        f"<h1>{escape(title(plan))}</h1>"
        f'<p class="note">{escape(summary)}</p>'
        f"<p>{plan.steps:,} steps of {plan.batch}, seed {plan.seed}. "
        + (again if plan.repeated else "It was given arrays or modules, and is repeated from Python.</p>")
    )


def title(plan: Plan) -> str:
    """Method and data set, a user's own without their files."""
    return " on ".join(name.rpartition(":")[2] for name in (plan.method, plan.data))


def _scores(scores: dict[str, dict[str, Any]], codes: Codes) -> str:
    if not scores:
        return (
            '<h2>Scores</h2><p class="note">No factors are known for this data set, or none varies, so nothing '
            "can be scored against them: look at the traversals.</p>"
        )
    rows = []
    for name, score in scores.items():
        entry = catalogue.entries("metrics").get(name)
        meaning = escape(entry.summary if entry else score["params"].get("meaning", ""))
        subs = ", ".join(f"{part} {value:.3f}" for part, value in score["parts"].items() if isinstance(value, float))
        meaning += f"<br>{escape(subs)}" if subs else ""
        interval = "" if score["low"] is None else f"{score['low']:.3f} to {score['high']:.3f}"
        rows.append(
            f'<tr><td>{escape(name)}</td><td class="number"><b>{_number(score["value"])}</b></td>'
            f'<td class="number">{interval}</td><td class="number">{_number(score["null"])}</td>'
            f'<td class="note">{meaning}</td></tr>'
        )
    n = len(codes)
    cautions: dict[str, list[str]] = {}
    for name, score in scores.items():
        for text in score["warnings"]:
            cautions.setdefault(text, []).append(name)
    beware = "".join(
        f'<div class="warning">{escape(", ".join(names))}: {escape(text)}</div>' for text, names in cautions.items()
    )
    return (
        "<h2>Scores</h2><table><tr><th>metric</th><th>value</th><th>95 % interval</th><th>by chance</th>"
        f"<th>what it says</th></tr>{''.join(rows)}</table>"
        f'<p class="note">From the codes of {n:,} images. "By chance" is the same metric when the codes are shuffled '
        f"against the factors.</p>{beware}" + _information(scores, codes) + _importance(scores, codes)
    )


def _importance(scores: dict[str, dict[str, Any]], codes: Codes) -> str:
    """How much a predictor of each factor uses each latent: the matrix that DCI is made of."""
    if "dci" not in scores or not isinstance((matrix := scores["dci"]["parts"].get("importance")), list):
        return ""
    values = np.array(matrix, dtype=np.float64)
    factors = [str(name) for name in scores["dci"]["params"].get("factors", range(values.shape[1]))]
    return (
        "<h2>What predicts each factor</h2>"
        + svg.heat_map(values, _rows(scores["dci"], codes, len(values)), factors, "importance")
        + '<p class="note">Importance of each latent, or feature, for a predictor of each factor: '
        "what DCI is made of.</p>"
    )


def _rows(score: dict[str, Any], codes: Codes, count: int) -> list[str]:
    return [f"{score['params'].get('block', codes.first)}{i}" for i in range(count)]


def _information(scores: dict[str, dict[str, Any]], codes: Codes) -> str:
    matrix, factors = information(scores, codes)
    if matrix is None:
        return ""
    return (
        "<h2>What each latent knows of each factor</h2>"
        + svg.heat_map(matrix, _rows(scores["mig"], codes, len(matrix)), factors, "nats")
        + '<p class="note">Mutual information in nats. A disentangled code has one dark cell in each column, '
        "each in a row of its own.</p>"
    )


def traversal_sheet(run: Run, path: Path) -> None:
    """The traversals of a run as a PNG picture."""
    codes, pictures = read_codes(run), run.arrays("pictures.npz")
    rows = [
        ("\n".join(label), pictures[name][latent])
        for name in pictures
        if name.startswith("traversals_")
        for latent, label in active_latents(name.removeprefix("traversals_"), codes, run.scores())
    ]
    if not rows:
        raise UserError(f"{run.path} has no latent that carries anything: there is nothing to draw")
    write(path, svg.sheet(rows))


def _curves(rows: Sequence[dict[str, float]]) -> str:
    if not rows:
        return ""
    note = "Loss and terms against steps; likelihoods, entropies and contrasts in nats per sample."
    return f'<h2>Training</h2>{svg.curves(rows)}<p class="note">{note}</p>'


def _facts(run: Run) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in run.config["versions"].items())
    return (
        f'<h2>How it was made</h2><p class="note">Run {escape(run.path.name)}, commit '
        f"{escape(run.config['commit'] or 'unknown')}; {escape(versions)}.</p>"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
