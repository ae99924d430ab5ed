"""One run of a study from beginning to end: train, represent, evaluate; the same on one machine and on a cluster."""

from __future__ import annotations

import json
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid import catalogue, machine
from unbraid.errors import UserError, of_the_disk
from unbraid.study.plan import Job
from unbraid.study.store import Store, open_store
from unbraid.train.run import Busy, Plan, Run

if TYPE_CHECKING:
    from unbraid.data.table import Table

Tell = Callable[[int, float], None]  # number of steps done, and the loss


def states(store: Store, jobs: Iterable[Job]) -> dict[str, str]:
    """Each run by name: finished, failed, begun (it continues where it stopped) or new."""
    evaluations, failures = store.read_all("evaluation.json"), store.read_all("failed.json")
    there = set(store.names())

    def state(job: Job) -> str:
        if is_evaluated(evaluations.get(job.name), job.evaluation):
            return "finished"
        return "failed" if job.name in failures else "begun" if job.name in there else "new"

    return {job.name: state(job) for job in jobs}


def is_evaluated(content: bytes | None, wanted: Mapping[str, Any]) -> bool:
    """Whether this evaluation.json answers what is wanted: the same points and options, and all of the metrics."""
    found = comparable(content, wanted)
    if found is None or any(found["metrics"].get(name) != options for name, options in wanted["metrics"].items()):
        return False
    return all(measure_name(spec) in found.get("measures", {}) for spec in wanted.get("measures", ()))


def measure_name(spec: str) -> str:
    """'file.py:name' by the name under which what it gives is kept."""
    return spec.rpartition(":")[2]


def comparable(content: bytes | None, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """An evaluation.json of the same rows as the wanted one, whatever its metrics are; None if it is of others."""
    if content is None:
        return None
    try:
        found: dict[str, Any] = json.loads(content)
        alike = all(found[name] == wanted[name] for name in ("points", "bootstrap"))
        return found if alike and isinstance(found["metrics"], dict) else None
    except (ValueError, KeyError, TypeError):
        return None


def task(job: Job, out: str, *, device: str = "cpu", threads: int = 1) -> dict[str, Any]:
    """All that a worker must know, in plain JSON types."""
    return {
        "name": job.name,
        "steps": job.plan.steps,
        "start_from": job.plan.start_from,
        "job": job.as_dict(),
        "out": out,
        "device": device,
        "threads": threads,
    }


def work(given: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Does a task and gives its `status`: finished, busy (another process has it) or failed with its `reason`."""
    job, store = Job.from_dict(given["job"]), open_store(given["out"])
    begin = time.monotonic()
    try:
        if not _may_begin(job, store):
            return {"status": "busy"}
        others = [job.plan.start_from] if job.plan.start_from else []
        with machine.torch_threads(given["threads"]), store.workspace(job.name, *others) as folder:
            _perform(job, folder, given["device"], given["threads"], tell)
    except Busy:
        return {"status": "busy"}
    except Exception as error:
        reason = reason_of(error)
        if not of_the_disk(error):  # the same command tries again when there is room
            record_failure(store, job.name, reason, traceback.format_exc())
        return {"status": "failed", "reason": reason}
    return {"status": "finished", "seconds": time.monotonic() - begin}


def _may_begin(job: Job, store: Store) -> bool:
    """Whether the run whose weights it begins with, if there is one, has finished."""
    start = job.plan.start_from
    if start is None or store.has(start, "evaluation.json"):
        return True
    if store.has(start, "failed.json"):
        raise UserError(f"it begins with the weights of {start}, which has failed")
    return False


def record_failure(store: Store, name: str, reason: str, trace: str = "") -> None:
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    store.write(name, "failed.json", {"reason": reason, "trace": trace, "when": when, "host": platform.node()})


def reason_of(error: BaseException) -> str:
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"out of memory: {error}".rstrip(": ")
    return f"{type(error).__name__}: {error}".partition("\n")[0]


@lru_cache(maxsize=1)
def _table(name: str, arguments: str) -> Table:
    """Kept from run to run: neighbours in a plan often share a data set, and decoding its images takes time."""
    from unbraid.train.load import load_data

    return load_data(name, **json.loads(arguments))


def _perform(job: Job, folder: Path, device: str, threads: int, tell: Tell) -> None:
    from unbraid.train.fit import fit
    from unbraid.train.load import built

    plan = job.plan
    table = _table(plan.data, json.dumps(plan.data_arguments))
    method = built(catalogue.find("methods", plan.method), table.spec, plan.arguments, plan.seed)
    clock = Clock(plan, tell)
    run = fit(
        method,
        table,
        steps=plan.steps,
        batch=plan.batch,
        seed=plan.seed,
        decay=plan.decay,
        sampling=plan.sampling,
        start_from=None if plan.start_from is None else str(folder / plan.start_from),
        out=str(folder),
        device=device,
        threads=threads,
        show=False,
        hooks=[clock],
    )
    if run.path.name != job.name:
        raise RuntimeError(f"the run was planned as {job.name} and became {run.path.name}")
    with run.lock():
        evaluation = run.path / "evaluation.json"
        content = evaluation.read_bytes() if evaluation.exists() else None
        if not is_evaluated(content, job.evaluation):
            _evaluate(job, run, method, table, clock.costs(), threads, comparable(content, job.evaluation))
        for left in ("failed.json", "state.pt"):  # a finished run never needs its optimisers again
            (run.path / left).unlink(missing_ok=True)


def _evaluate(
    job: Job, run: Run, method: Any, table: Any, costs: dict[str, Any], threads: int, earlier: dict[str, Any] | None
) -> None:
    """Scores the run and writes evaluation.json last; scores of an `earlier` evaluation of the same rows are kept.

    evaluation.json holds how the run was evaluated (points, bootstrap, metrics with their options), what was found
    (`quantities`, `measures`), what it cost (`kind`, `rate` in steps per second, `seconds` of training and of
    evaluation), its `label` and `host`.
    """
    from unbraid.evaluate import evaluate

    begin = time.monotonic()
    kept = earlier["metrics"] if earlier else {}
    found = evaluate(run, method, table, job.evaluation, threads=threads, kept=kept)
    if earlier and costs["rate"] is None:
        costs = {name: earlier[name] for name in ("kind", "rate", "seconds")}
    seconds = {**costs["seconds"], "evaluate": time.monotonic() - begin}
    told = {**job.evaluation, "metrics": {**kept, **job.evaluation["metrics"]}, **found, **costs, "seconds": seconds}
    run.write_json("evaluation.json", {**told, "label": job.label, "host": platform.node()})


class Clock:
    """A hook that passes a run's steps on and measures their rate."""

    def __init__(self, plan: Plan, tell: Tell) -> None:
        self.plan, self.tell = plan, tell
        self.marks: list[tuple[int, float]] = []

    def __call__(self, step: int, terms: dict[str, float]) -> None:
        self.marks = [*self.marks[:1], (step, time.monotonic())]
        self.tell(step, terms.get("loss", float("nan")))

    def costs(self) -> dict[str, Any]:
        """The rate between the first window and the last, without warming up; None where there were fewer than two."""
        if len(self.marks) < 2:
            return {"kind": kind(self.plan), "rate": None, "seconds": {"train": None}}
        (first, begin), (last, end) = self.marks
        rate = (last - first) / (end - begin)
        return {"kind": kind(self.plan), "rate": rate, "seconds": {"train": self.plan.steps / rate}}


def kind(plan: Plan) -> str:
    """Runs of one kind take the same time for a step: method, data set, batch, and sizes of images and network."""
    sizes = {**plan.data_arguments, **plan.arguments}
    shown = [f"{name} {sizes[name]}" for name in ("size", "net", "width") if name in sizes]
    return ", ".join([plan.method, plan.data, f"batch {plan.batch}", *shown])
