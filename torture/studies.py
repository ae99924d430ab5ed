"""A study of four workers whose workers and parent are killed, and a cluster of two nodes whose nodes are.

No run is lost, no finished run is done again, and the weights are those of an undisturbed run.

    python -m torture.studies [--kills N] [--only local|ray]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from torture.table import Row, keep, timed

FILE = """
from unbraid.study import Study, product
runs = product(method="vae", data="dsprites", size=16, width=4, batch=16, steps={steps}, seed=range({seeds}))
study = Study(runs=runs, metrics=["mig"], points=200)
"""
EVALUATED = "*/evaluation.json"


class Finished:
    """Notes which runs have finished, and whether one of them was done again."""

    def __init__(self, out: Path) -> None:
        self.out, self.seen, self.again = out, dict[str, int](), set[str]()

    def look(self) -> None:
        for path in self.out.glob(EVALUATED):
            with suppress(FileNotFoundError):
                changed = path.stat().st_mtime_ns
                if self.seen.setdefault(path.parent.name, changed) != changed:
                    self.again.add(path.parent.name)


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def kill_a_study(folder: Path, kills: int, seeds: int, steps: int, rng: np.random.Generator) -> tuple[str, list[str]]:
    """Kills workers, and at each fourth time the parent, until it was done so often; then lets the study end."""
    file, out = folder / "toy.py", folder / "out"
    file.write_text(FILE.format(steps=steps, seeds=seeds))
    program = "import sys; from unbraid.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "study", str(file), "--out", str(out), "--workers", "4"]
    words += ["--quiet", "--retry-failed"]
    finished, done = Finished(out), 0
    while True:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            time.sleep(rng.uniform(0.3, 1.5))
            finished.look()
            workers = children(process.pid)
            if done < kills and workers and any(out.glob("*/lock")):
                done += 1
                victim = process.pid if done % 4 == 0 else int(rng.choice(workers))
                with suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        errors = process.communicate()[1]
        finished.look()
        if process.returncode >= 0 and len(finished.seen) == seeds:
            break
        if process.returncode > 0 and "Traceback" in errors:
            return f"{done} kills", [f"the study ended with a traceback: {errors[-500:]}"]
    return f"{done} kills of workers and of the study", wrong_ends(file, out, finished)


def wrong_ends(file: Path, out: Path, finished: Finished) -> list[str]:
    """Runs that are lost, were done again, or have other weights than undisturbed ones."""
    from unbraid.study.execute import states, task, work
    from unbraid.study.plan import load
    from unbraid.study.store import Folder

    jobs = load(file)
    wrong = [f"{name} was done again" for name in finished.again]
    wrong += [f"{name} is {state}" for name, state in states(Folder(out), jobs).items() if state != "finished"]
    for job in jobs:
        work(task(job, str(out.parent / "whole")), lambda step, loss: None)
        killed, whole = (place / job.name / "weights.safetensors" for place in (out, out.parent / "whole"))
        if not killed.exists() or killed.read_bytes() != whole.read_bytes():
            wrong.append(f"{job.name} has other weights")
    return wrong


def kill_nodes(folder: Path, kills: int, seeds: int, steps: int) -> tuple[str, list[str]]:
    """A study on two nodes, one of which is killed and replaced again and again."""
    from torture.nodes import cluster

    from unbraid.study.cluster import run_all
    from unbraid.study.execute import task
    from unbraid.study.plan import load
    from unbraid.study.view import View

    file, out = folder / "toy.py", folder / "out"
    file.write_text(FILE.format(steps=steps, seeds=seeds))
    out.mkdir()
    jobs, finished, failures = load(file), Finished(out), list[str]()
    view = View("torture", total=seeds, done=0, workers=2, left=steps * seeds, show=False)
    tasks, done = [task(job, str(out)) for job in jobs], 0
    given = {"address": "auto", "view": view, "failed": lambda name, reason: failures.append(f"{name}: {reason}")}
    with cluster() as nodes:
        study = threading.Thread(target=run_all, args=(tasks,), kwargs=given)
        study.start()
        while study.is_alive():  # nodes are added by the main thread alone
            study.join(2.0)
            finished.look()
            begun = {path.parent.name for path in out.glob("*/lock")}
            if done < kills and begun - finished.seen.keys():
                nodes.kill(nodes.nodes.pop(0))
                nodes.nodes.append(nodes.add())
                done += 1
    finished.look()
    return f"{done} nodes killed", failures + wrong_ends(file, out, finished)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of the study; half as many of nodes")
    parser.add_argument("--runs", type=int, default=24, help="of each study")
    parser.add_argument("--steps", type=int, default=1500, help="of each run")
    parser.add_argument("--only", choices=("local", "ray"))
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, what in (("local", "run of a study with four workers"), ("ray", "run of a study on two nodes")):
            if given.only not in (None, name):
                continue
            folder = Path(place) / name
            folder.mkdir()
            with timed() as watch:
                if name == "local":
                    rng = np.random.default_rng(0)
                    said, wrong = kill_a_study(folder, given.kills, given.runs, given.steps, rng)
                else:
                    said, wrong = kill_nodes(folder, given.kills // 2, given.runs, given.steps)
            print(*wrong, sep="\n", flush=True)
            said += "; none lost, none done again, weights equal bit for bit"
            rows.append(Row("studies", what, given.runs, given.runs - len(wrong), said, watch.seconds))
    keep(rows)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
