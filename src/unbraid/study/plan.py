"""What a study runs: keyword arguments combined, resolved against the signatures, and checked before anything trains.

runs = product(
    chain(product(method="vae"), product(method="beta_vae", beta=[2, 4, 8])),
    data=["dsprites", "shapes3d"], size=32, steps=3000, seed=range(3),
)
study = Study(runs=runs, metrics=["mig", "dci"])
"""

from __future__ import annotations

import itertools
import runpy
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from unbraid import catalogue
from unbraid.config import Argument
from unbraid.errors import UserError, unknown
from unbraid.metrics.suite import DEFAULT
from unbraid.study.evaluation import Evaluation
from unbraid.train.run import Plan

Point = dict[str, Any]  # the keyword arguments of one run: method, data, steps, batch, seed, decay, and those of each;
# also `label` (its name in tables), `evaluation` (an Evaluation of its own) and `start_from` (see Study);
# the argument `label` of a data set is `class_label` here
OF_RUNS = ("label", "evaluation", "start_from")  # keys of a point that are no arguments
# arguments of `fit` that a study may set, and the least value of each
TRAINING = {"steps": 1, "batch": 1, "seed": 0, "decay": 0.0}


def product(*parts: Sequence[Point], **axes: Any) -> list[Point]:
    """Every combination of the points in the parts and of the values in the axes; one value is a list of one."""
    return [_merged(points) for points in itertools.product(*_lists(parts, axes))]


def zipped(*parts: Sequence[Point], **axes: Any) -> list[Point]:
    """The first values of all lists together, then the second ones, and so on; a single value goes with each."""
    lists = _lists(parts, axes)
    lengths = {len(points) for points in lists} - {1} or {1}
    if len(lengths) > 1:
        raise UserError(f"zipped needs lists of one length, not of {', '.join(map(str, sorted(lengths)))}")
    (length,) = lengths
    return [_merged(points[i % len(points)] for points in lists) for i in range(length)]


def chain(*parts: Sequence[Point]) -> list[Point]:
    """All points of the parts, one part after the other."""
    return [point for part in parts for point in part]


@dataclass(frozen=True)
class Job:
    """One run of a study: what decides its weights, and how it is evaluated."""

    plan: Plan
    evaluation: dict[str, Any]  # points, bootstrap, metrics with their options, measures
    label: str = ""  # its name in tables

    @cached_property
    def name(self) -> str:
        return self.plan.name

    @cached_property
    def arguments(self) -> Point:
        """All arguments, given or default, in one dictionary."""
        plan = self.plan
        own = {"method": plan.method, "data": plan.data, "steps": plan.steps, "batch": plan.batch, "seed": plan.seed}
        own |= {"decay": plan.decay}
        return {**plan.data_arguments, **plan.sampling, **plan.arguments, **own}

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Job:
        return cls(Plan(**content["plan"]), dict(content["evaluation"]), str(content.get("label", "")))


@dataclass(frozen=True, kw_only=True)
class Study:
    """Runs, and how each of them is evaluated.

    Args:
        runs: keyword arguments of each run, from product, zipped and chain. A run whose arguments hold
            `start_from={"steps": 2500}` begins with the weights of another run of the study, which has these
            arguments and otherwise the same
        metrics: see Evaluation; this and the next three are for runs that have no `evaluation` of their own
        points: see Evaluation
        bootstrap: see Evaluation
        measures: see Evaluation
    """

    runs: Sequence[Point]
    metrics: Sequence[str] | Mapping[str, Mapping[str, Any]] = field(default=DEFAULT)
    points: int = 10_000
    bootstrap: int = 0
    measures: Sequence[str] = ()

    def jobs(self, folder: Path | None = None) -> list[Job]:
        """The resolved runs in order; raises at the first argument that cannot work.

        Args:
            folder: where the files of measures are; the working directory unless given
        """
        resolved: dict[int, dict[str, Any]] = {}

        def evaluated(given: Any) -> dict[str, Any]:
            if not isinstance(given, Evaluation):
                raise UserError(f"the evaluation of a run must be an Evaluation(...), not {given!r}")
            if id(given) not in resolved:
                resolved[id(given)] = given.resolved(folder or Path.cwd())
            return resolved[id(given)]

        own = Evaluation(metrics=self.metrics, points=self.points, bootstrap=self.bootstrap, measures=self.measures)
        default = evaluated(own)  # checked even where every run has its own
        if not self.runs:
            raise UserError("the study has no runs")
        jobs = [
            Job(resolve(p), evaluated(p["evaluation"]) if "evaluation" in p else default, str(p.get("label", "")))
            for p in map(_point, self.runs)
        ]
        _refuse_repeated(jobs, self.runs)
        names = {None, *(job.name for job in jobs)}
        for job in jobs:
            if job.plan.start_from not in names:
                raise UserError(
                    f"{job.name} begins with the weights of {job.plan.start_from}, which is no run of the study"
                )
        return jobs


def _refuse_repeated(jobs: Sequence[Job], points: Sequence[Point]) -> None:
    seen: dict[str, int] = {}
    for number, job in enumerate(jobs):
        if job.name in seen:
            first, again = points[seen[job.name]], points[number]
            raise UserError(f"runs {seen[job.name] + 1} and {number + 1} are the same: {_shown(first, again)}")
        seen[job.name] = number


def _point(given: Any) -> Point:
    if not isinstance(given, Mapping):
        raise UserError(f"a run must be a dictionary of arguments, as product(...) gives them, not {given!r}")
    return dict(given)


def load(file: Path | str) -> list[Job]:
    """The checked runs of a study file; 'file.py:name' is another study in it than `study`."""
    path, name = Path(file), "study"
    if not path.is_file() and ".py:" in str(file):
        before, _, name = str(file).rpartition(":")
        path = Path(before)
    if not path.is_file():
        raise UserError(f"there is no study file {path}")
    try:
        found = runpy.run_path(str(path))
        study = found.get(name)
        if not isinstance(study, Study):
            others = sorted(other for other, value in found.items() if isinstance(value, Study))
            raise UserError(
                f"it must define '{name} = Study(...)'" + (f"; it defines {', '.join(others)}" if others else "")
            )
        return study.jobs(path.resolve().parent)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except Exception as error:  # whatever a user's file may raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        where = f"{path}, line {line}" if line else str(path)
        raise UserError(f"{where}: {type(error).__name__}: {error}") from error


def select(jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """The runs that have one of the wanted values of every key; words are 'key=value', 'key=value,value,key=value'."""
    wanted: dict[str, list[str]] = {}
    key = ""
    for piece in (piece for word in only for piece in word.split(",")):
        name, equals, value = piece.partition("=")
        if not equals and not key:
            raise UserError(f"--only needs key=value, not '{piece}'")
        key = name if equals else key
        wanted.setdefault(key, []).append(value if equals else name)
    chosen = list(jobs)
    for key, values in wanted.items():
        known = {name for job in jobs for name in job.arguments}
        if key not in known:
            raise unknown("argument in the study", key, known)
        chosen = [job for job in chosen if any(_equal(job.arguments.get(key), value) for value in values)]
        if not chosen:
            raise UserError(f"no run of the study has {key}={','.join(values)} and what --only says before it")
    return chosen


def resolve(point: Point) -> Plan:
    """The plan of one run with all defaults filled in; nothing is imported and no data is read."""
    given = {name: value for name, value in _point(point).items() if name not in OF_RUNS}
    if "class_label" in given:
        given["label"] = given.pop("class_label")
    for name, kind in (("method", "methods"), ("data", "data")):
        if name not in given:
            raise UserError(
                f"a run needs '{name}', as in {name}='{next(iter(catalogue.entries(kind)))}': it has {point}"
            )
    method = catalogue.find("methods", given.pop("method"))
    data = catalogue.find("data", given.pop("data"))
    networks = {a.name: catalogue.absolute(given.pop(a.name)) for a in catalogue.NETWORKS if given.get(a.name)}
    groups = (data.arguments, method.arguments, _sampling(method.traits["batch_kind"]), _training())
    known = [argument.name for group in (*groups, catalogue.NETWORKS) for argument in group]
    for name in given:
        if name not in known:
            raise unknown(f"argument of {method.name} on {data.name}", name, known)
    for entry in (data, method):
        catalogue.check(entry, {name: v for name, v in given.items() if name in {a.name for a in entry.arguments}})
    owner = f"{method.name} on {data.name}"
    own, arguments, sampling, training = (
        {a.name: a.converted(given[a.name], owner) if a.name in given else a.default for a in group} for group in groups
    )
    for name, least in TRAINING.items():
        if training[name] < least:
            raise UserError(f"{name} must be at least {least}, and is {training[name]}")
    _check_kind(data, method, sampling)
    plan = Plan(method.name, arguments | networks, data.name, own, sampling, **training)
    if "start_from" not in point:
        return plan
    changes = _point(point["start_from"])
    first = resolve({name: value for name, value in point.items() if name != "start_from"} | changes)
    return replace(plan, start_from=first.name)


def _check_kind(data: catalogue.Entry, method: catalogue.Entry, sampling: dict[str, Any]) -> None:
    """Refuses a method whose batches the data set cannot give."""
    kind, gives = method.traits["batch_kind"], _gives(data)
    if kind not in gives and sampling.get("views_of") != "instance":
        raise UserError(f"{method.name} trains on {kind}, and '{data.name}' gives only {', '.join(gives)}")


@cache
def _sampling(kind: str) -> tuple[Argument, ...]:
    return catalogue.sampling(kind)


@cache
def _training() -> tuple[Argument, ...]:
    return tuple(a for a in catalogue.signature("train/fit.py", "fit") if a.name in TRAINING)


def _gives(data: catalogue.Entry) -> tuple[str, ...]:
    """From the source, or from the class where it inherits them; no instance is made and no file is opened."""
    stated: tuple[str, ...] | None = data.traits.get("gives")
    return stated if stated is not None else data.load().gives


def _lists(parts: tuple[Sequence[Point], ...], axes: dict[str, Any]) -> list[list[Point]]:
    return [*map(list, parts), *([{name: value} for value in _values(given)] for name, given in axes.items())]


def _values(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]


def _merged(points: Iterable[Point]) -> Point:
    merged: Point = {}
    for point in points:
        for name in merged.keys() & point.keys():
            raise UserError(f"'{name}' is set twice, to {merged[name]!r} and to {point[name]!r}")
        merged |= point
    return merged


def _shown(*points: Point) -> str:
    texts = [", ".join(f"{name}={value}" for name, value in point.items()) for point in points]
    return " and ".join(dict.fromkeys(texts))


def _equal(value: Any, text: str) -> bool:
    if str(value) == text:
        return True
    try:
        return not isinstance(value, bool | str) and value is not None and float(value) == float(text)
    except ValueError:
        return False
