"""The pool: workers that die, fail, or cannot start."""

from __future__ import annotations

import io
import queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.study.toys import quiet_view
from unbraid.errors import UserError
from unbraid.study.cluster import _do
from unbraid.study.local import Pool, Worker, run_all


def tasks(path: Path, deaths: list[int]) -> list[dict[str, Any]]:
    marks = str(path / "marks")
    return [{"name": f"run{i}", "steps": 100, "deaths": d, "marks": marks} for i, d in enumerate(deaths)]


def test_every_task_is_done_once(tmp_path: Path) -> None:
    view = quiet_view(50)
    run_all(tasks(tmp_path, [0] * 50), workers=2, view=view, failed=lambda *_: None, target="tests.study.toys:nothing")
    done = (tmp_path / "marks").read_text().splitlines()
    assert sorted(done) == sorted(view.finished) == sorted(f"run{i}" for i in range(50))


def test_a_killed_worker_is_tried_again_once_and_then_recorded_with_its_signal(tmp_path: Path) -> None:
    view, recorded = quiet_view(4), dict[str, str]()
    given = tasks(tmp_path, [0, 1, 9, 0])
    run_all(given, workers=2, view=view, failed=recorded.__setitem__, target="tests.study.toys:fragile")
    assert sorted(view.finished) == ["run0", "run1", "run3"]
    assert recorded == view.failures
    assert recorded.keys() == {"run2"}
    assert "killed by SIGKILL" in recorded["run2"]
    assert (tmp_path / "marks").read_text().splitlines().count("run2") == 2


def test_a_killed_worker_is_replaced_while_another_is_at_work(tmp_path: Path) -> None:
    """The first run ends only once the second has been tried again."""
    first, second = tasks(tmp_path, [0, 1])
    view = quiet_view(2)
    run_all([first, second], workers=2, view=view, failed=lambda *_: None, target="tests.study.toys:patient")
    assert view.finished == ["run1", "run0"]


def test_a_run_does_not_wait_for_the_weights_of_one_that_met_a_full_disk(tmp_path: Path) -> None:
    """Such a failure is not recorded, so that the same command tries again."""
    first, second = (
        {**task, "start_from": start} for task, start in zip(tasks(tmp_path, [0, 0]), (None, "run0"), strict=True)
    )
    view = quiet_view(2)
    run_all([first, second], workers=1, view=view, failed=lambda *_: None, target="tests.study.toys:full")
    assert view.failures == {
        "run0": "there is no room",
        "run1": "it begins with the weights of run0, which has failed",
    }


def test_half_a_message_of_a_killed_worker_is_no_message() -> None:
    inbox: queue.Queue[tuple[Worker, dict[str, Any] | None]] = queue.Queue()
    worker = object.__new__(Worker)
    worker.process = SimpleNamespace(stdout=io.BytesIO(b'{"step": 1}\n{"st'), wait=lambda: -9)  # type: ignore[assignment]
    worker._listen(inbox)
    assert [inbox.get_nowait()[1] for _ in range(2)] == [{"step": 1}, None]


def test_a_killed_run_is_not_called_saved(tmp_path: Path) -> None:
    """Ctrl-C while one worker saves its run, one ends it, one is killed and one has none."""
    given, view = tasks(tmp_path, [0, 0, 0]), quiet_view(3)
    pool = Pool([], workers=4, threads=1, view=view, failed=lambda *_: None, target="")
    process, listener = SimpleNamespace(send_signal=lambda _: None), SimpleNamespace(join=lambda _: None)
    for task, status in zip([*given, None], ["stopped", "finished", None, "stopped"], strict=True):
        worker: Any = SimpleNamespace(task=task, process=process, listener=listener)
        pool.workers.append(worker)
        if task:
            view.started(task["name"], task["steps"])
        pool.inbox.put((worker, {"status": status} if status else None))
    assert pool._stop() == (
        "1 of 3 done, 1 running, 0 failed; 1 were under way and are saved; "
        "1 were killed and go back to what they saved before"
    )


def test_what_a_node_cannot_even_begin_is_a_failure_with_its_reason() -> None:
    assert _do("tests.study.toys:full", {"name": "run0"}) == {"status": "failed", "reason": "KeyError: 'start_from'"}
    assert _do("nowhere:f", {})["reason"] == "ModuleNotFoundError: No module named 'nowhere'"


def test_a_worker_that_cannot_start_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no worker could be started: .*No module named 'nowhere'"):
        run_all(tasks(tmp_path, [0]), workers=1, view=quiet_view(1), failed=lambda *_: None, target="nowhere:f")
