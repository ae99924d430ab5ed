"""The runs that a reproduction stands on: all of a study file, continued where they stopped, as one table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from unbraid.errors import Problem
from unbraid.study import local, plan
from unbraid.study.collect import collect, wide
from unbraid.study.execute import record_failure, states, task
from unbraid.study.store import open_store
from unbraid.study.view import View


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
            raise Problem(
                f"{len(view.failures)} of {len(jobs)} runs failed, the first because {reason} ({runs / name})"
            )
    table = wide(collect(runs))
    return table[table["run"].isin([job.name for job in jobs])].reset_index(drop=True)
