"""The runs that a reproduction stands on, continued where they stopped: those of a plan, or of a study file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TypeVar

import pandas as pd

from unbraid.errors import UserError
from unbraid.reproduce.results import Result
from unbraid.study import local, plan
from unbraid.study.collect import collect, wide
from unbraid.study.execute import record_failure, states, task
from unbraid.study.store import open_store
from unbraid.study.view import View
from unbraid.train.run import Run

Setting = TypeVar("Setting")


def gather(
    work: Callable[[Setting, Path], Result], plan: Sequence[Setting], runs: Path, *, workers: int
) -> list[Result]:
    """What was found of each run of a plan, in its order; a line tells of each when it is there.

    `work` trains and evaluates a run, or reads what an earlier call found.
    """
    if workers == 1:
        return [_told(i, len(plan), work(setting, runs)) for i, setting in enumerate(plan, 1)]
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        done = pool.map(work, plan, [runs] * len(plan))
        return [_told(i, len(plan), result) for i, result in enumerate(done, 1)]


def need_mnist(root: Path) -> None:
    """The small digits that stand in for MNIST elsewhere would be another experiment."""
    if not (root / "mnist").is_dir():
        raise UserError(f"{root} needs mnist: run `unbraid data fetch mnist`, or set UNBRAID_DATA to its place")


def commits(found: Sequence[Result]) -> list[str]:
    """Those at which the runs were begun, in their order."""
    begun = [Run(result["path"]).config.get("commit") for result in found]
    return list(dict.fromkeys(name for name in begun if name))


def _end_with_parent() -> None:
    """A worker whose parent was killed would go on unseen, and hold its run against the next call."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _told(place: int, total: int, result: Result) -> Result:
    name = f"{result['label']}, {result['data']}, seed {result['seed']}"
    print(f"{place:3d} of {total}: {name} ({result['seconds']:.0f} s)", flush=True)
    return result


def table_of(file: Path, runs: Path, *, workers: int) -> pd.DataFrame:
    """A row for each run of a study, with a column for each metric; trains what has not been trained."""
    jobs = plan.load(file)
    store = open_store(str(runs))
    state = states(store, jobs)
    pending = [job for job in jobs if state[job.name] != "finished"]
    if pending:
        tasks = [task(job, str(runs.resolve()), device="cpu", threads=1) for job in pending]
        steps = sum(job.plan.steps for job in pending)
        done = len(jobs) - len(pending)
        with View(file.stem, total=len(jobs), done=done, workers=workers, left=steps, show=True) as view:
            local.run_all(
                tasks, workers=workers, threads=1, view=view, failed=lambda name, why: record_failure(store, name, why)
            )
        if view.failures:
            name, reason = next(iter(view.failures.items()))
            raise UserError(
                f"{len(view.failures)} of {len(jobs)} runs failed, the first because {reason} ({runs / name})"
            )
    table = wide(collect(runs))
    return table[table["run"].isin([job.name for job in jobs])].reset_index(drop=True)
