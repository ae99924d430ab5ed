"""Scores of a code that tells what a target set has and a background set has not: blocks s (salient) and z (common).

    clustering_s, clustering_z   clusters on the t-SNE plane matched to the classes; silhouettes among the parts
    class_from_s, class_from_z   accuracy of a shallow classifier, with the accuracy on each class among the parts
    set_from_z                   accuracy of telling targets from backgrounds; by chance where the codes are alike
    z_from_s                     R2 of a linear prediction of the common code from the salient one
    w2_z                         squared Wasserstein distance between the common codes of the two sets
    salience                     what the salient code holds on backgrounds, E[|mu|^2 + |sigma|^2]; 0 is wanted

A code of one block has the scores of that block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from unbraid.errors import UserError
from unbraid.metrics.clustering_accuracy import clustering_accuracy
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.prepare import Floats, as_column, quiet, split
from unbraid.metrics.w2 import w2

Blocks = Mapping[str, Codes]
MOST = 3000  # rows for t-SNE
RESAMPLINGS = 200


def compare(
    target: Blocks, background: Blocks, labels: Factors | None, spread: tuple[Blocks, Blocks], *, seed: int = 0
) -> dict[str, Score]:
    """All scores that these codes have; `spread` holds the standard deviations of the codes of both sets, if any."""
    tasks: dict[str, Callable[[np.random.Generator], Score]] = {}
    meanings: dict[str, str] = {}

    def add(name: str, meaning: str, task: Callable[[np.random.Generator], Score]) -> None:
        tasks[name], meanings[name] = task, meaning

    for block in target:
        if labels is not None:
            add(
                f"clustering_{block}",
                f"classes of targets found by clusters of {block}",
                lambda rng, block=block: clustering_accuracy(target[block], labels, rng, most=MOST),  # type: ignore[misc]
            )
            add(
                f"class_from_{block}",
                f"class of targets from {block}, by a shallow classifier",
                lambda rng, block=block: probe(target[block], labels, rng),  # type: ignore[misc]
            )
    if "z" in target:
        add(
            "set_from_z",
            "targets told from backgrounds by a draw of z; chance is wanted",
            lambda rng: _sets(_sampled(target, spread[0], rng), _sampled(background, spread[1], rng), rng),
        )
        add(
            "w2_z",
            "squared Wasserstein distance between sampled common codes of the two sets; compare the excess",
            lambda rng: _w2(_sampled(target, spread[0], rng), _sampled(background, spread[1], rng), rng),
        )
    if "s" in target and "z" in target:
        add("z_from_s", "R2 of a linear prediction of z from s; 0 is wanted", lambda r: explained(target, r))
        add("salience", "what s holds on backgrounds; 0 is wanted", lambda _: _salience(target, background, spread))
    return {name: _tried(name, task, meanings[name], seed) for name, task in tasks.items()}


def probe(codes: Codes, labels: Factors, rng: np.random.Generator) -> Score:
    """Test accuracy of logistic regression on standardised codes."""
    from sklearn.linear_model import LogisticRegression

    y = as_column(np.asarray(labels), "class").binned(10).values
    train, test = split(len(codes), None, rng)
    x = _standardised(codes)

    def right(of: Floats) -> Floats:
        with quiet():
            model = LogisticRegression(max_iter=300).fit(of[train], y[train])
        return np.asarray(model.predict(of[test]) == y[test], np.float64)

    hits = right(x)
    means = hits[rng.integers(len(test), size=(RESAMPLINGS, len(test)))].mean(1)
    each = [float(hits[y[test] == value].mean()) for value in np.unique(y[test])]
    low, high = np.quantile(means, [0.025, 0.975])
    null = float(right(rng.permutation(x)).mean())
    return Score(float(hits.mean()), {"per_class": each}, float(low), float(high), null, len(codes))


def explained(blocks: Blocks, rng: np.random.Generator) -> Score:
    """The share of the variance of z in held-out rows that ridge regression on s explains; not below 0."""
    from sklearn.linear_model import Ridge

    train, test = split(len(blocks["s"]), None, rng)
    s, z = _standardised(blocks["s"]), np.asarray(blocks["z"], np.float64)

    def residuals(of: Floats) -> tuple[Floats, Floats]:
        error = z[test] - Ridge().fit(of[train], z[train]).predict(of[test])
        return (error**2).sum(1), ((z[test] - z[train].mean(0)) ** 2).sum(1)

    def r2(pair: tuple[Floats, Floats]) -> float:
        return max(0.0, 1 - float(pair[0].sum() / pair[1].sum())) if pair[1].sum() > 0 else 0.0

    error, total = residuals(s)
    picks = rng.integers(len(test), size=(RESAMPLINGS, len(test)))
    low, high = np.quantile([r2((error[p], total[p])) for p in picks], [0.025, 0.975])
    return Score(r2((error, total)), {}, float(low), float(high), r2(residuals(rng.permutation(s))), len(s))


def _sets(target: Floats, background: Floats, rng: np.random.Generator) -> Score:
    n = min(len(target), len(background))
    codes = np.concatenate([rng.permutation(target)[:n], rng.permutation(background)[:n]])
    return replace(probe(codes, np.repeat([0, 1], n), rng), parts={})


def _w2(target: Floats, background: Floats, rng: np.random.Generator) -> Score:
    return w2(target, background, rng, batch=min(128, len(target) // 2, len(background)))


def _sampled(codes: Blocks, spread: Blocks, rng: np.random.Generator) -> Floats:
    """Draws of the common code: the distribution that the methods bring together."""
    mean = np.asarray(codes["z"], np.float64)
    return mean + spread["z"] * rng.normal(size=mean.shape) if "z" in spread else mean


def _salience(target: Blocks, background: Blocks, spread: tuple[Blocks, Blocks]) -> Score:
    def held(codes: Blocks, sigma: Blocks) -> Floats:  # [n]
        squares = np.asarray(codes["s"], np.float64) ** 2
        return np.asarray((squares + sigma["s"] ** 2 if "s" in sigma else squares).sum(1))

    rows, there = held(background, spread[1]), float(held(target, spread[0]).mean())
    value, margin = float(rows.mean()), 1.96 * float(rows.std()) / len(rows) ** 0.5
    return Score(value, {"target": there}, max(value - margin, 0.0), value + margin, None, len(rows))


def _standardised(codes: Codes) -> Floats:
    x = np.asarray(codes, np.float64)
    spread = x.std(0)
    return np.asarray((x - x.mean(0)) / np.where(spread > 0, spread, 1))


def _tried(name: str, task: Callable[[np.random.Generator], Score], meaning: str, seed: int) -> Score:
    try:
        found = task(np.random.default_rng((seed, *name.encode())))
    except (UserError, ValueError) as error:  # too few rows, or a single class among them
        found = Score(float("nan"), warnings=(f"{name}: {error}",))
    return replace(found, params={**found.params, "meaning": meaning})
