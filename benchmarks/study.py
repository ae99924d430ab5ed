"""What a study costs beside its training: `python -m benchmarks.study [--runs 10000] [--ray] [--train]`.

    plan        resolve and check the runs of a study
    scan        look at the directories of as many finished runs
    pool        hand runs that do nothing to two worker processes
    ray         the same on a Ray that is started here (--ray)
    train       two 1-thread workers against one 2-thread worker on the same small runs, in turn (--train)

`start` is one run alone, with the start of the workers or of Ray, which is part of the line after it, too. Stop
everything else on the machine before --train: it takes some minutes, and gives the median ratio of five rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unbraid.study import Study, cluster, local, product
from unbraid.study.execute import states, task
from unbraid.study.plan import Job
from unbraid.study.store import Folder
from unbraid.study.view import View


def plan(runs: int) -> list[Job]:
    beta = [1 + 0.1 * i for i in range(10)]
    return Study(runs=product(method="beta_vae", data="dsprites", beta=beta, seed=range(runs // 10))).jobs()


def directories(jobs: Sequence[Job], folder: Path) -> None:
    for job in jobs:
        (folder / job.name).mkdir()
        (folder / job.name / "evaluation.json").write_text(json.dumps(job.evaluation))


def view(total: int, workers: int) -> View:
    return View("benchmark", total=total, done=0, workers=workers, left=total, show=False)


def ignore(name: str, reason: str) -> None:
    raise SystemExit(f"{name} failed: {reason}")


def timed(what: str, count: int, act: Callable[[], Any]) -> Any:
    begin = time.perf_counter()
    result = act()
    seconds = time.perf_counter() - begin
    print(f"{what:6s} {seconds:8.2f} s for {count} runs: {1e3 * seconds / count:8.3f} ms a run", flush=True)
    return result


def training(folder: Path, workers: int, threads: int) -> float:
    """Seconds of four small runs, with the start of the workers."""
    small = {"size": 32, "width": 16, "lr": 1e-3, "batch": 64, "steps": 300}
    jobs = Study(runs=product(method="beta_vae", data="dsprites", seed=range(4), **small), metrics=["mig"]).jobs()
    tasks = [task(job, str(folder), threads=threads) for job in jobs]
    begin = time.perf_counter()
    local.run_all(tasks, workers=workers, threads=threads, view=view(4, workers), failed=ignore)
    return time.perf_counter() - begin


def compare(folder: Path, rounds: int = 5) -> None:
    """Both ways in turn, each first in every other round."""
    ways = [(2, 1), (1, 2)]
    ratios = []
    for number in range(rounds):
        seconds = {}
        for workers, threads in ways if number % 2 else ways[::-1]:
            seconds[workers] = training(folder / f"{number}-{workers}", workers, threads)
        ratios.append(seconds[1] / seconds[2])
        print(f"round {number + 1}: two 1-thread workers {seconds[2]:.1f} s, one 2-thread worker {seconds[1]:.1f} s")
    middle = statistics.median(ratios)
    print(f"two workers are {middle:.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--train", action="store_true")
    arguments = parser.parse_args()
    runs = arguments.runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = timed("plan", runs, lambda: plan(runs))
        directories(jobs, folder)
        found = timed("scan", runs, lambda: states(Folder(folder), jobs))
        assert set(found.values()) == {"finished"}
        tasks = [task(job, name) for job in jobs]
        target = "benchmarks.study:nothing"  # run from the root of the project, where workers find it
        pool: dict[str, Any] = {"workers": 2, "failed": ignore, "target": target}
        timed("start", 1, lambda: local.run_all(tasks[:1], view=view(1, 2), **pool))
        timed("pool", runs, lambda: local.run_all(tasks, view=view(runs, 2), **pool))
        if arguments.ray:
            ray: dict[str, Any] = {"address": "local", "failed": ignore, "target": target}
            timed("start", 1, lambda: cluster.run_all(tasks[:1], view=view(1, 2), **ray))
            timed("ray", runs, lambda: cluster.run_all(tasks, view=view(runs, 2), **ray))
        if arguments.train:
            compare(folder / "train")
    return 0


def nothing(given: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    return {"status": "finished", "seconds": 0.0}


if __name__ == "__main__":
    sys.exit(main())
