"""Studies as people run them: stopped, started twice, continued, calibrated, on a cluster of one machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.study.toys import SMALL, quiet_view
from unbraid.cli import main
from unbraid.study import Study, local, product
from unbraid.study.execute import states, task, work
from unbraid.study.plan import Job, load
from unbraid.study.store import Folder

FILE = """
from unbraid.study import Study, product
runs = product(method="vae", data="dsprites", size=16, width=4, batch=16, steps={steps}, seed=range({seeds}))
study = Study(runs=runs, metrics=["mig"], points=200)
"""


def study_file(folder: Path, steps: int, seeds: int) -> Path:
    file = folder / "toy.py"
    file.write_text(FILE.format(steps=steps, seeds=seeds))
    return file


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", "import sys; from unbraid.cli import main; sys.exit(main())", *map(str, words)]


def wait_for(true: object, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def training(pid: int) -> int:
    """How many children of a process have steps under way: they catch SIGTERM only then (Linux tells)."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    caught = [re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{child}/status").read_text()) for child in children]
    return sum(int(found[1], 16) >> (signal.SIGTERM - 1) & 1 for found in caught if found)


linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what the workers do")


@linux
@pytest.mark.slow
def test_ctrl_c_saves_what_is_under_way_and_the_same_command_finishes_it(tmp_path: Path) -> None:
    import torch

    file, out = study_file(tmp_path, 2500, 2), tmp_path / "out"
    words = command("study", file, "--out", out, "--workers", "2")
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: training(process.pid) == 2)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert "2 were under way and are saved; the same command continues from there" in told
    steps = [torch.load(path, weights_only=True)["step"] for path in out.glob("*/state.pt")]
    assert len(steps) == 2
    assert all(0 < step < 2500 for step in steps)
    assert not [*out.glob("*/evaluation.json"), *out.glob("*/done"), *out.glob("*/failed.json"), *out.glob("*/.*")]
    again = subprocess.run(words, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert "2 runs finished, 0 failed, 0 to do" in again.stdout
    jobs = load(file)
    work(task(jobs[0], str(tmp_path / "whole")), lambda step, loss: None)
    torn, whole = (folder / jobs[0].name / "weights.safetensors" for folder in (out, tmp_path / "whole"))
    assert torn.read_bytes() == whole.read_bytes()


@linux
@pytest.mark.slow
def test_a_study_whose_processes_are_killed_continues(tmp_path: Path) -> None:
    """SIGKILL to the study alone: its workers notice that nobody listens, save, and end."""
    file, out = study_file(tmp_path, 2500, 1), tmp_path / "out"
    words = command("study", file, "--out", out, "--workers", "1")
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for(lambda: training(process.pid) == 1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: list(out.glob("*/state.pt")))
    again = subprocess.run(words, capture_output=True, text=True)
    assert "1 runs finished, 0 failed, 0 to do" in again.stdout, again.stderr


def jobs_of(seeds: int) -> list[Job]:
    return Study(runs=product(SMALL, method="vae", steps=150, seed=range(seeds)), metrics=["mig"], points=200).jobs()


@pytest.mark.slow
def test_two_studies_at_once_in_one_folder_train_each_run_once(tmp_path: Path) -> None:
    jobs, marks = jobs_of(4), tmp_path / "marks"
    tasks = [task(job, str(tmp_path / "out")) | {"marks": str(marks)} for job in jobs]
    views = [quiet_view(4), quiet_view(4)]
    pools = [
        threading.Thread(
            target=local.run_all,
            args=(tasks,),
            kwargs={"workers": 1, "view": view, "failed": lambda *_: None, "target": "tests.study.toys:counted"},
        )
        for view in views
    ]
    for pool in pools:
        pool.start()
    for pool in pools:
        pool.join()
    names = sorted(job.name for job in jobs)
    assert sorted(marks.read_text().splitlines()) == names
    assert sorted(views[0].finished) == sorted(views[1].finished) == names
    assert set(states(Folder(tmp_path / "out"), jobs).values()) == {"finished"}


@pytest.mark.slow
def test_calibrate_measures_what_is_unknown_and_trains_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = study_file(tmp_path, 400, 3), tmp_path / "out"
    words = ["study", str(file), "--out", str(out), "--list", "--quiet"]
    assert main(words) == 0
    assert "the time of 3 is unknown: --calibrate measures it" in capsys.readouterr().out
    assert main([*words, "--calibrate"]) == 0
    text = capsys.readouterr().out
    assert "of one worker, about" in text and "unknown" not in text
    (measured,) = json.loads((out / "calibration.json").read_text())
    assert measured["rate"] > 0
    assert [path.name for path in out.iterdir()] == ["calibration.json"]
    assert main(words) == 0
    assert "unknown" not in capsys.readouterr().out


def test_a_damaged_evaluation_is_made_again_and_a_damaged_calibration_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = study_file(tmp_path, 10, 1), tmp_path / "out"
    (job,) = load(file)
    (out / job.name).mkdir(parents=True)
    words = ["study", str(file), "--out", str(out), "--list"]
    for content in ("{", "[]", "{}", '{"points": 200, "bootstrap": 0, "metrics": 3}'):
        (out / job.name / "evaluation.json").write_text(content)
        assert main(words) == 0
        assert "1 runs to do" in capsys.readouterr().out
    (out / "calibration.json").write_text("{")
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.startswith("unbraid: calibration.json among the runs is damaged")
    assert error.count("\n") == 1


@pytest.mark.slow
def test_ray_on_this_machine_from_the_command_line(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    file, out = study_file(tmp_path, 60, 3), tmp_path / "out"
    done = subprocess.run(
        command("study", file, "--out", out, "--ray", "local", "--cpus", "1"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "3 runs finished, 0 failed, 0 to do" in done.stdout
    assert "3 of 3 done" in done.stderr
    assert len(list(out.glob("*/evaluation.json"))) == 3
