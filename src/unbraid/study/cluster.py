"""A study on a Ray cluster: each run is a task.

A worker or node that dies costs what its runs had not saved: in a folder that all nodes share, what came after the last
checkpoint; at a URL the whole run, which is copied there only when it ends (study/store.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unbraid.errors import UserError
from unbraid.study.execute import reason_of
from unbraid.study.local import BUSY_SECONDS, TARGET, Failed, Task, unless_in_vain
from unbraid.study.view import View
from unbraid.study.worker import function_of

WINDOW = 2000  # tasks that Ray knows of at a time: enough to scale a cluster by, few enough for one ray.wait
RETRIES = 3  # of Ray, for a run whose worker or node died
STOPS = 10  # times that a run may be stopped by its node's shutdown before it counts as failed
POLL = 0.2  # seconds


def run_all(
    tasks: Sequence[Task],
    *,
    address: str,
    cpus: float = 1.0,
    gpus: float = 0.0,
    view: View,
    failed: Failed,
    target: str = TARGET,
) -> None:
    """Does all tasks on a cluster.

    Args:
        address: of a running cluster: auto, HOST:PORT or ray://HOST:PORT; local starts one here
        cpus: cores of each run; Ray gives it as many threads
        gpus: GPUs of each run; 0.25 puts four runs on one
        view: shows what happens
        failed: is called for a run whose worker died again and again; a worker that lives records failures itself
        target: module:function that does a task
    """
    ray = _ray()
    started = _connect(ray, address)
    remote = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(_do)

    def room() -> int:
        return at_once(ray.cluster_resources(), cpus=cpus, gpus=gpus)

    driver = Driver(ray, tasks, remote, view, failed, target, room)
    try:
        driver.run()
    except KeyboardInterrupt:
        driver.cancel()
        raise KeyboardInterrupt(view.summary()) from None
    finally:
        if started:
            ray.shutdown()


def at_once(resources: Mapping[str, float], *, cpus: float, gpus: float) -> int:
    """How many runs a cluster of these resources does at a time."""
    each = {"CPU": cpus, "GPU": gpus}
    fitting = [int(resources.get(kind, 0.0) / size + 1e-6) for kind, size in each.items() if size > 0]
    return max(1, min(fitting, default=WINDOW))


class Driver:
    """Keeps a window of tasks in the cluster and handles their outcomes; `room` says how many it does at a time."""

    def __init__(
        self,
        ray: Any,
        tasks: Sequence[Task],
        remote: Any,
        view: View,
        failed: Failed,
        target: str,
        room: Callable[[], int],
    ) -> None:
        self.ray, self.remote, self.view, self.failed, self.target = ray, remote, view, failed, target
        self.room = room
        self.waiting = [(0.0, task) for task in tasks]
        self.sent: dict[Any, Task] = {}
        self.stops: dict[str, int] = {}

    def run(self) -> None:
        self.view.workers = self.room()
        while self.waiting or self.sent:
            self._send()
            if not self.sent:
                time.sleep(POLL)
                continue
            ready, _ = self.ray.wait(list(self.sent), num_returns=len(self.sent), timeout=POLL)
            if ready:
                self.view.workers = self.room()  # nodes come and go
            for reference in ready:
                self._hear(self.sent.pop(reference), reference)
            self.view.refresh()

    def cancel(self) -> None:
        """Asks every run to save its state and stop."""
        for reference in self.sent:
            self.ray.cancel(reference, force=False)
        self.ray.wait(list(self.sent), num_returns=len(self.sent), timeout=30)

    def _send(self) -> None:
        now = time.monotonic()
        while self.waiting and len(self.sent) < WINDOW and self.waiting[0][0] <= now:
            _, task = self.waiting.pop(0)
            self.sent[self.remote.remote(self.target, task)] = task
            self.view.started(task["name"], task["steps"])

    def _hear(self, task: Task, reference: Any) -> None:
        name = task["name"]
        try:
            outcome = self.ray.get(reference)
        except self.ray.exceptions.TaskCancelledError:
            outcome = {"status": "stopped"}
        except self.ray.exceptions.RayError as error:
            lines = str(error).strip().splitlines()
            reason = f"its worker or node died {RETRIES + 1} times: {lines[0] if lines else type(error).__name__}"
            outcome = {"status": "failed", "reason": reason}
            self.failed(name, reason)
        if outcome["status"] == "stopped":
            self.stops[name] = self.stops.get(name, 0) + 1
            if self.stops[name] > STOPS:
                outcome = {"status": "failed", "reason": f"it was stopped {STOPS + 1} times"}
                self.failed(name, outcome["reason"])
        outcome = unless_in_vain(outcome, task, self.view)
        if outcome["status"] in ("busy", "stopped"):
            self.waiting.append((time.monotonic() + BUSY_SECONDS, task))
            self.view.put_back(name)
        else:
            self.view.ended(name, **outcome)


def _do(target: str, task: Task) -> dict[str, Any]:
    """In a worker of the cluster."""
    try:
        return function_of(target)(task, lambda step, loss: None)
    except KeyboardInterrupt as stop:  # the node is being shut down, or the study was stopped: the state is saved
        return {"status": "stopped", "reason": str(stop)}
    except Exception as error:  # before the run began, such as a store that this node cannot open
        return {"status": "failed", "reason": reason_of(error)}


def _ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError as error:
        raise UserError("Ray is not installed: pip install 'ray>=2.40'") from error
    return ray


def _connect(ray: Any, address: str) -> bool:
    """Connects, and gives whether this made the connection and must therefore end it."""
    if ray.is_initialized():
        return False
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"no Ray cluster answers at '{address}': {reason}; 'ray start --head' starts one") from error
    return True
