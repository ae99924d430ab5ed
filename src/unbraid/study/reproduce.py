"""An experiment is a folder: a plan of runs, the claims that they decide, figures and notes. This does its runs
and writes its page.

study.py     `study = Study(...)`, or `studies = {name: Study(...)}` for several; `quick`, the same in a size
             of minutes (made from the study unless given); `needs`, files in the data root
claims.py    `record(found: Found) -> Record`
notes.md     what the page says of the experiment, and under a heading for each claim what was found when it failed
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.codes import FILE as CODES
from unbraid.data.io.paths import data_root
from unbraid.errors import UserError
from unbraid.study.claims import Numbers, Record, publish
from unbraid.study.plan import Job, Point, Study
from unbraid.study.run import Resources, pending, run_jobs
from unbraid.study.run_records import take_records, write_records
from unbraid.study.store import open_store
from unbraid.train.run import Run

QUICK_STEPS, QUICK_POINTS = 12, 300


@dataclass(frozen=True)
class Result:
    """What was found of one run."""

    label: str
    data: str
    seed: int
    steps: int
    arguments: dict[str, Any]  # of method, data set and sampler
    scores: dict[str, dict[str, Any]]
    measures: dict[str, Any]
    seconds: float  # of one core, in training and evaluation
    path: Path
    finished: bool = True

    def value(self, *path: str) -> float:
        """The number at the end of a path of keys, or the first number of a list there; NaN where there is none.

        The path begins with the name of a score or of a measure; a score by itself is its value.
        """
        value: Any = {**self.measures, **self.scores}
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping):
            value = value.get("value")
        value = value[0] if isinstance(value, list) and value else value
        return float("nan") if value is None else float(value)


class Results(Sequence[Result]):
    """Runs, ordered by seed."""

    def __init__(self, results: Sequence[Result]) -> None:
        self._results = sorted(results, key=lambda result: result.seed)

    @cached_property
    def _by_label(self) -> dict[str, list[Result]]:
        found: dict[str, list[Result]] = {}
        for result in self:
            found.setdefault(result.label, []).append(result)
        return found

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, place: Any) -> Any:
        return self._results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def where(self, **wanted: Any) -> Results:
        """The runs that have these values: label, data, seed, steps, or an argument."""
        found = self._by_label.get(wanted.pop("label"), []) if "label" in wanted else self._results
        for name, value in wanted.items():
            if name in ("data", "seed", "steps"):
                found = [result for result in found if getattr(result, name) == value]
            else:
                found = [result for result in found if result.arguments.get(name) == value]
        return Results(found)

    @property
    def done(self) -> Results:
        """The runs that have finished; the others have no numbers yet."""
        return Results([result for result in self if result.finished])

    @property
    def here(self) -> Results:
        """Those that were done here, with codes and pictures, and not taken from records."""
        return Results([result for result in self.done if (result.path / CODES).exists()])

    def values(self, *path: str) -> Numbers:
        """One number of each run, by a path of keys: see Result.value."""
        return np.array([result.value(*path) for result in self])

    def labels(self, **wanted: Any) -> list[str]:
        return list(dict.fromkeys(r.label for r in self.where(**wanted)))


@dataclass(frozen=True)
class Found:
    """All that the page of an experiment is made of."""

    results: Results
    folders: dict[str, Path]  # of the runs of each study
    pictures: Path  # a folder for pictures, beside the page
    notes: dict[str, str]  # by claim; '' is what the page says of the experiment
    command: str

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.results)


def reproduce(
    folder: Path,
    *,
    out: Path,
    runs: Path,
    resources: Resources,
    quick: bool = False,
    so_far: bool = False,
    records: Path | None = None,
) -> Path:
    """Does the runs of an experiment that are missing, and writes its page and their records; gives the page's path.

    Args:
        out: folder of the page
        runs: folder of the runs
        resources: what runs may use
        quick: the smallest size, to see that all works
        so_far: do no runs, and write the page of those that have finished
        records: a file of records, whose runs are not done again
    """
    folder = folder.resolve()
    plan = _module(folder, "study")
    studies = _studies(plan, quick, folder)
    folders = {name: runs / name if name else runs for name in studies}
    notes = read_notes(folder / "notes.md")
    if records is not None:
        take_records(records, studies, runs)
    if so_far:
        found = [_so_far(job, folders[name] / job.name) for name, jobs in studies.items() for job in jobs]
        done = len(Results(found).done)
        if not done:
            raise UserError(f"no run of {folder.name} is done in {runs}: leave out --so-far to begin, or give --runs")
        if done < len(found):
            notes[""] = f"**So far: {done} of {len(found)} runs are done, and verdicts may change.** {notes['']}"
    else:
        _check_needs(getattr(plan, "needs", ()))
        found = _all_done(studies, folders, folder.name, resources)
    command = f"unbraid reproduce {folder.parent.name}/{folder.name}" + (" --quick" if quick else "")
    pictures = out / folder.name
    pictures.mkdir(parents=True, exist_ok=True)
    everything = Found(Results(found), folders, pictures, notes, command)
    record: Record = _module(folder, "claims").record(everything)
    publish(record, out, folder.name, commits(Results(found).done))
    write_records(out / f"{folder.name}.runs.zip", [result.path for result in everything.results.done], runs)
    return out / f"{folder.name}.md"


def _all_done(
    studies: Mapping[str, list[Job]], folders: Mapping[str, Path], title: str, resources: Resources
) -> list[Result]:
    found: list[Result] = []
    for name, jobs in studies.items():
        place = str(folders[name])
        failures = run_jobs(pending(jobs, place, retry_failed=True), jobs, place, title=title, resources=resources)
        if failures:
            run, reason = next(iter(failures.items()))
            raise UserError(f"{len(failures)} of {len(jobs)} runs failed, the first because {reason} ({place}/{run})")
        found += gather(jobs, folders[name])
    return found


def _so_far(job: Job, path: Path) -> Result:
    """What was found of one run; no numbers where it has not finished."""
    kept = path / "evaluation.json"
    if kept.exists():
        return _result(job, path, json_of(kept.read_bytes()))
    plan = job.plan
    return Result(job.label, plan.data, plan.seed, plan.steps, _arguments(job), {}, {}, 0.0, path, finished=False)


def gather(jobs: Sequence[Job], folder: Path) -> list[Result]:
    """What was found of each run of a plan."""
    store = open_store(str(folder))
    evaluations = {name: json_of(content) for name, content in store.read_all("evaluation.json").items()}
    return [_result(job, folder / job.name, evaluations[job.name]) for job in jobs]


def _result(job: Job, path: Path, evaluation: dict[str, Any]) -> Result:
    return Result(
        label=job.label,
        data=job.plan.data,
        seed=job.plan.seed,
        steps=job.plan.steps,
        arguments=_arguments(job),
        scores=Run(path).scores(),
        measures=evaluation.get("measures", {}),
        seconds=sum(value or 0.0 for value in evaluation["seconds"].values()),
        path=path,
    )


def _arguments(job: Job) -> dict[str, Any]:
    return {**job.arguments, "start_from": job.plan.start_from}


def json_of(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(content)
    return found


def commits(found: Sequence[Result]) -> list[str]:
    """Those at which the runs were begun, in their order."""
    begun = [Run(result.path).config.get("commit") for result in found]
    return list(dict.fromkeys(name for name in begun if name))


def read_notes(path: Path) -> dict[str, str]:
    """The text under each heading '## name' of a file, in one line; '' has the paragraphs before the first heading."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    about, *parts = re.split(r"^## +(.+)$", text, flags=re.MULTILINE)
    paragraphs = "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", about.strip()))
    notes = {name.strip(): " ".join(part.split()) for name, part in zip(parts[::2], parts[1::2], strict=True)}
    return {"": paragraphs, **notes}


def smaller(study: Study) -> Study:
    """The same runs in the smallest size: one seed, a few steps, a few rows."""

    def small(point: Point) -> Point:
        steps = {"steps": min(QUICK_STEPS, point.get("steps", QUICK_STEPS))}
        given = point.get("evaluation")
        few = {"evaluation": replace(given, points=min(QUICK_POINTS, given.points))} if given else {}
        start = {"start_from": {**point["start_from"], **steps}} if "start_from" in point else {}
        return {**point, **steps, **few, **start}

    first: dict[str, Point] = {}
    for point in study.runs:
        key = repr({n: v for n, v in small(point).items() if n not in ("seed", "steps", "evaluation")})
        first.setdefault(key, small(point))
    return replace(study, runs=list(first.values()), points=min(QUICK_POINTS, study.points))


def _studies(plan: Any, quick: bool, folder: Path) -> dict[str, list[Job]]:
    given: Any = getattr(plan, "studies", None) or {"": getattr(plan, "study", None)}
    own: Any = getattr(plan, "quick", None) if quick else None
    if own is not None:
        given = own if isinstance(own, Mapping) else {"": own}
    for study in given.values():
        if not isinstance(study, Study):
            raise UserError(
                f"{folder / 'study.py'} must define 'study = Study(...)' or 'studies = {{name: Study(...)}}'"
            )
    if quick and own is None:
        given = {name: smaller(study) for name, study in given.items()}
    return {name: study.jobs(folder) for name, study in given.items()}


def _check_needs(needs: Sequence[str]) -> None:
    root = data_root()
    missing = [name for name in needs if not any((root / part).exists() for part in name.split("|"))]
    if missing:
        listed = ", ".join(name.replace("|", " or ") for name in missing)
        raise UserError(f"{root} needs {listed}: set UNBRAID_DATA to a folder that has them, or `unbraid data fetch`")


def _module(folder: Path, name: str) -> Any:
    """A file of the experiment as a module of a package with the folder's name, so that files can import each other."""
    if not (folder / f"{name}.py").is_file():
        raise UserError(f"{folder} is no experiment: it has no {name}.py")
    place = str(folder.parent)
    if place not in sys.path:
        sys.path.insert(0, place)
    return importlib.import_module(f"{folder.name}.{name}")
