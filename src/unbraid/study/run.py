"""Does the runs of a study that are still to do, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unbraid import machine
from unbraid.errors import UserError
from unbraid.study import cluster, local
from unbraid.study.execute import record_failure, states, task
from unbraid.study.plan import Job
from unbraid.study.store import Store, open_store
from unbraid.study.view import View


@dataclass(frozen=True)
class Resources:
    """What runs may use.

    Args:
        workers: runs at a time on this machine; as many as there are cores for their threads unless given
        threads: of each run on this machine
        device: cpu, cuda, ...; unless given cpu, or cuda where a cluster's runs have GPUs
        ray: address of a cluster, on which runs are done instead
        cpus: cores of each run on a cluster
        gpus: GPUs of each run on a cluster
    """

    workers: int | None = None
    threads: int = 1
    device: str | None = None
    ray: str | None = None
    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name} must be at least 1, and is {value}")
        if self.cpus < 0 or self.gpus < 0:
            raise UserError("--cpus and --gpus must not be negative")
        if not self.ray and (self.gpus or self.cpus != 1.0):
            raise UserError("--cpus and --gpus are for a cluster: give --ray ADDRESS, or --device for this machine")

    @property
    def of_runs(self) -> str:
        """The device of each run."""
        return self.device or ("cuda" if self.gpus else "cpu")

    @property
    def at_once(self) -> int:
        """Runs at a time on this machine."""
        return self.workers or max(1, machine.cores() // self.threads)


def pending(jobs: Sequence[Job], out: str, *, retry_failed: bool = False, limit: int | None = None) -> list[Job]:
    """The runs that are still to do.

    Args:
        retry_failed: also those that have failed before
        limit: at most so many
    """
    if limit is not None and limit < 1:
        raise UserError(f"--limit must be at least 1, and is {limit}")
    state = states(open_store(out), jobs)
    again = ("begun", "new", "failed") if retry_failed else ("begun", "new")
    return [job for job in jobs if state[job.name] in again][:limit]


def run_jobs(
    some: Sequence[Job], jobs: Sequence[Job], out: str, *, title: str, resources: Resources, show: bool = True
) -> dict[str, str]:
    """Does some of the runs of a study and gives the reasons of those that failed, by name.

    Args:
        title: of what is shown
        resources: what runs may use
        show: what goes on
    """
    if not some:
        return {}
    store = open_store(out)
    _check_starts(some, store)

    def failed(name: str, reason: str) -> None:
        record_failure(store, name, reason)

    threads = max(1, int(resources.cpus)) if resources.ray else resources.threads
    place = out if "://" in out else str(Path(out).resolve())
    tasks = [task(job, place, device=resources.of_runs, threads=threads) for job in some]
    done = sum(state == "finished" for state in states(store, jobs).values())
    steps = sum(job.plan.steps for job in some)
    with View(title, total=len(jobs), done=done, workers=resources.at_once, left=steps, show=show) as view:
        if resources.ray:
            cluster.run_all(
                tasks, address=resources.ray, cpus=resources.cpus, gpus=resources.gpus, view=view, failed=failed
            )
        else:
            local.run_all(tasks, workers=resources.at_once, threads=threads, view=view, failed=failed)
    return view.failures


def _check_starts(some: Sequence[Job], store: Store) -> None:
    """Refuses a run that would wait forever: it begins with the weights of one that is neither done nor among these."""
    chosen = {None, *(job.name for job in some)}
    waiting = [job for job in some if job.plan.start_from not in chosen]
    if not waiting:
        return
    known = store.read_all("evaluation.json").keys() | store.read_all("failed.json").keys()
    for job in waiting:
        if job.plan.start_from not in known:
            raise UserError(
                f"{job.name} begins with the weights of {job.plan.start_from}, which is not done and not among the "
                "runs to do: choose that one too"
            )
