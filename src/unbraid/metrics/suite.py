"""The scores of one representation, each with an interval and its chance level."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from unbraid import config
from unbraid.errors import UserError, unknown
from unbraid.metrics.arrays import Ints, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.fitting import no_convergence_warnings, parallel

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
SAMPLING = ("beta_vae_score", "factor_vae_score", "z_max_variance")
REFITS = 5  # bootstrap samples for a metric that fits predictors or samples interventions
# arguments of a metric for resampled and shuffled codes: a third of the cost, and a wider interval
LIGHTER: dict[str, dict[str, Any]] = {"dci": {"rounds": 30, "informativeness": False}}
SHUFFLES = 10  # for the chance level of the other metrics; one for those that fit or sample
ROWS = 10_000_000  # of all bootstrap samples of a metric together; of many rows a few samples say as much
LEVEL = 0.95
ONE_REPRESENTATION = (["codes", "factors", "rng"], ["codes", "rng"])  # positional arguments of a metric of the suite

Metric = Callable[..., Score]
Tell = Callable[[str], None]  # is called with what is done next
Options = Mapping[str, Mapping[str, Any]]


def silent(what: str) -> None:
    """Reports nothing."""


def score(
    codes: Codes,
    factors: Factors | None,
    *,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    bootstrap: int = 50,
    chance: bool = True,
    names: Sequence[str] | None = None,
    kinds: Sequence[int] = (),
    units: Sequence[int] | None = None,
    options: Options | None = None,
    jobs: int = 0,
    tell: Tell = silent,
) -> dict[str, Score]:
    """Scores of codes against factors, each with its interval, its chance level and its warnings.

    Args:
        metrics: names of metrics; None: the default suite (without factors, the metrics that need none)
        seed: of all random numbers
        bootstrap: bootstrap samples for an interval, 0: no interval; five at most if a metric fits predictors, and
            fewer than 50 for more than 200,000 rows
        chance: False leaves the chance level out, which takes up to ten further rounds
        names: of the factors
        kinds: places of factors that are numbers without order, such as shapes or classes
        units: the unit that each latent belongs to; None: each latent is a unit
        options: keyword arguments of metrics, by the metric's name
        jobs: threads; 0 uses one for each available core
        tell: is called with the metric that is taken next
    """
    codes = check_arrays(codes, factors, units).codes
    labels: Any = None if factors is None else np.asarray(factors).reshape(len(codes), -1)
    _check_names(names, 0 if labels is None else labels.shape[1])
    begun = {}
    for name in _chosen(metrics, seed, options or {}, labels is not None):
        tell(f"scoring {name}")
        function = metric_function(name)
        known = {"kinds": kinds, "units": units, "jobs": jobs}
        shared = {key: value for key, value in known.items() if key in argument_names(function)}
        arguments = {**shared, **(options or {}).get(name, {})}
        rng = np.random.default_rng((seed, *name.encode()))
        try:
            begun[name] = _begun(function, arguments, codes, labels, rng, bootstrap, chance=chance)
        except UserError as error:
            if metrics is not None:
                raise
            begun[name] = _Begun(Score(float("nan"), n=len(codes), warnings=(str(error),)))
    tell("scoring shuffled and resampled codes, for chance levels and intervals")
    finished = _finished(list(begun.values()), jobs)
    return {name: _with_factor_names(found, names) for name, found in zip(begun, finished, strict=True)}


@cache
def available() -> tuple[str, ...]:
    """Names of the metrics of one representation: those on codes and factors, and those on codes alone."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    return tuple(name for name in names if _positional(_function_named(name)) in ONE_REPRESENTATION)


def metric_function(name: str) -> Metric:
    """The function of a metric on codes and factors, or on codes alone."""
    function = _function_named(name)
    if function is None or _positional(function) not in ONE_REPRESENTATION:
        raise unknown("metric", name, available())
    return function


def needs_factors(function: Metric) -> bool:
    return "factors" in inspect.signature(function).parameters


def argument_names(function: Metric) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _function_named(name: str) -> Metric | None:
    if not (Path(__file__).parent / f"{name}.py").is_file():
        return None
    return getattr(import_module(f"unbraid.metrics.{name}"), name, None)


def _positional(function: Metric | None) -> list[str]:
    parameters = inspect.signature(function).parameters.values() if function else ()
    return [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]


def _chosen(metrics: Sequence[str] | None, seed: int, options: Options, with_factors: bool) -> Sequence[str]:
    """Names of the metrics to compute; refuses what cannot be asked for before anything is computed."""
    if isinstance(metrics, str):
        raise UserError(f"metrics must be a list of names, such as ['{metrics}'], not '{metrics}'")
    if metrics is not None and not len(metrics):
        raise UserError("metrics is an empty list: name at least one metric, or leave it out for the default suite")
    if metrics is None:
        metrics = [name for name in DEFAULT if with_factors or not needs_factors(metric_function(name))]
    check_options(metrics, seed, options)
    return metrics


def check_options(metrics: Sequence[str], seed: int, options: Options) -> None:
    """Refuses a seed or options that metrics do not take."""
    if seed < 0:
        raise UserError(f"seed must be 0 or more, not {seed}")
    if unasked := set(options) - set(metrics):
        raise UserError(f"options are given for '{unasked.pop()}', which is not among the chosen metrics")
    for name in metrics:
        config.check(name, config.arguments_of(metric_function(name)), dict(options.get(name, {})))


def _check_names(names: Sequence[str] | None, factors: int) -> None:
    if names is not None and len(names) != factors:
        raise UserError(f"names must hold one name for each of the {factors} factors, not {len(names)}")


@dataclass(frozen=True)
class _Begun:
    """A score, and the scores that are still to be taken for its chance level and its interval."""

    found: Score
    shuffles: tuple[Callable[[], float], ...] = ()
    samples: tuple[Callable[[], float], ...] = ()
    apart: bool = False  # training and test rows are resampled apart
    seconds: float = 0.0


def _begun(
    function: Metric,
    arguments: dict[str, Any],
    codes: Codes,
    factors: Any,
    rng: np.random.Generator,
    bootstrap: int,
    *,
    chance: bool = True,
) -> _Begun:
    """The score of a metric, and what its chance level and its interval take."""
    supervised = needs_factors(function)
    if supervised and factors is None:
        raise UserError(f"{function.__name__} needs factors, and none are given")
    draw, own, shuffled = rng.spawn(3)
    parts = [len(codes)]  # rows are resampled within each part
    if "train" in argument_names(function):
        if arguments.get("train") is None:
            order = draw.permutation(len(codes))
            codes, factors, arguments = codes[order], factors[order], {**arguments, "train": (2 * len(codes)) // 3}
        parts = [arguments["train"], len(codes) - arguments["train"]]
    start = perf_counter()
    found = function(*((codes, factors) if supervised else (codes,)), own, **arguments)
    seconds = perf_counter() - start
    if not np.isfinite(found.value):
        return _Begun(found)
    lighter = {**LIGHTER.get(function.__name__, {}), **arguments}
    lighter |= {"jobs": 1} if "jobs" in arguments else {}

    def value(c: Codes, f: Any, generator: np.random.Generator) -> float:
        try:
            return function(*((c, f) if supervised else (c,)), generator, **lighter).value
        except UserError:  # a sample may lack a rare value of a factor
            return float("nan")

    def of_shuffled(generator: np.random.Generator) -> float:
        mixed = generator.permutation(codes) if supervised else generator.permuted(codes, axis=0)
        return value(mixed, factors, generator)

    def of_sample(generator: np.random.Generator) -> float:
        rows = _resampled(parts, generator)
        return value(codes[rows], None if factors is None else factors[rows], generator)

    slow = len(parts) > 1 or function.__name__ in SAMPLING
    shuffles = 1 if slow else min(SHUFFLES, max(3, ROWS // 5 // len(codes)))
    samples = min(bootstrap, REFITS if slow else max(REFITS, ROWS // len(codes)))
    return _Begun(
        found,
        tuple(partial(of_shuffled, one) for one in shuffled.spawn(shuffles if chance and found.null is None else 0)),
        tuple(partial(of_sample, one) for one in draw.spawn(samples if found.low is None else 0)),
        apart=len(parts) > 1,
        seconds=seconds,
    )


def _finished(begun: Sequence[_Begun], jobs: int) -> list[Score]:
    """The scores with `null`, `low` and `high` filled in; the longest work is done first."""
    work = {task: one.seconds for one in begun for task in (*one.shuffles, *one.samples)}
    tasks = sorted(work, key=lambda task: -work[task])
    with no_convergence_warnings() if "sklearn" in sys.modules else nullcontext():  # it takes a second to import
        values = dict(zip(tasks, parallel(lambda task: task(), tasks, jobs), strict=True))
    scores = []
    for one in begun:
        found = _with_chance(one.found, [values[task] for task in one.shuffles]) if one.shuffles else one.found
        if one.samples:
            found = _with_interval(found, [values[task] for task in one.samples], apart=one.apart)
        scores.append(found)
    return scores


def _with_chance(found: Score, values: list[float]) -> Score:
    """The score with its chance level, the mean over shuffles, and the standard deviation over them."""
    known = [value for value in values if np.isfinite(value)]
    params = {**found.params, "shuffles": len(known)}
    spread = {"chance_spread": float(np.std(known, ddof=1))} if len(known) > 1 else {}
    return replace(found, null=float(np.mean(known)) if known else None, params=params | spread)


def _with_interval(found: Score, replicates: list[float], *, apart: bool) -> Score:
    used, times = [value for value in replicates if np.isfinite(value)], len(replicates)
    low, high = _interval(found, used)
    how = f"{len(used)} bootstrap samples" if len(used) == times else f"{len(used)} of {times} bootstrap samples"
    how += " (training and test rows apart)" if apart else ""
    how += f": of the score at {found.n} samples, not of its limit"
    return replace(found, low=low, high=high, params={**found.params, "interval": None if low is None else how})


def _resampled(parts: list[int], rng: np.random.Generator) -> Ints:
    starts = np.cumsum([0, *parts[:-1]])
    return np.concatenate([np.sort(rng.integers(s, s + n, n)) for s, n in zip(starts, parts, strict=True)])


def _interval(found: Score, replicates: list[float]) -> tuple[float | None, float | None]:
    """Percentiles of the replicates, or Student's t for fewer than 20, centred on the value.

    Resampling adds to the bias of plug-in estimates, so that the replicates give the spread but not the centre.
    """
    if len(replicates) < 2:
        return None, None
    from scipy.special import stdtrit

    if len(replicates) < 20:
        high = float(np.std(replicates, ddof=1) * stdtrit(len(replicates) - 1, (1 + LEVEL) / 2))
        low = -high
    else:
        spread = np.array(replicates) - np.mean(replicates)
        low, high = (float(q) for q in np.quantile(spread, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    least, most = found.params.get("range", (0.0, 1.0))
    return max(found.value + min(low, 0.0), least), min(found.value + max(high, 0.0), most)


def _with_factor_names(found: Score, names: Sequence[str] | None) -> Score:
    """The score with names of factors in place of their numbers."""
    if names is None:
        return found
    warnings = tuple(
        re.sub(r"factor (\d+)", lambda hit: f"factor '{names[int(hit[1])]}'", text) for text in found.warnings
    )
    kept = [names[k] for k in found.params.get("factors", [])]
    return replace(found, params={**found.params, "factors": kept}, warnings=warnings)
