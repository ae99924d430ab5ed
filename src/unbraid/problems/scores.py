"""The scores of codes, by name.

A score is asked for by name: a metric on codes and factors ('mig'), a metric that needs the model ('translation'), a
score of a kind of problem ('class_from_z'), the metric that it is made with ('w2') or the kind of problem itself for
all of its scores ('two_sets'). 'dci:gbt' is the metric 'dci' under a name of its own, for other options. A metric of
codes with 'reencoded_' before its name ('reencoded_sap') is taken of Enc(Dec(z)); with 'alone_' of codes each feature
of which comes from an image that took its other features from another row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unbraid import catalogue
from unbraid.codes import Codes
from unbraid.errors import UserError, unknown
from unbraid.metrics.contract import Aim, Score
from unbraid.metrics.suite import Tell, available, silent
from unbraid.problems import PROBLEMS, problems_of
from unbraid.problems.contract import Problem
from unbraid.problems.plain import take

if TYPE_CHECKING:  # scores of codes need no torch
    from unbraid.data.table import Table
    from unbraid.methods.contract import Method

OF_STUDIES = {"udr": "the runs of several seeds: 'unbraid report FOLDER' takes it of a study"}
AGAIN = {"reencoded_": False, "alone_": True}  # codes of decoded codes, by whether each feature is drawn alone
Options = Mapping[str, Mapping[str, Any]]
Loaded = Callable[[], "tuple[Method[Any], Table]"]


def take_scores(
    codes: Codes | None,
    wanted: Options,
    *,
    seed: int = 0,
    block: str | None = None,
    bootstrap: int = 50,
    jobs: int = 0,
    loaded: Loaded | None = None,
    where: str = "",
    tell: Tell = silent,
) -> dict[str, Score]:
    """The scores that are asked for; the first that cannot be had raises.

    Args:
        seed: of whatever the metrics draw
        block: of the code; the first unless given
        bootstrap: resamplings for the interval of a metric
        jobs: threads; 0 uses every core
        loaded: gives the method and its data, for metrics that need the model
        where: the codes are from, for messages
        tell: is called with the score that is taken next
    """
    scores: dict[str, Score] = {}
    again: dict[str, Codes] = {}
    for label, options in wanted.items():
        tell(f"scoring {label}")
        name, colon, own = label.partition(":")
        if name in catalogue.of_models():
            scores[label] = _of_model(name, options, seed, loaded, where)
            continue
        assert codes is not None
        kind, metric = split_name(name)
        if metric in available():
            if kind and kind not in again:
                again[kind] = _codes_again(codes, name, AGAIN[kind], loaded, where)
            given = {"seed": seed, "block": block, "bootstrap": bootstrap, "jobs": jobs}
            taken = take(again.get(kind, codes), [metric], options={metric: options}, **given)  # type: ignore[arg-type]
            found = {kind + metric: _of_block(score, block or codes.first) for metric, score in taken.items()}
        else:
            found = _of_problems(codes, name, options, seed, jobs)
        scores |= {each + colon + own: score for each, score in found.items()}
    return scores


def all_scores(
    codes: Codes, options: Options, *, seed: int, block: str | None, tell: Tell = silent
) -> dict[str, Score]:
    """The default suite, a metric that cannot be taken without a value; and all scores of the kinds of problem."""
    check_metrics(options)
    tasks = {
        name: (task, {problem.name, task.metric, name} & options.keys())
        for problem in problems_of(codes)
        for name, task in problem.tasks(codes, seed=seed).items()
    }
    of_tasks = set().union(*(names for _, names in tasks.values()))
    of_suite = {name: given for name, given in options.items() if name not in of_tasks}
    if of_suite and not has_factors(codes):
        raise UserError(f"options are given for '{next(iter(of_suite))}', which needs factors, and there are none")
    suite = take(codes, None, seed=seed, block=block, options=of_suite, tell=tell) if has_factors(codes) else {}
    scores = {name: _of_block(score, block or codes.first) for name, score in suite.items()}
    for name, (task, names) in tasks.items():
        tell(f"scoring {name}")
        scores[name] = task.take(**{key: value for given in names for key, value in options[given].items()})
    return scores


def check_metrics(wanted: Options) -> None:
    """Refuses names that no run can be scored by, and options that a metric does not take."""
    known = catalogue.entries("metrics")
    for label, options in wanted.items():
        name = label.partition(":")[0]
        if name in OF_STUDIES:
            raise UserError(f"{name} needs {OF_STUDIES[name]}")
        if name in known:
            catalogue.check(known[name], dict(options))
        elif split_name(name)[1] in available():
            catalogue.check(known[split_name(name)[1]], dict(options))
        elif problem := next((problem for problem in PROBLEMS if problem.knows(name)), None):
            _check_of_problem(problem, name, options)
        else:
            raise unknown("metric", name, (*known, *(problem.name for problem in PROBLEMS if problem.scores)))


def _check_of_problem(problem: Problem, name: str, options: Mapping[str, Any]) -> None:
    """The options of a whole kind of problem must be such that each of its scores takes them."""
    for metric in sorted(problem.options_of(name)) if options else ():
        if not metric:
            some = f"some scores of {name} take" if name == problem.name else f"{name} takes"
            raise UserError(f"{some} no options, and '{next(iter(options))}' is given")
        catalogue.check(catalogue.entries("metrics")[metric], dict(options))


def aim_of(label: str) -> Aim:
    """What is wanted of a score, by its name: 'dci:gbt' and 'reencoded_sap' are as 'dci' and 'sap'."""
    name = split_name(label.partition(":")[0])[1]
    return next((problem.aims[name] for problem in PROBLEMS if name in problem.aims), Aim())


def split_name(name: str) -> tuple[str, str]:
    """'reencoded_sap' as 'reencoded_' and 'sap'; a plain name after an empty word."""
    kind = next((word for word in AGAIN if name.startswith(word)), "")
    return kind, name.removeprefix(kind)


def has_factors(codes: Codes) -> bool:
    """Targets and backgrounds have no factors to tell apart where there is just a class."""
    return bool(codes.factors.shape[1] > (0 if codes.background is None else 1))


def _of_block(score: Score, block: str) -> Score:
    return replace(score, params={**score.params, "block": block}) if block else score


def _codes_again(codes: Codes, name: str, alone: bool, loaded: Loaded | None, where: str) -> Codes:
    if loaded is None:
        raise UserError(f"{name} needs the model, and {where} has codes alone: give a run's directory")
    from unbraid.encode import reencode

    return reencode(loaded()[0], codes, alone=alone)


def _of_model(name: str, options: Mapping[str, Any], seed: int, loaded: Loaded | None, where: str) -> Score:
    if loaded is None:
        raise UserError(f"{name} needs the model, and {where} has codes alone: give a run's directory")
    from unbraid.metrics.model.contract import measure

    method, data = loaded()
    return measure(method, data.test or data, metrics=[name], seed=seed, options={name: options})[name]


def _of_problems(codes: Codes, name: str, options: Mapping[str, Any], seed: int, jobs: int) -> dict[str, Score]:
    """The score of this name, or all that are made with this metric, or all of this kind of problem."""
    known: list[str] = []
    for problem in problems_of(codes):
        tasks = problem.tasks(codes, seed=seed, jobs=jobs)
        known += [problem.name, *tasks] if tasks else []
        taken = {n: task for n, task in tasks.items() if name in (n, task.metric, problem.name)}
        if taken:
            return {n: task.take(**options) for n, task in taken.items()}
    for problem in PROBLEMS:
        if problem.knows(name) or name in problem.metrics:
            raise UserError(f"{name} needs {problem.needs}")
    raise unknown("metric", name, (*available(), *catalogue.of_models(), *known))
