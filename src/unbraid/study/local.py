"""A pool of processes on one machine. A worker does one run after the other; one that dies is replaced."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from unbraid.errors import UserError
from unbraid.study.view import View

TARGET = "unbraid.study.execute:work"
THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
DEATHS = 2  # a run whose worker dies is tried again; the second death is its failure
BUSY_SECONDS = 2.0  # before asking again for a run that another process has
PATIENCE = 60.0  # seconds that a worker has to save its state when all is to stop

Task = dict[str, Any]


class Worker:
    """A process with its messages coming into the pool's inbox; None says that it has ended."""

    def __init__(self, target: str, threads: int, inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]]) -> None:
        environment = os.environ | dict.fromkeys(THREAD_SETTINGS, str(threads))
        self.errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115  # lives as long as the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "unbraid.study.worker", target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the pool, which passes it on
        )
        self.task: Task | None = None
        self.ready = False
        self.listener = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
        self.listener.start()

    def _listen(self, inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # half a line, of one that was killed while it wrote
                inbox.put((self, json.loads(line)))
        self.process.wait()
        inbox.put((self, None))

    def give(self, task: Task) -> None:
        assert self.process.stdin is not None
        self.task = task
        with suppress(BrokenPipeError):  # it has died: its listener says so
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()

    def last_words(self) -> str:
        """How it ended, and the last line that it wrote."""
        code = self.process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        if -code == signal.SIGKILL:
            how += " (out of memory?)"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return f"the worker {how}" + (f": {lines[-1]}" if lines else "")

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.errors.close()


class Pool:
    """Gives tasks to workers until all are done."""

    def __init__(
        self, tasks: Sequence[Task], *, workers: int, threads: int, view: View, failed: Failed, target: str
    ) -> None:
        self.waiting = [(0.0, task) for task in tasks]  # the earliest moment to begin, and the task
        self.size, self.threads, self.view, self.failed, self.target = workers, threads, view, failed, target
        self.inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]] = queue.Queue()
        self.workers: list[Worker] = []
        self.deaths: dict[str, int] = {}

    def run(self) -> None:
        try:
            while self.waiting or any(worker.task for worker in self.workers):
                self._hand_out()
                with suppress(queue.Empty):
                    self._hear(*self.inbox.get(timeout=0.5))
                self.view.refresh()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._stop()) from None
        finally:
            self._end()

    def _hand_out(self) -> None:
        now = time.monotonic()
        due = [item for item in self.waiting if item[0] <= now]
        idle = sum(not worker.task for worker in self.workers)
        missing = min(self.size - len(self.workers), len(self.waiting) - idle)
        self.workers += [self._worker() for _ in range(missing)]
        for worker in self.workers:
            if due and worker.ready and not worker.task:
                item = due.pop(0)
                self.waiting.remove(item)
                worker.give(item[1])
                self.view.started(item[1]["name"], item[1]["steps"])

    def _hear(self, worker: Worker, message: dict[str, Any] | None) -> None:
        if message is None:
            self._died(worker)
        elif "ready" in message:
            worker.ready = True
        elif "step" in message and worker.task:
            self.view.progressed(worker.task["name"], message["step"], message["loss"])
        elif worker.task:
            task, worker.task = worker.task, None
            outcome = unless_in_vain(message, task, self.view)
            if outcome["status"] in ("busy", "stopped"):
                self._later(task)
            else:
                self.view.ended(task["name"], **outcome)

    def _later(self, task: Task) -> None:
        self.waiting.append((time.monotonic() + BUSY_SECONDS, task))
        self.view.put_back(task["name"])

    def _died(self, worker: Worker) -> None:
        self.workers.remove(worker)
        words = worker.last_words()
        worker.close()
        task = worker.task
        if task is None:
            if not worker.ready:
                raise UserError(f"no worker could be started: {words}")
            return
        name = task["name"]
        self.deaths[name] = self.deaths.get(name, 0) + 1
        if self.deaths[name] < DEATHS:
            self._later(task)
        else:
            self.failed(name, words)
            self.view.ended(name, "failed", reason=words)

    def _worker(self) -> Worker:
        return Worker(self.target, self.threads, self.inbox)

    def _stop(self) -> str:
        """Lets every worker save its run, and says what has become of the runs."""
        for worker in self.workers:
            with suppress(ProcessLookupError):
                worker.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        with suppress(KeyboardInterrupt):  # a second Ctrl-C waits for nobody
            for worker in self.workers:
                worker.listener.join(max(0.0, deadline - time.monotonic()))
        saved = 0
        while not self.inbox.empty():
            worker, message = self.inbox.get()
            if message is not None and worker.task:
                saved += message.get("status") == "stopped"
                self._hear(worker, message)
        lost = sum(bool(worker.task) for worker in self.workers)
        killed = f"; {lost} were killed and go back to what they saved before" if lost else ""
        return f"{self.view.summary()}; {saved} were under way and are saved{killed}"

    def _end(self) -> None:
        for worker in self.workers:
            if worker.process.stdin and not worker.task:
                with suppress(OSError):
                    worker.process.stdin.close()  # no more tasks: it ends by itself
            else:
                worker.process.kill()
        for worker in self.workers:
            try:
                worker.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.process.kill()
            worker.listener.join(5)
            worker.close()


def unless_in_vain(outcome: dict[str, Any], task: Task, view: View) -> dict[str, Any]:
    """The outcome of a task; a failure where it waits for the weights of a run that has failed in this study."""
    start = task.get("start_from")
    if outcome["status"] == "busy" and start in view.failures:
        return {"status": "failed", "reason": f"it begins with the weights of {start}, which has failed"}
    return outcome


Failed = Callable[[str, str], None]  # name of the run and the reason


def run_all(
    tasks: Sequence[Task], *, workers: int, threads: int = 1, view: View, failed: Failed, target: str = TARGET
) -> None:
    """Does all tasks; those that fail do not stop the others, and a run that another process works on is waited for.

    Args:
        workers: processes at a time
        threads: threads of each process
        view: shows what happens
        failed: is called for a run whose worker died twice; a worker that lives records failures itself
        target: module:function that does a task
    """
    Pool(tasks, workers=workers, threads=threads, view=view, failed=failed, target=target).run()
