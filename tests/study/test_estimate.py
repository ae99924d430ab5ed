"""Estimates of time from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from unbraid.cli import main
from unbraid.study import Study, product
from unbraid.study import estimate as estimates
from unbraid.study.execute import kind
from unbraid.study.store import Folder

RUN = {"method": "vae", "data": "dsprites", "steps": 400}


def test_the_time_of_an_evaluation_with_measures_is_known_from_runs_that_have_them(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("count = print")
    (job,) = Study(runs=product([RUN]), metrics=["mig"], measures=["mine.py:count"]).jobs(tmp_path)
    found = {"kind": kind(job.plan), "rate": 10.0, "seconds": {"train": 40.0, "evaluate": 7.0}}
    Folder(tmp_path).write(job.name, "evaluation.json", {**job.evaluation, **found, "measures": {"count": 3}})
    (cost,) = estimates.costs(Folder(tmp_path), [job]).values()
    assert cost.of(job) == pytest.approx(400 / 10 + 7)
    (other,) = Study(runs=product([RUN]), metrics=["mig"]).jobs()
    (unknown,) = estimates.costs(Folder(tmp_path), [other]).values()
    assert unknown.evaluate is None


def test_a_calibration_waits_for_no_other_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run whose weights another begins with is not among those that are calibrated."""
    sent: list[dict[str, Any]] = []

    def run_all(tasks: Sequence[dict[str, Any]], **_: Any) -> None:
        sent.extend(tasks)

    monkeypatch.setattr(estimates, "run_all", run_all)
    jobs = Study(runs=[RUN, {**RUN, "steps": 200, "start_from": {"steps": 400}}], metrics=["mig"]).jobs()
    estimates.calibrate(jobs[1:], str(tmp_path), show=False)
    assert [task["job"]["plan"]["start_from"] for task in sent] == [None]


def test_a_calibration_uses_the_device_and_the_threads_of_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(estimates, "run_all", lambda tasks, threads, **_: sent.append((*tasks, threads)))
    (tmp_path / "s.py").write_text(f"from unbraid.study import Study\nstudy = Study(runs=[{RUN}], metrics=['mig'])")
    words = ["study", str(tmp_path / "s.py"), "--list", "--calibrate", "--device", "cuda", "--threads", "3"]
    assert main([*words, "--out", str(tmp_path / "runs"), "--quiet"]) == 0
    ((task, threads),) = sent
    assert (task["device"], task["threads"], threads) == ("cuda", 3, 3)
