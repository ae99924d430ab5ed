"""Runs that are killed, torn, foreign or out of space."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import pickle
import resource
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid import build, load_run, report, represent, score
from unbraid.cli import main
from unbraid.data.sets.dsprites import DSprites
from unbraid.errors import UserError
from unbraid.methods.vae import VAE
from unbraid.train import run as runs
from unbraid.train.fit import fit
from unbraid.train.history import read
from unbraid.train.load import load_method
from unbraid.train.run import Plan, Run

STEPS = 400
COMMAND = ["run", "vae", "--size=16", "--width=4", "--batch=32", "--threads=1", "--train-only", "--save-every=0"]
COMMAND += ["--decay=1"]  # so that the learning rate is another at every step, wherever a run is killed


SERVER = multiprocessing.get_context("forkserver")  # it imports once what each process would for seconds
SERVER.set_forkserver_preload(
    ["torch._dynamo", "unbraid.cli.run", "unbraid.evaluate", "unbraid.data.sets.dsprites", "unbraid.methods.vae"]
)


def command_line(words: list[str], errors: Path, limit: int | None) -> None:
    with errors.open("w") as file:
        os.dup2(file.fileno(), 2)
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.exit(main(words))


class Process:
    """The command line as a process of its own; `end()` waits and gives exit code and error output."""

    def __init__(self, out: Path, *more: str, limit: int | None = None) -> None:
        words = [*COMMAND, "--steps", str(STEPS), "--out", str(out), *more]
        self.errors = out / "errors.txt"
        self.process = SERVER.Process(target=command_line, args=(words, self.errors, limit))
        self.process.start()

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self) -> tuple[int | None, str]:
        self.process.join(300)
        return self.process.exitcode, self.errors.read_text()


def wait_for_checkpoint(out: Path, process: Process) -> None:
    deadline = time.monotonic() + 120
    while not list(out.glob("*/state.pt")):
        assert process.process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def only_run(out: Path) -> Path:
    (found,) = (path.parent for path in out.glob("*/run.json"))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights of a run that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    code, errors = Process(out).end()
    assert code == 0, errors
    return (only_run(out) / "weights.safetensors").read_bytes()


def test_a_run_killed_again_and_again_ends_with_the_same_bits(whole: bytes, tmp_path: Path) -> None:
    kills = 0
    for _ in range(12):
        process = Process(tmp_path)
        if kills < 3:
            wait_for_checkpoint(tmp_path, process)
            time.sleep(0.15 * kills)
            process.send(signal.SIGKILL)
            process.end()
            kills += not (only_run(tmp_path) / "done").exists()
        else:
            assert process.end()[0] == 0
            break
    assert kills == 3, "the run was never caught in the middle"
    assert (only_run(tmp_path) / "weights.safetensors").read_bytes() == whole


def test_ctrl_c_saves_the_step_it_is_at_and_the_same_command_continues(whole: bytes, tmp_path: Path) -> None:
    process = Process(tmp_path)
    wait_for_checkpoint(tmp_path, process)
    process.send(signal.SIGINT)
    code, errors = process.end()
    assert code == 130
    assert "the same command continues" in errors
    state = torch.load(only_run(tmp_path) / "state.pt", weights_only=True)
    assert f"stopped at step {state['step']} of {STEPS}" in errors
    assert Process(tmp_path).end()[0] == 0
    assert (only_run(tmp_path) / "weights.safetensors").read_bytes() == whole


def critic_run(out: Path, decay: float, stop: tuple[int, str] | None = None) -> Path:
    """FactorVAE, whose critic has an optimiser of its own; stopped after a step by Ctrl-C, or as a kill would."""
    method = build("factor_vae", Squares(), net="dense", width=4, critic_width=8, lr=1e-2, critic_lr=1e-2)
    after = method.after_step

    def after_step(step: int) -> None:
        after(step)
        if stop == (step, "ctrl-c"):
            signal.raise_signal(signal.SIGINT)
        if stop == (step, "kill"):
            raise SystemExit

    method.after_step = after_step  # type: ignore[method-assign]
    return fit(method, Squares(), steps=120, batch=8, decay=decay, out=str(out), show=False, save_every=0).path


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_two_optimisers_and_the_history_go_on_where_they_stopped(decay: float, tmp_path: Path) -> None:
    """Ctrl-C within a window of the history and at its end, and a kill after a checkpoint; rates fall from step 60."""
    undisturbed = critic_run(tmp_path / "undisturbed", decay)
    stops = ((61, "ctrl-c", 62, [50]), (99, "ctrl-c", 100, [50, 100]), (110, "kill", 100, [50, 100]))
    for step, how, kept, rows in stops:
        with pytest.raises(KeyboardInterrupt if how == "ctrl-c" else SystemExit):
            critic_run(tmp_path / "stopped", decay, (step, how))
        stopped = only_run(tmp_path / "stopped")
        assert torch.load(stopped / "state.pt", weights_only=True)["step"] == kept
        assert [row["step"] for row in read(stopped / "history.csv")] == rows
    assert critic_run(tmp_path / "stopped", decay) == stopped
    assert (stopped / "history.csv").read_bytes() == (undisturbed / "history.csv").read_bytes()
    assert (stopped / "weights.safetensors").read_bytes() == (undisturbed / "weights.safetensors").read_bytes()
    ends = [torch.load(path / "state.pt", weights_only=True) for path in (stopped, undisturbed)]
    for name in ("model", "critic"):
        moments = [end["optimisers"][name]["state"] for end in ends]
        assert moments[0][0]["step"] == 120
        assert ends[0]["optimisers"][name]["param_groups"][0]["lr"] == pytest.approx(1e-4 if decay else 1e-2)
        torch.testing.assert_close(*moments, rtol=0, atol=0)


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    code, errors = Process(tmp_path, limit=20_000).end()
    assert code == 1
    assert "cannot write" in errors
    assert "state.pt: File too large" in errors
    assert "Traceback" not in errors
    left = {path.name for path in only_run(tmp_path).iterdir()}
    assert left == {"run.json", "lock"}
    assert Process(tmp_path).end()[0] == 0


def test_two_processes_never_work_on_one_run(tmp_path: Path) -> None:
    first = Process(tmp_path)
    wait_for_checkpoint(tmp_path, first)
    first.send(signal.SIGSTOP)
    try:
        code, errors = Process(tmp_path).end()
    finally:
        first.send(signal.SIGCONT)
        first.send(signal.SIGKILL)
        first.end()
    assert code == 1
    assert "another process is working on" in errors


def test_a_divergent_run_says_what_and_when_and_exits_with_an_error(tmp_path: Path) -> None:
    code, errors = Process(tmp_path, "--lr", "1e30").end()
    assert code == 1
    assert "became" in errors
    assert "at step" in errors
    assert not (only_run(tmp_path) / "done").exists()


@pytest.fixture
def trained(tmp_path: Path) -> Run:
    method = build("vae", Squares(), width=4)
    return fit(method, Squares(), steps=3, batch=4, out=str(tmp_path), show=False)


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


def test_a_malicious_pickle_is_refused_and_not_executed(trained: Run, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    (trained.path / "weights.safetensors").unlink()
    (trained.path / "done").unlink()
    for content in (pickle.dumps(Bomb(mark)), None):
        if content is None:
            torch.save({"step": Bomb(mark)}, trained.path / "state.pt")
        else:
            (trained.path / "state.pt").write_bytes(content)
        with pytest.raises(UserError, match=r"state.pt cannot be used .* nothing in it was executed"):
            load_run(trained.path)
        with pytest.raises(UserError, match="cannot be used"):
            fit(build("vae", Squares(), width=4), Squares(), steps=3, batch=4, out=str(tmp_path), show=False)
    (trained.path / "weights.safetensors").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(UserError, match=r"weights\.safetensors cannot be read"):
        load_run(trained.path)
    np.save(trained.path / "codes.npz", np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    (trained.path / "codes.npz.npy").rename(trained.path / "codes.npz")
    with pytest.raises(UserError, match="not a readable"):
        trained.arrays("codes.npz")
    assert not mark.exists()


def test_objects_are_not_written_as_pickles(trained: Run) -> None:
    with pytest.raises(ValueError, match=r"own.npz cannot hold arrays of Python objects"):
        trained.write_arrays("own.npz", codes=np.zeros(3), names=np.array(["a", None]))
    assert not (trained.path / "own.npz").exists()


@pytest.mark.parametrize("name", ["state.pt", "weights.safetensors"])
def test_a_torn_file_is_one_sentence(trained: Run, name: str) -> None:
    if name == "state.pt":
        (trained.path / "weights.safetensors").unlink()
    content = (trained.path / name).read_bytes()
    for length in (0, 10, len(content) // 2, len(content) - 1):
        (trained.path / name).write_bytes(content[:length])
        with pytest.raises(UserError, match=f"{name} cannot be (read|used)"):
            load_run(trained.path)


def test_weights_of_another_architecture_are_refused(trained: Run) -> None:
    other = VAE(Squares().spec, width=8)
    with pytest.raises(UserError, match="another architecture"):
        runs_load(other, trained.path)


def runs_load(method: VAE, path: Path) -> None:
    from unbraid.train.checkpoint import load_weights

    load_weights(method, path)


def test_what_is_not_a_run_is_refused(tmp_path: Path, trained: Run) -> None:
    with pytest.raises(UserError, match="is not a run"):
        Run(tmp_path / "nothing")
    (tmp_path / "run.json").write_text("{]")
    with pytest.raises(UserError, match="cannot be read"):
        Run(tmp_path)
    (tmp_path / "run.json").write_text('{"method": "vae"}')
    with pytest.raises(UserError, match="lacks"):
        Run(tmp_path)
    (tmp_path / "run.json").write_text("null")
    with pytest.raises(UserError, match=r"holds None\): the run cannot be used; train it again"):
        Run(tmp_path)
    (trained.path / "scores.json").write_text("[1]")
    with pytest.raises(UserError, match=r"remove it, and 'unbraid report .*' makes it anew"):
        trained.scores()
    config = json.loads((trained.path / "run.json").read_text())
    config["arguments"]["gone"] = 1
    (trained.path / "run.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="another version"):
        load_run(trained.path)


def test_the_name_depends_on_every_argument_and_the_command_repeats_them(trained: Run) -> None:
    plan = trained.plan
    names = {plan.name} | {
        runs.Plan(**{**vars(plan), key: value}).name
        for key, value in [("seed", 1), ("steps", 4), ("batch", 5), ("arguments", {**plan.arguments, "lr": 1.0})]
    }
    assert len(names) == 5
    assert plan.command.startswith("unbraid run vae --data tests.toys:Squares --no-dim --latents 10 --net conv ")
    assert plan.command.endswith("--steps 3 --batch 4 --seed 0")


def test_a_file_is_whole_or_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    runs.write(path, b"before")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match="No space left on device"):
        runs.write(path, b"after")
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_initial_weights_come_from_the_seed() -> None:
    table = DSprites(size=16)
    one, same, other = (build("vae", table, seed=seed, width=4) for seed in (0, 0, 1))
    weights = [method.state_dict()["encoder.0.weight"] for method in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_decay_is_part_of_a_name_and_of_the_command_only_where_it_is_not_0() -> None:
    plain = Plan("vae", {"lr": 0.1}, "dsprites", {}, {}, 10, 4, 0)
    falling = replace(plain, decay=0.3)
    fields = {name: value for name, value in vars(plain).items() if name not in ("start_from", "decay")}
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    assert plain.name == f"vae-dsprites-{digest[:8]}"  # as before there was such a field
    assert falling.name not in (plain.name, replace(plain, decay=0.2).name)
    assert falling.command == f"{plain.command} --decay 0.3"


def test_a_description_without_decay_is_read(tmp_path: Path) -> None:
    run = fit(build("vae", Squares(), width=4), Squares(), steps=2, batch=4, out=str(tmp_path), show=False)
    kept = {name: value for name, value in run.config.items() if name not in ("start_from", "decay")}
    run.write_json("run.json", kept)
    assert Run(run.path).plan == run.plan


def test_the_command_of_a_method_in_a_folder_with_a_space_is_one_word() -> None:
    plan = Plan("/my code/mine.py:Mine", {}, "/my code/data.py:Rows", {}, {}, 1, 2, 3)
    assert shlex.split(plan.command)[:5] == ["unbraid", "run", plan.method, "--data", plan.data]


def test_the_commit_is_not_that_of_a_repository_around_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "venv"
    package.mkdir()
    for words in (["init"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)
    monkeypatch.setattr(runs, "__file__", str(package / "run.py"))
    assert runs.commit.__wrapped__() is None
    (package / "run.py").write_text("")
    subprocess.run(["git", "-C", str(tmp_path), "add", "."], check=True)
    assert runs.commit.__wrapped__()


def test_a_disk_without_locks_is_no_other_process(trained: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UserError, match=r"cannot be locked \(Function not implemented\): choose") as error:
        fit(build("vae", Squares(), width=4), Squares(), steps=3, batch=4, out=str(trained.path.parent), show=False)
    assert not isinstance(error.value, runs.Busy)


def test_a_run_is_scored_and_reported_by_its_directory(trained: Run) -> None:
    data = Squares()
    represent(trained.path, load_method(trained.path), data, points=60)
    assert set(score(str(trained.path), metrics=["mig"])) == {"mig"}
    assert report(str(trained.path)) == trained.path / "report.html"
