"""Runs of an experiment in this process, where data sets can be replaced by smaller ones."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unbraid.study import reproduce as engine
from unbraid.study.execute import task, work
from unbraid.study.plan import Job, Point
from unbraid.study.run import Resources

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def reproduce_here(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    root: Sequence[str],
    wanted: Callable[[Point], bool] = lambda point: True,
) -> tuple[dict[str, Any], str]:
    """An experiment in its quick size, twice; the content of its JSON file and its page.

    Args:
        root: names of folders in the data root
        wanted: which runs are done
    """
    trained: list[str] = []

    def run_jobs(some: Sequence[Job], jobs: Sequence[Job], out: str, **_: Any) -> dict[str, str]:
        failures = {}
        for job in some:
            trained.append(job.name)
            ended = work(task(job, out), lambda step, loss: None)
            if ended["status"] != "finished":
                failures[job.name] = str(ended)
        return failures

    for folder in root:
        (tmp_path / "data" / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(engine, "run_jobs", run_jobs)
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    plan = importlib.reload(importlib.import_module(f"{name}.study"))  # it looks into the data root
    monkeypatch.setattr(plan, "quick", replace(plan.quick, runs=list(filter(wanted, plan.quick.runs))))
    draw_once(f"{name}.claims.draw", monkeypatch)
    found = []
    for _ in range(2):
        out, runs = tmp_path / "results", tmp_path / "runs"
        page = engine.reproduce(EXPERIMENTS / name, out=out, runs=runs, resources=Resources(workers=1), quick=True)
        found.append((json.loads(page.with_suffix(".json").read_text()), page.read_text()))
    assert len(trained) == len(set(trained)) > 0  # none is repeated
    assert found[0] == found[1]
    return found[0]


def draw_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second page has the pictures that a function of this name drew for the first."""
    module, _, function = name.rpartition(".")
    draw = getattr(importlib.import_module(module), function)
    drawn: list[Any] = []

    def draw_or_keep(*given: Any) -> Any:
        if not drawn:
            drawn.append(draw(*given))
        return drawn[0]

    monkeypatch.setattr(name, draw_or_keep)
