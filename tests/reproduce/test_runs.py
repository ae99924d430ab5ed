"""Runs of a plan: in its order, and by workers that do not outlive the call."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.reproduce.runs import gather, need_mnist


def work(seed: int, runs: Path) -> dict[str, object]:
    time.sleep(0.2 / (1 + seed))
    return {"label": "a", "data": "b", "seed": seed, "seconds": 0.0}


def tick(seed: int, runs: Path) -> dict[str, object]:
    """Writes to a file for as long as it lives."""
    for _ in range(600):
        with (runs / str(seed)).open("a") as file:
            file.write(".")
        time.sleep(0.1)
    return {}


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_plans_order(tmp_path: Path, workers: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert [result["seed"] for result in gather(work, [0, 3, 1], tmp_path, workers=workers)] == [0, 3, 1]
    assert "  3 of 3: a, b, seed 1" in capsys.readouterr().out


def test_no_workers_is_a_problem_before_anything_begins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "subembeddings", "--workers", "0"]) == 1
    assert "--workers is 0" in capsys.readouterr().err


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.reproduce.test_runs import tick; "
        "from unbraid.reproduce.runs import gather; gather(tick, [0, 1], Path(sys.argv[1]), workers=2)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=Path(__file__).parents[2])
    files = [tmp_path / "0", tmp_path / "1"]
    deadline = time.monotonic() + 60
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline, "the workers did not start"
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    time.sleep(1)
    sizes = [file.stat().st_size for file in files]
    time.sleep(2)
    assert [file.stat().st_size for file in files] == sizes


def test_small_digits_do_not_stand_in_for_mnist_in_an_experiment(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="needs mnist: run `unbraid data fetch mnist`"):
        need_mnist(tmp_path)
    (tmp_path / "mnist").mkdir()
    need_mnist(tmp_path)
