"""A run as one self-contained HTML page: what was run, what it cost, what it scores and what it learned to draw."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid import catalogue
from unbraid.errors import UserError
from unbraid.figures import svg as figures
from unbraid.reports import classes, retrieval, sub_embeddings, two_sets
from unbraid.train import history
from unbraid.train.run import Run, write

DEAD = 0.05  # nats, or standard deviations, below which a latent carries nothing
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
    codes = run.arrays("codes.npz")
    pictures = run.arrays("pictures.npz") if (run.path / "pictures.npz").exists() else {}
    scores = run.scores()
    parts = [_header(run), _scores(scores, codes), two_sets.section(codes, pictures)]
    parts += [
        sub_embeddings.section(scores, history.read(run.path / "history.csv")),
        classes.section(codes, pictures),
        _pictures(pictures, codes, scores),
        retrieval.section(pictures),
        _curves(run),
        _facts(run),
    ]
    path = run.path / "report.html"
    write(path, document(f"{run.plan.method} on {run.plan.data}", "".join(parts)).encode())
    return path


def document(title: str, body: str) -> str:
    """A whole page around its content."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>{body}</body></html>'
    )


def _header(run: Run) -> str:
    plan = run.plan
    summary = catalogue.entries("methods")[plan.method].summary if plan.method in catalogue.entries("methods") else ""
    return (
        f"<h1>{escape(plan.method)} on {escape(plan.data)}</h1>"
        f'<p class="note">{escape(summary)}</p>'
        f"<p>{plan.steps:,} steps of {plan.batch}, seed {plan.seed}. To repeat it:</p><pre>{escape(plan.command)}</pre>"
    )


def _scores(scores: dict[str, dict[str, Any]], codes: dict[str, NDArray[Any]]) -> str:
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
    n = len(codes["factors"])
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
        f"against the factors.</p>{beware}" + _information(scores, codes) + _importance(scores)
    )


def _importance(scores: dict[str, dict[str, Any]]) -> str:
    """How much a predictor of each factor uses each latent: the matrix that DCI is made of."""
    if "dci" not in scores or not isinstance((matrix := scores["dci"]["parts"].get("importance")), list):
        return ""
    values = np.array(matrix, dtype=np.float64)
    factors = [str(name) for name in scores["dci"]["params"].get("factors", range(values.shape[1]))]
    return (
        "<h2>What predicts each factor</h2>"
        + figures.heat_map(values, _rows(scores["dci"], len(values)), factors, "importance")
        + '<p class="note">Importance of each latent, or feature, for a predictor of each factor: '
        "what DCI is made of.</p>"
    )


def _rows(score: dict[str, Any], count: int) -> list[str]:
    return [f"{score['params'].get('block', 'z')}{i}" for i in range(count)]


def _information(scores: dict[str, dict[str, Any]], codes: dict[str, NDArray[Any]]) -> str:
    matrix, factors = _known(scores, codes)
    if matrix is None:
        return ""
    return (
        "<h2>What each latent knows of each factor</h2>"
        + figures.heat_map(matrix, _rows(scores["mig"], len(matrix)), factors, "nats")
        + '<p class="note">Mutual information in nats. A disentangled code has one dark cell in each column, '
        "each in a row of its own.</p>"
    )


def _known(
    scores: dict[str, dict[str, Any]], codes: dict[str, NDArray[Any]]
) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The mutual information matrix [d, k] that MIG is made of, and the names of its factors."""
    if "mig" not in scores:
        return None, []
    names = [str(name) for name in codes["factor_names"]]
    kept = scores["mig"]["params"].get("factors", range(len(names)))
    factors = [names[i] if isinstance(i, int) else str(i) for i in kept]
    return np.array(scores["mig"]["parts"]["mutual_information"]), factors


def _pictures(
    pictures: dict[str, NDArray[Any]], codes: dict[str, NDArray[Any]], scores: dict[str, dict[str, Any]]
) -> str:
    if "originals" not in pictures:
        return ""
    text = (
        "<h2>Reconstructions</h2><div class=latent><span>originals</span>"
        f'<img alt="originals" src="{figures.strip(pictures["originals"])}"></div>'
        "<div class=latent><span>reconstructions</span>"
        f'<img alt="reconstructions" src="{figures.strip(pictures["reconstructions"])}"></div>'
    )
    for name, sweeps in pictures.items():
        if name.startswith("traversals_"):
            text += _traversals(name.removeprefix("traversals_"), sweeps, codes, scores)
    return text


def _traversals(
    block: str, sweeps: NDArray[Any], codes: dict[str, NDArray[Any]], scores: dict[str, dict[str, Any]]
) -> str:
    rows = [
        f'<div class="latent"><span>{"<br>".join(map(escape, label))}</span>'
        f'<img alt="traversal of {escape(label[0])}" src="{figures.strip(sweeps[latent])}"></div>'
        for latent, label in _latents(block, codes, scores)
    ]
    several = ""
    if f"units_{block}" in codes:
        several = " A feature of several dimensions takes the codes of other images, along its first principal axis."
    idle = len(sweeps) - len(rows)
    rest = f"<p class=note>{idle} of {len(sweeps)} latents carry nothing and are not shown.</p>" if idle else ""
    return (
        f"<h2>Traversals of {escape(block)}</h2><p class=note>Each row moves one latent from the 2nd to the 98th "
        "percentile of its codes and holds the others where the first picture above has them. In nats: how much the "
        f"latent carries (KL to the prior).{several}</p>" + "".join(rows) + rest
    )


def _latents(
    block: str, codes: dict[str, NDArray[Any]], scores: dict[str, dict[str, Any]]
) -> list[tuple[int, list[str]]]:
    """The latents that carry something, the most first, each with its label: name, KL, what it is about."""
    kl = codes.get(f"kl_{block}")
    matrix, factors = _known(scores, codes)
    first = next(name for name in codes if name.startswith("codes_")).removeprefix("codes_")  # the one that is scored
    weight = kl if kl is not None else codes[f"codes_{block}"].std(0)
    units = codes.get(f"units_{block}")
    if units is not None:  # a feature has what its latents have together
        weight = np.bincount(units, weight)
        kl = None if kl is None else weight
    found = []
    for latent in np.argsort(-weight):
        if weight[latent] < DEAD:
            continue
        label = [f"{block}{latent}"]
        if kl is not None:
            label.append(f"{kl[latent]:.2f} nats")
        if matrix is not None and len(matrix) == len(weight) and block == first:
            label.append(f"mostly {factors[int(matrix[latent].argmax())]}")
        found.append((int(latent), label))
    return found


def traversal_sheet(run: Run, path: Path) -> None:
    """The traversals of a run as a PNG picture."""
    codes, pictures = run.arrays("codes.npz"), run.arrays("pictures.npz")
    rows = [
        ("\n".join(label), pictures[name][latent])
        for name in pictures
        if name.startswith("traversals_")
        for latent, label in _latents(name.removeprefix("traversals_"), codes, run.scores())
    ]
    if not rows:
        raise UserError(f"{run.path} has no latent that carries anything: there is nothing to draw")
    write(path, figures.sheet(rows))


def _curves(run: Run) -> str:
    rows = history.read(run.path / "history.csv")
    if not rows:
        return ""
    note = "Loss and terms against steps; likelihoods, entropies and contrasts in nats per sample."
    return f'<h2>Training</h2>{figures.curves(rows)}<p class="note">{note}</p>'


def _facts(run: Run) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in run.config["versions"].items())
    return (
        f'<h2>How it was made</h2><p class="note">Run {escape(run.path.name)}, commit '
        f"{escape(run.config['commit'] or 'unknown')}; {escape(versions)}.</p>"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
