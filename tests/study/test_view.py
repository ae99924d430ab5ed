"""What a person sees of a study."""

from __future__ import annotations

import time

import pytest
from rich.console import Console

from unbraid.study.view import LINE_SECONDS, View, duration


def three_runs(*, show: bool = True) -> View:
    """One finished in ten seconds, one failed, one at half of its steps."""
    view = View("toy", total=5, done=1, workers=2, left=400, show=show)
    for name in ("a", "b", "c"):
        view.started(name, 100)
    view.ended("a", "finished", seconds=10.0)
    view.ended("b", "failed", reason="the loss became nan")
    view.progressed("c", 50, 1.25)
    return view


def test_counts_and_the_time_left() -> None:
    view = three_runs(show=False)
    assert view.time_left() == pytest.approx((200 - 50) * 10 / 100 / 2)  # 200 steps left, 50 of them done, two workers
    assert view.summary() == "2 of 5 done, 1 running, 1 failed, about 8 s left"
    view.put_back("c")
    assert view.summary() == "2 of 5 done, 0 running, 1 failed, about 10 s left"


def test_the_table_on_a_terminal_shows_runs_and_failures() -> None:
    view = three_runs(show=False)
    console = Console(width=100)
    with console.capture() as capture:
        console.print(view._table())
    text = capture.get()
    assert "50 of 100" in text and "1.25" in text
    assert "failed: b: the loss became nan" in text
    assert "toy: 2 of 5 done, 1 running, 1 failed" in text


def test_elsewhere_each_event_is_a_line_and_silence_ends_after_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    view = three_runs()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].endswith("a finished in 10 s")
    assert lines[1].endswith("b failed: the loss became nan")
    view.refresh()
    assert capsys.readouterr().err == ""
    view.line = time.monotonic() - 61
    view.refresh()
    assert capsys.readouterr().err.strip().endswith("c step 50 of 100")


def test_durations_as_a_person_says_them() -> None:
    assert [duration(s) for s in (3, 600, 36_000, 864_000)] == ["3 s", "10 min", "10.0 h", "10.0 days"]


def test_what_waits_for_a_core_of_a_cluster_is_not_called_running(capsys: pytest.CaptureFixture[str]) -> None:
    view = View("toy", total=5, done=1, workers=2, left=400)
    for name in "abcd":
        view.started(name, 100)
    assert view.summary() == "1 of 5 done, 2 running, 2 waiting, 0 failed"
    view.line -= LINE_SECONDS + 1
    view.refresh()
    assert capsys.readouterr().err.endswith("; a; b\n")
