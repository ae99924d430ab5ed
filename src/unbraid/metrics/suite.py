"""Every score of one representation, with an interval and the value that shuffled codes would get."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.errors import UserError, unknown
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.prepare import Ints, check

DEFAULT = (
    "beta_vae_score",
    "factor_vae_score",
    "mig",
    "sap",
    "dci",
    "modularity",
    "explicitness",
    "irs",
    "mcc",
    "gaussian_total_correlation",
    "wasserstein_correlation",
    "mutual_info_score",
)
SAMPLING = ("beta_vae_score", "factor_vae_score")
REFITS = 5  # bootstrap replicates of a metric that fits predictors or draws interventions
LEVEL = 0.95
ONE_REPRESENTATION = (["codes", "factors", "rng"], ["codes", "rng"])  # what a metric of the suite takes

Metric = Callable[..., Score]


def score(
    codes: Codes,
    factors: Factors | None,
    *,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    bootstrap: int = 50,
    names: Sequence[str] | None = None,
    units: Sequence[int] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    jobs: int = 0,
) -> dict[str, Score]:
    """Scores of codes against factors, each with its interval, its null and its warnings.

    Args:
        metrics: names of metrics on codes and factors; None takes the default suite (without factors, what needs none)
        seed: of everything drawn
        bootstrap: resamplings for an interval (five at most where a metric fits predictors); 0 gives no interval
        names: of the factors
        units: the unit that each latent belongs to; None makes each latent a unit
        options: keyword arguments for a metric, by its name
        jobs: threads; 0 uses every core
    """
    if isinstance(metrics, str) or seed < 0:
        raise UserError("metrics must be a list of names, and the seed 0 or more")
    codes = check(codes, factors, units).codes
    labels: Any = None if factors is None else np.asarray(factors).reshape(len(codes), -1)
    if names is not None and len(names) != (width := 0 if labels is None else labels.shape[1]):
        raise UserError(f"names must hold one name for each of the {width} factors, not {len(names)}")
    asked = metrics is not None
    if metrics is None:
        metrics = [name for name in DEFAULT if labels is not None or not needs_factors(entry(name))]
    if unasked := set(options or {}) - set(metrics):
        raise UserError(f"options are given for '{unasked.pop()}', which is not among the metrics asked for")
    scores = {}
    for name in metrics:
        given = _arguments(name, {"units": units, "jobs": jobs}, (options or {}).get(name, {}))
        rng = np.random.default_rng((seed, *name.encode()))
        try:
            found = _trusted(entry(name), given, codes, labels, rng, bootstrap)
        except UserError as error:
            if asked:
                raise
            found = Score(float("nan"), n=len(codes), warnings=(str(error),))
        scores[name] = _named(found, names)
    return scores


@cache
def available() -> tuple[str, ...]:
    """The metrics on codes and factors, or on codes alone."""
    files = Path(__file__).parent.glob("*.py")
    return tuple(sorted(path.stem for path in files if _arguments_of_entry(path) in ONE_REPRESENTATION))


def entry(name: str) -> Metric:
    """The function of a metric on codes and factors, or on codes alone."""
    if name not in (known := available()):
        raise unknown("metric", name, known)
    return getattr(import_module(f"unbraid.metrics.{name}"), name)  # type: ignore[no-any-return]


def needs_factors(fn: Metric) -> bool:
    return "factors" in inspect.signature(fn).parameters


def keywords(fn: Metric) -> list[str]:
    return [p.name for p in inspect.signature(fn).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _arguments(name: str, shared: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    known = keywords(entry(name))
    if strange := set(own) - set(known):
        raise UserError(f"{name} has no argument '{strange.pop()}': it has {', '.join(known)}")
    return {**{key: value for key, value in shared.items() if key in known}, **own}


def _trusted(
    fn: Metric, given: dict[str, Any], codes: Codes, factors: Any, rng: np.random.Generator, bootstrap: int
) -> Score:
    """The score with low, high and null filled in."""
    if needs_factors(fn) and factors is None:
        raise UserError(f"{fn.__name__} needs factors, and none are given")
    draw, own, shuffled = rng.spawn(3)
    parts = [len(codes)]  # rows are resampled within each part
    if "train" in keywords(fn):
        if given.get("train") is None:
            order = draw.permutation(len(codes))
            codes, factors, given = codes[order], factors[order], {**given, "train": (2 * len(codes)) // 3}
        parts = [given["train"], len(codes) - given["train"]]

    def value(c: Codes, f: Any, generator: np.random.Generator) -> Score:
        return fn(c, f, generator, **given) if needs_factors(fn) else fn(c, generator, **given)

    found = value(codes, factors, own)
    if not np.isfinite(found.value):
        return found
    if found.null is None:
        mixed = shuffled.permutation(codes) if needs_factors(fn) else shuffled.permuted(codes, axis=0)
        found = replace(found, null=value(mixed, factors, shuffled).value)
    if found.low is not None:
        return found
    times = min(bootstrap, REFITS) if len(parts) > 1 or fn.__name__ in SAMPLING else bootstrap
    replicas = []
    for _ in range(times):
        rows = _resampled(parts, draw)
        with suppress(UserError):  # a sample that lost a rare value of a factor
            replicas.append(value(codes[rows], None if factors is None else factors[rows], draw).value)
    used = [r for r in replicas if np.isfinite(r)]
    low, high = _interval(found, used)
    how = f"{len(used)} bootstrap samples" if len(used) == times else f"{len(used)} of {times} bootstrap samples"
    how += " (training and test rows apart)" if len(parts) > 1 else ""
    return replace(found, low=low, high=high, params={**found.params, "interval": None if low is None else how})


def _resampled(parts: list[int], rng: np.random.Generator) -> Ints:
    starts = np.cumsum([0, *parts[:-1]])
    return np.concatenate([np.sort(rng.integers(s, s + n, n)) for s, n in zip(starts, parts, strict=True)])


def _interval(found: Score, replicas: list[float]) -> tuple[float | None, float | None]:
    """Percentiles of the replicates, or Student's t for a few, moved to the value.

    Resampling adds to the bias of plug-in estimates, so the replicates' spread is kept and their centre is not.
    """
    if len(replicas) < 2:
        return None, None
    from scipy.stats import t

    if len(replicas) < 20:
        high = float(np.std(replicas, ddof=1) * t.ppf((1 + LEVEL) / 2, len(replicas) - 1))
        low = -high
    else:
        spread = np.array(replicas) - np.mean(replicas)
        low, high = (float(q) for q in np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    least, most = found.params.get("range", (0.0, 1.0))
    return max(found.value + min(low, 0.0), least), min(found.value + max(high, 0.0), most)


def _named(found: Score, names: Sequence[str] | None) -> Score:
    """The factors by name instead of by number."""
    if names is None:
        return found
    told = tuple(re.sub(r"factor (\d+)", lambda hit: f"factor '{names[int(hit[1])]}'", text) for text in found.warnings)
    kept = [names[k] for k in found.params.get("factors", [])]
    return replace(found, params={**found.params, "factors": kept}, warnings=told)


def _arguments_of_entry(path: Path) -> list[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == path.stem:
            return [argument.arg for argument in node.args.args]
    return []
