"""What a study costs beside its training: `python benchmarks/study.py [--runs 10000] [--ray] [--train]`.

    plan        resolve and check the runs of a study
    scan        look at the directories of as many finished runs
    pool        hand runs that do nothing to two worker processes
    ray         the same on a Ray that is started here (--ray)
    train       two 1-thread workers against one 2-thread worker, on the same small runs (--train)

Stop everything else on the machine before --train.
"""

from __future__ import annotations

import argparse
import json
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
    """Seconds of four small runs."""
    small = {"size": 32, "width": 16, "lr": 1e-3, "batch": 64, "steps": 300}
    jobs = Study(runs=product(method="beta_vae", data="dsprites", seed=range(4), **small), metrics=["mig"]).jobs()
    tasks = [task(job, str(folder / f"{workers}x{threads}"), threads=threads) for job in jobs]
    begin = time.perf_counter()
    local.run_all(tasks, workers=workers, threads=threads, view=view(4, workers), failed=ignore)
    return time.perf_counter() - begin


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
        timed("pool", runs, lambda: local.run_all(tasks, workers=2, view=view(runs, 2), failed=ignore, target=target))
        if arguments.ray:
            shown = view(runs, 2)
            timed(
                "ray",
                runs,
                lambda: cluster.run_all(tasks, address="local", view=shown, failed=ignore, target=target),
            )
        if arguments.train:
            two, one = training(folder, 2, 1), training(folder, 1, 2)
            print(f"two 1-thread workers {two:.1f} s, one 2-thread worker {one:.1f} s: {one / two:.2f} times as fast")
    return 0


def nothing(given: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    return {"status": "finished", "seconds": 0.0}


if __name__ == "__main__":
    sys.exit(main())
