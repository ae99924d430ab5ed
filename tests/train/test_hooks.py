"""Hooks, optimisers and schedules of a method's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import unbraid
from tests.toys import Squares
from unbraid.cli import main
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Group
from unbraid.methods.vae import VAE
from unbraid.train import history
from unbraid.train.hooks import Hook, TensorBoard, traversals
from unbraid.train.run import Run


class Diary(Hook):
    def __init__(self) -> None:
        self.lines: list[Any] = []

    def on_begin(self, run: Run) -> None:
        self.lines.append("begin")
        assert not run.finished

    def on_window(self, step: int, terms: dict[str, float]) -> None:
        self.lines.append((step, terms))

    def on_end(self, run: Run) -> None:
        self.lines.append("end")
        assert run.finished
        assert (run.path / "weights.safetensors").exists()


def test_several_hooks_hear_of_every_window_and_of_the_end(tmp_path: Path) -> None:
    first, second, heard = Diary(), Diary(), []
    data = Squares()
    run = unbraid.fit(
        unbraid.build("vae", data, width=2),
        data,
        steps=120,
        batch=4,
        out=str(tmp_path),
        show=False,
        hooks=[first, second, lambda step, terms: heard.append(step)],
    )
    assert first.lines == second.lines
    assert [first.lines[0], first.lines[-1]] == ["begin", "end"]
    assert [line[0] for line in first.lines[1:-1]] == heard == [50, 100, 120]
    kept = history.read(run.path / "history.csv")
    assert [line[1]["loss"] for line in first.lines[1:-1]] == [pytest.approx(row["loss"]) for row in kept]


def test_a_hook_changes_no_weight(tmp_path: Path) -> None:
    data = Squares()

    def weights(name: str, **hooks: Any) -> dict[str, torch.Tensor]:
        method = unbraid.build("vae", data, width=2)
        unbraid.fit(method, data, steps=60, batch=4, out=str(tmp_path / name), show=False, **hooks)
        return method.state_dict()

    def draw(step: int, terms: dict[str, float]) -> None:
        torch.rand(3)

    plain, hooked = weights("plain"), weights("hooked", hooks=[draw])
    assert all(torch.equal(plain[name], hooked[name]) for name in plain)


class Descent(VAE):
    """A VAE by stochastic gradient descent with a learning rate that halves at each step."""

    def groups(self) -> dict[str, Group]:
        def sgd(parameters: Any) -> torch.optim.Optimizer:
            return torch.optim.SGD(parameters, lr=1e-3)

        return {"model": Group(list(self.parameters()), 1e-3, optimiser=sgd, schedule=lambda step: 0.5**step)}


def test_a_method_chooses_its_optimiser_and_its_schedule(tmp_path: Path) -> None:
    """Against plain steps along the gradient, written by hand."""
    from unbraid.data.samplers import sampler
    from unbraid.train.fit import noise_seed

    data = Squares()
    method, plain = (unbraid.build(Descent, data, seed=3, width=2) for _ in range(2))
    unbraid.fit(method, data, steps=3, batch=4, seed=3, out=str(tmp_path), show=False)
    draw = sampler(data, Descent.batch_kind, batch=4, seed=3)
    for step in range(3):
        torch.manual_seed(noise_seed(3, step))
        loss = plain.losses(draw(step).on("cpu"), step)["model"].value
        gradients = torch.autograd.grad(loss, list(plain.parameters()))
        with torch.no_grad():
            for parameter, gradient in zip(plain.parameters(), gradients, strict=True):
                parameter.sub_(1e-3 * 0.5**step * gradient)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(method.state_dict()[name], value)


def test_traversals_move_one_latent_and_hold_the_others() -> None:
    method = unbraid.build("vae", Squares(), width=2, latents=3).eval()
    drawn = traversals(method)["z"]
    assert drawn.shape == (3, 9, 1, 12, 12)
    code = torch.zeros(1, 3)
    code[0, 1] = -2
    with torch.no_grad():
        torch.testing.assert_close(drawn[1, 0], method.decoder.mean(code)[0])
        torch.testing.assert_close(drawn[0, 4], method.decoder.mean(torch.zeros(1, 3))[0])


def test_without_tensorboard_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(UserError, match=r"pip install 'unbraid\[tensorboard\]'"):
        TensorBoard("logs")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_has_the_terms_and_the_traversals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.chdir(tmp_path)
    words = ["run", "vae", "--data", "dsprites", "--size", "16", "--width", "2", "--steps", "100", "--batch", "4"]
    assert main([*words, "--quiet", "--train-only", "--tensorboard", "logs"]) == 0
    (folder,) = (tmp_path / "logs").iterdir()
    run = Run(tmp_path / "runs" / folder.name)
    events = EventAccumulator(str(folder)).Reload()
    rows = history.read(run.path / "history.csv")
    written = {event.step: event.value for event in events.Scalars("rec")}
    assert written == pytest.approx({row["step"]: row["rec"] for row in rows})
    (image,) = events.Images("traversals of z")
    assert (image.height, image.width) == (10 * 16, 9 * 16)


class Writer:
    closed = False

    def add_scalar(self, *_: Any) -> None: ...

    def close(self) -> None:
        self.closed = True


class Board(TensorBoard):
    def __init__(self) -> None:
        self.writer = Writer()

    def on_begin(self, run: Run) -> None: ...


def test_tensorboard_ends_well_where_a_network_was_given_as_a_module(tmp_path: Path) -> None:
    data, board = Squares(), Board()
    encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(144, 6))
    method = unbraid.build("vae", data, width=2, latents=3, encoder=encoder)
    assert unbraid.fit(method, data, steps=1, batch=4, out=str(tmp_path), show=False, hooks=[board]).finished
    assert board.writer.closed


def test_what_was_written_for_tensorboard_is_kept_where_training_fails(tmp_path: Path) -> None:
    def stop(step: int, terms: dict[str, float]) -> None:
        raise RuntimeError("enough")

    data, board = Squares(), Board()
    method = unbraid.build("vae", data, width=2, latents=3)
    with pytest.raises(RuntimeError, match="enough"):
        unbraid.fit(method, data, steps=1, batch=4, out=str(tmp_path), show=False, hooks=[board, stop])
    assert board.writer.closed


def test_tensorboard_ends_well_where_a_class_cannot_be_found_again(tmp_path: Path) -> None:
    class Local(VAE):
        def __init__(self, spec: Spec) -> None:
            super().__init__(spec, width=2, latents=3)

    data, board = Squares(), Board()
    with pytest.warns(UserWarning, match="TensorBoard gets no traversals"):
        run = unbraid.fit(Local(data.spec), data, steps=1, batch=4, out=str(tmp_path), show=False, hooks=[board])
    assert run.finished and board.writer.closed
