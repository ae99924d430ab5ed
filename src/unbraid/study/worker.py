"""A worker process of the local pool: tasks come in as lines of JSON, what becomes of them goes out the same way.

It is started as `python -m unbraid.study.worker MODULE:FUNCTION`, with its number of threads in the environment; the
function takes a task and a `tell(step, loss)`, and gives the outcome.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any


def function_of(target: str) -> Callable[[dict[str, Any], Callable[[int, float], None]], dict[str, Any]]:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def main(target: str) -> int:
    # a library that prints must not end up among the messages
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")

    def tell(step: int, loss: float) -> None:
        try:
            say({"step": step, "loss": loss})
        except BrokenPipeError:  # nobody is left to work for: save what there is, and stop
            os.kill(os.getpid(), signal.SIGINT)

    try:
        work = function_of(target)
        say({"ready": True})
        for line in sys.stdin:
            say(work(json.loads(line), tell))
    except KeyboardInterrupt as stop:
        say({"status": "stopped", "reason": str(stop)})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except BrokenPipeError:
        os._exit(0)
