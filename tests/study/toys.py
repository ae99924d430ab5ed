"""Small runs, and tasks that misbehave, for the tests of studies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unbraid.study.view import View

SMALL = [{"data": "dsprites", "size": 16, "width": 4, "batch": 16}]


def quiet_view(total: int) -> View:
    return View("test", total=total, done=0, workers=2, left=100 * total, show=False)


def run_here(tasks: Sequence[dict[str, Any]], *, view: View, **_: Any) -> None:
    """In place of `run_all`: does the runs in this process."""
    from unbraid.study.execute import work

    for task in tasks:
        view.started(task["name"], task["steps"])
        view.ended(task["name"], **work(task, lambda step, loss: None))


def nothing(task: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    """Leaves a mark for each time that it is called."""
    with Path(task["marks"]).open("a") as file:
        file.write(task["name"] + "\n")
    return {"status": "finished", "seconds": 0.0}


def fragile(task: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    """Kills its own process as often as the task says, then finishes."""
    nothing(task, tell)
    if Path(task["marks"]).read_text().splitlines().count(task["name"]) <= task["deaths"]:
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return {"status": "finished", "seconds": 0.0}


def full(task: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    """Meets a full disk, or waits for the weights of a run that has not finished."""
    return {"status": "busy"} if task["start_from"] else {"status": "failed", "reason": "there is no room"}


def patient(task: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    """`fragile`; run0 waits up to a minute until run1 was begun twice."""
    if task["name"] != "run0":
        return fragile(task, tell)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if Path(task["marks"]).exists() and Path(task["marks"]).read_text().splitlines().count("run1") > 1:
            time.sleep(0.5)  # the other one ends first
            return {"status": "finished", "seconds": 0.0}
        time.sleep(0.05)
    return {"status": "failed", "reason": "run1 was not tried again"}


def counted(task: dict[str, Any], tell: Callable[[int, float], None]) -> dict[str, Any]:
    """A real run, which leaves a mark whenever weights are saved at the end of a training."""
    from unbraid.study.execute import work
    from unbraid.train import fit as train

    names = vars(train)
    save = names["save_weights"]

    def saved(method: Any, path: Path) -> None:
        nothing({**task, "name": path.name}, tell)
        save(method, path)

    names["save_weights"] = saved
    try:
        return work(task, tell)
    finally:
        names["save_weights"] = save
