"""How long a study will take: from runs of the same kind that have finished, or from a short calibration."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unbraid.errors import UserError
from unbraid.study.execute import kind, measure_name, task
from unbraid.study.local import run_all
from unbraid.study.plan import Job
from unbraid.study.store import Store, open_store
from unbraid.study.view import View

CALIBRATION = "calibration.json"
STEPS = 200  # of a calibration; the first fifty do not count
FEW_POINTS = 1000  # encoded in a calibration that is not the first on its data set


@dataclass(frozen=True)
class Cost:
    """Seconds of one core."""

    rate: float | None  # steps per second
    evaluate: float | None

    def of(self, job: Job) -> float | None:
        return job.plan.steps / self.rate + (self.evaluate or 0.0) if self.rate else None


def costs(store: Store, jobs: Iterable[Job]) -> dict[str, Cost]:
    """The cost of each kind of run in the plan, medians over what was measured in this place."""
    finished = [_measured(content) for name, content in store.read_all("evaluation.json").items() if name]
    calibrated = _calibrated(store)
    rates = _rates(calibrated) | _rates(finished)
    found = {}
    for job in jobs:
        key = kind(job.plan)
        if key not in found:
            alike = [m for m in [*finished, *calibrated] if _evaluated_alike(m, job)]
            seconds = [s for m in alike if (s := m["seconds"].get("evaluate")) is not None]
            found[key] = Cost(rates.get(key), statistics.median(seconds) if seconds else None)
    return found


def calibrate(jobs: Sequence[Job], out: str, *, device: str = "cpu", threads: int = 1, show: bool = True) -> None:
    """Trains every kind of run that was never measured for a few steps, and evaluates one on each data set.

    What it measures is kept beside the runs.
    """
    store = open_store(out)
    known = costs(store, jobs)
    sets: set[str] = set()
    short: dict[str, Job] = {}
    for job in jobs:
        key = kind(job.plan)
        if key in short or (known[key].rate and known[key].evaluate):
            continue
        evaluation = job.evaluation
        if job.plan.data in sets or known[key].evaluate:
            evaluation = {**evaluation, "points": min(FEW_POINTS, evaluation["points"]), "metrics": {}}
        sets.add(job.plan.data)
        short[key] = Job(replace(job.plan, steps=STEPS, start_from=None), evaluation)
    with tempfile.TemporaryDirectory(prefix="unbraid-") as folder:
        tasks = [task(job, folder, device=device, threads=threads) for job in short.values()]
        view = View("calibration", total=len(tasks), done=0, workers=1, left=STEPS * len(tasks), show=show)
        with view:
            run_all(tasks, workers=1, threads=threads, view=view, failed=lambda name, reason: None)
        measured = [json.loads(c) for c in open_store(folder).read_all("evaluation.json").values()]
    store.write("", CALIBRATION, _calibrated(store) + measured)


def total(jobs: Iterable[Job], known: dict[str, Cost]) -> tuple[float, int]:
    """Seconds of one core for the runs whose cost is known, and the number of the others."""
    each = [known[kind(job.plan)].of(job) for job in jobs]
    return sum(seconds for seconds in each if seconds is not None), each.count(None)


def _measured(content: bytes) -> dict[str, Any]:
    """An evaluation.json; nothing where it is damaged: that run will be evaluated again."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if _is_whole(found) else {}


def _is_whole(found: Any) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("seconds"), dict):
        return False
    if not isinstance(found.get("measures", {}), dict):
        return False
    numbers = (found.get("rate"), found["seconds"].get("evaluate", 0))
    plain = all(number is None or (isinstance(number, int | float) and number >= 0) for number in numbers)
    return isinstance(found.get("kind"), str) and plain


def _calibrated(store: Store) -> list[dict[str, Any]]:
    try:
        found = [measured for content in store.read_all(CALIBRATION).values() for measured in json.loads(content)]
        if not all(map(_is_whole, found)):
            raise ValueError("it does not hold what was measured")
        return found
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{CALIBRATION} among the runs is damaged ({error}): delete it") from error


def _evaluated_alike(measured: dict[str, Any], job: Job) -> bool:
    """The same metrics and measures on as many rows of the same data set."""
    same = all(measured.get(name) == job.evaluation[name] for name in ("points", "bootstrap", "metrics"))
    taken = [measure_name(spec) for spec in job.evaluation.get("measures", ())]
    same = same and set(measured.get("measures", {})) == set(taken)
    return same and str(measured.get("kind", "")).split(", ")[1:2] == [job.plan.data]


def _rates(measured: Iterable[dict[str, Any]]) -> dict[str, float]:
    """The median of the steps per second of each kind of run."""
    groups: dict[str, list[float]] = {}
    for one in measured:
        if one.get("rate"):
            groups.setdefault(one["kind"], []).append(one["rate"])
    return {kind: statistics.median(rates) for kind, rates in groups.items()}
