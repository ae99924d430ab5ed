"""The contract, proven with toy methods for every batch kind and every trick that methods will need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

import unbraid
from tests.toys import Squares
from unbraid.data.batch import Batch, Images, Labelled, Pairs, TargetBackground, Views
from unbraid.data.samplers import sampler
from unbraid.data.table import Spec, Table
from unbraid.errors import UserError
from unbraid.maths.schedule import linear
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.vae import VAE
from unbraid.train.fit import batches, fit, noise_seed
from unbraid.train.load import load_table
from unbraid.train.run import Run
from unbraid.train.trainer import Trainer

TABLE = Squares()
PIXELS = 144


class Toy(Method[Any]):
    """A linear code of the pixels."""

    def __init__(self, spec: Spec, *, lr: float = 1e-2, codes: int = 3) -> None:
        super().__init__(spec, lr=lr)
        self.layer = nn.Linear(PIXELS, codes)

    def codes(self, x: Tensor) -> Tensor:
        code: Tensor = self.layer(x.flatten(1))
        return code

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.codes(x)}

    def losses(self, batch: Any, step: int) -> dict[str, Loss]:
        raise AssertionError("each toy has its own")


class Classifier(Toy):
    batch_kind = Labelled

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        loss = F.cross_entropy(self.codes(batch.x), batch.y)
        return {"model": minimise(loss, right=(self.codes(batch.x).argmax(1) == batch.y).float().mean())}


class Contrast(Toy):
    batch_kind = Views

    def losses(self, batch: Views, step: int) -> dict[str, Loss]:
        a, b = (F.normalize(self.codes(x), dim=-1) for x in (batch.x1, batch.x2))
        loss = F.cross_entropy(a @ b.T / 0.5, torch.arange(len(a)))
        return {"model": minimise(loss, agreement=(a * b).sum(-1).mean())}


class Separator(Toy):
    batch_kind = TargetBackground

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        gap = self.codes(batch.target).mean() - self.codes(batch.background).mean()
        return {"model": minimise(F.softplus(-gap), gap=gap)}


class Slow(Toy):
    batch_kind = Pairs

    def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
        apart = (self.codes(batch.x1) - self.codes(batch.x2)).pow(2).sum(-1)
        return {"model": minimise((apart / batch.k).mean(), apart=apart.mean())}


class Alternating(Toy):
    """An encoder and a critic in turns: two steps of the critic, one of the model."""

    batch_kind = Images

    def __init__(self, spec: Spec, *, lr: float = 1e-2) -> None:
        super().__init__(spec, lr=lr)
        self.critic = nn.Linear(3, 1)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group(list(self.layer.parameters()), self.lr),
            "critic": Group(list(self.critic.parameters()), 10 * self.lr),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        verdict = self.critic(self.codes(batch.x)).mean()
        return {"model": minimise(verdict, verdict=verdict)} if step % 3 == 2 else {"critic": minimise(-verdict)}


class Scheduled(Toy):
    batch_kind = Images

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        target = linear(step, 0.0, 2.0, 100)
        mean = self.codes(batch.x).mean()
        return {"model": minimise((mean - target) ** 2, target=torch.tensor(target), noise=torch.rand(()))}


class Meta(Toy):
    """The loss on one half of the batch after a gradient step on the other half."""

    batch_kind = Images

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        one, two = batch.x.flatten(1).chunk(2)
        parameters: dict[str, Tensor] = dict(self.layer.named_parameters())
        inner = functional_call(self.layer, parameters, one).pow(2).mean()
        gradients = torch.autograd.grad(inner, list(parameters.values()), create_graph=True)
        moved = {n: p - 0.5 * g for (n, p), g in zip(parameters.items(), gradients, strict=True)}
        outer = (functional_call(self.layer, moved, two) - 1).pow(2).mean()
        return {"model": minimise(outer, inner=inner)}


def build(kind: type[Toy], **arguments: Any) -> Toy:
    torch.manual_seed(0)
    return kind(TABLE.spec, **arguments)


def batch_of(kind: type[Batch], step: int = 0, n: int = 16, **sampling: Any) -> Any:
    return sampler(TABLE, kind, batch=n, seed=0, **sampling)(step).on("cpu")


def train(method: Toy, steps: int) -> list[dict[str, Tensor]]:
    trainer, records = Trainer(method), []
    for step in range(steps):
        torch.manual_seed(noise_seed(0, step))
        records.append(trainer.step(batch_of(method.batch_kind, step, 64), step))
    return records


def test_labels_reach_the_method() -> None:
    records = train(build(Classifier, lr=3e-2), 200)
    right = [record["right"].item() for record in records]
    assert np.mean(right[-20:]) > 0.7 > 0.5 > np.mean(right[:3])


def test_views_reach_the_method() -> None:
    records = train(build(Contrast, lr=3e-2), 200)
    assert records[-1]["loss"] < records[0]["loss"] - 0.3


def test_target_and_background_reach_the_method() -> None:
    records = train(build(Separator), 50)
    assert records[-1]["gap"] > records[0]["gap"] + 1


def test_pairs_reach_the_method() -> None:
    records = train(build(Slow), 100)
    assert records[-1]["apart"] < 0.2 * records[0]["apart"]


def test_alternating_groups_move_in_turns() -> None:
    method = build(Alternating)
    trainer = Trainer(method)
    moved = []
    for step in range(6):
        before = {name: p.detach().clone() for name, p in method.named_parameters()}
        trainer.step(batch_of(Images, step), step)
        moved.append({name.split(".")[0] for name, p in method.named_parameters() if not torch.equal(p, before[name])})
    assert moved == [{"critic"}, {"critic"}, {"layer"}] * 2


def test_a_schedule_is_a_function_of_the_step() -> None:
    records = train(build(Scheduled), 120)
    assert [records[step]["target"].item() for step in (0, 50, 119)] == [0.0, 1.0, 2.0]


def test_a_gradient_through_an_inner_step_agrees_with_finite_differences() -> None:
    method = build(Meta).double()
    batch = Images(torch.arange(8), torch.rand(8, 1, 12, 12, dtype=torch.float64))
    weight = method.layer.weight
    (gradient,) = torch.autograd.grad(method.losses(batch, 0)["model"].value, [weight])

    def value(i: int, j: int, shift: float) -> float:
        with torch.no_grad():
            weight[i, j] += shift
        found = method.losses(batch, 0)["model"].value.item()
        with torch.no_grad():
            weight[i, j] -= shift
        return found

    for i, j in [(0, 0), (1, 77), (2, 143)]:
        numeric = (value(i, j, 1e-5) - value(i, j, -1e-5)) / 2e-5
        assert gradient[i, j].item() == pytest.approx(numeric, rel=1e-6)


def test_simultaneous_groups_get_gradients_from_before_any_step() -> None:
    class Both(Alternating):
        def losses(self, batch: Images, step: int) -> dict[str, Loss]:
            verdict = self.critic(self.codes(batch.x)).mean()
            return {"model": minimise(verdict), "critic": minimise(-verdict)}

    method = build(Both)
    batch = batch_of(Images)
    verdict = method.critic(method.codes(batch.x)).mean()  # type: ignore[operator]
    parameters = list(method.parameters())
    expected = torch.autograd.grad(verdict, parameters)
    Trainer(method).step(batch, 0)
    for parameter, gradient in zip(parameters, expected, strict=True):
        sign = -1 if any(parameter is p for p in method.critic.parameters()) else 1  # type: ignore[union-attr]
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, sign * gradient)


@pytest.mark.parametrize("name", ["vae", "bias"])
def test_updates_equal_those_of_backward_and_plain_adam(name: str) -> None:
    """Whatever the memory layout of weights (channels last) and gradients (expanded) is."""

    class Bias(Toy):
        batch_kind = Images

        def losses(self, batch: Images, step: int) -> dict[str, Loss]:
            return {"model": minimise(self.layer.bias.sum() + 0 * self.layer.weight.sum())}

    def make() -> Method[Any]:
        torch.manual_seed(0)
        return VAE(TABLE.spec, width=8, lr=1e-2) if name == "vae" else Bias(TABLE.spec)

    ours, plain = make(), make()
    trainer, adam = Trainer(ours), torch.optim.Adam(plain.parameters(), lr=1e-2, foreach=False)
    for step in range(5):
        torch.manual_seed(step)
        trainer.step(batch_of(Images, step), step)
        torch.manual_seed(step)
        adam.zero_grad()
        plain.losses(batch_of(Images, step), step)["model"].value.backward()  # type: ignore[no-untyped-call]
        adam.step()
    for a, b in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_parameter_in_two_groups_is_refused() -> None:
    class Shared(Alternating):
        def groups(self) -> dict[str, Group]:
            return {"model": Group(list(self.parameters()), 1), "critic": Group(list(self.critic.parameters()), 1)}

    with pytest.raises(ValueError, match="share"):
        Trainer(build(Shared))


def test_a_batch_and_its_noise_are_functions_of_seed_and_step() -> None:
    for kind in (Images, Labelled, Pairs, Views, TargetBackground):
        once, again, later = batch_of(kind, 3), batch_of(kind, 3), batch_of(kind, 4)
        assert all(torch.equal(getattr(once, f), getattr(again, f)) for f in vars(once))
        assert not torch.equal(once.index, later.index)
    seeds = {noise_seed(seed, step) for seed in range(30) for step in range(30)}
    assert len(seeds) == 900


def test_batches_drawn_ahead_are_the_same_and_in_order() -> None:
    draw = sampler(TABLE, Images, batch=4, seed=0)
    plain, ahead = (list(batches(draw, 3, 9, ahead=flag)) for flag in (False, True))
    assert [step for step, _ in ahead] == [step for step, _ in plain] == list(range(3, 9))
    assert all(torch.equal(a.index, b.index) for (_, a), (_, b) in zip(ahead, plain, strict=True))


def test_a_run_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    method = build(Scheduled)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    fit(method, TABLE, steps=3, batch=4, out=str(tmp_path), show=False)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_run_leaves_torchs_threads_as_they_were(tmp_path: Path) -> None:
    before, seen = torch.get_num_threads(), list[int]()

    def stop(step: int, terms: dict[str, float]) -> None:
        seen.append(torch.get_num_threads())
        raise RuntimeError("enough")

    given: dict[str, Any] = {"steps": 1, "batch": 4, "show": False, "threads": before + 1}
    fit(build(Scheduled), TABLE, out=str(tmp_path / "whole"), **given)
    assert torch.get_num_threads() == before
    with pytest.raises(RuntimeError, match="enough"):
        fit(build(Scheduled), TABLE, out=str(tmp_path / "broken"), hooks=[stop], **given)
    assert seen == [before + 1] and torch.get_num_threads() == before


@pytest.mark.parametrize("field", ["loss", "weight"])
def test_what_is_not_finite_stops_training_and_keeps_the_last_good_state(field: str, tmp_path: Path) -> None:
    class Breaking(Scheduled):
        def losses(self, batch: Images, step: int) -> dict[str, Loss]:
            found = super().losses(batch, step)["model"]
            bad = torch.tensor(float("nan"))
            if field == "loss" and step == 72:
                return {"model": Loss(found.value, {"target": bad})}
            if field == "weight" and step == 149:
                return {"model": Loss(found.value + self.layer.bias.sum() * float("inf"), {})}
            return {"model": found}

    method = build(Breaking)
    what = "'target' became nan at step 72" if field == "loss" else "became (inf|nan|-inf) at step 149"
    with pytest.raises(UserError, match=what):
        fit(method, TABLE, steps=150, batch=4, out=str(tmp_path), show=False, save_every=0)
    (run,) = tmp_path.iterdir()
    state = torch.load(run / "state.pt", weights_only=True)
    assert state["step"] == (50 if field == "loss" else 100)
    assert all(torch.isfinite(value).all() for value in state["weights"].values())
    assert not (run / "done").exists()


def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path) -> None:
    class Poisoned(Scheduled):
        def after_step(self, step: int) -> None:
            if step == 60:
                self.layer.weight.data[0, 0] = float("inf")

        def losses(self, batch: Images, step: int) -> dict[str, Loss]:
            return {"model": minimise(self.layer.bias.sum())}

    with pytest.raises(UserError, match=r"'layer.weight' are no longer finite at step 100; .* step 50"):
        fit(build(Poisoned), TABLE, steps=100, batch=4, out=str(tmp_path), show=False, save_every=0)


def test_a_method_with_other_weights_is_refused_in_the_same_directory(tmp_path: Path) -> None:
    method = build(Scheduled)
    fit(method, TABLE, steps=3, batch=4, out=str(tmp_path), show=False)
    other = build(Scheduled)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    with pytest.raises(UserError, match="began from other weights"):
        fit(other, TABLE, steps=3, batch=4, out=str(tmp_path), show=False)
    for steps in (3, 4):  # the same run, and another that would be said to begin with the seed's weights
        with pytest.raises(UserError, match=r"was trained already, in .*: build it anew"):
            fit(method, TABLE, steps=steps, batch=4, out=str(tmp_path), show=False)
    same: dict[str, Any] = {"steps": np.int64(3), "batch": np.int64(4), "seed": np.int64(0)}
    again = fit(build(Scheduled), TABLE, **same, out=str(tmp_path), show=False)
    assert again.finished


def test_what_cannot_be_drawn_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="differ in"):
        fit(build(Slow), TABLE, steps=3, out=str(tmp_path), sampling={"changed": 9}, show=False)
    with pytest.raises(UserError, match="at least one step"):
        fit(build(Slow), TABLE, steps=0, out=str(tmp_path), show=False)
    with pytest.raises(UserError, match="device 'gpu9'"):
        fit(build(Slow), TABLE, steps=1, out=str(tmp_path / "x"), device="gpu9", show=False)
    assert not list(tmp_path.glob("*/done"))


def test_the_history_holds_the_mean_of_each_window(tmp_path: Path) -> None:
    run = fit(build(Scheduled), TABLE, steps=120, batch=4, out=str(tmp_path), show=False)
    lines = (run.path / "history.csv").read_text().splitlines()
    assert lines[0] == "step,loss,target,noise"
    assert [line.split(",")[0] for line in lines[1:]] == ["50", "100", "120"]
    expected = np.mean([linear(step, 0, 2, 100) for step in range(50)])
    assert float(lines[1].split(",")[2]) == pytest.approx(expected, rel=1e-6)


def test_every_rate_of_every_optimiser_is_scaled_from_what_was_given() -> None:
    trainer = Trainer(build(Alternating))
    for share in (0.5, 0.1):
        trainer.scale_rates(share)
        rates = {name: optimiser.param_groups[0]["lr"] for name, optimiser in trainer.optimisers.items()}
        assert rates == pytest.approx({"model": share * 1e-2, "critic": share * 1e-1})


def test_a_run_with_decay_takes_the_steps_of_adam_at_these_rates(tmp_path: Path) -> None:
    method, plain = build(Alternating), build(Alternating)
    fit(method, TABLE, steps=12, batch=8, decay=0.5, out=str(tmp_path), show=False)
    adams = {name: torch.optim.Adam(group.parameters, lr=group.lr) for name, group in plain.groups().items()}
    for step, share in enumerate([1.0] * 6 + [1 - 0.99 * i / 6 for i in range(1, 7)]):
        (name, loss), *_ = plain.losses(batch_of(Images, step, 8), step).items()
        for other, group in plain.groups().items():
            adams[other].param_groups[0]["lr"] = share * group.lr
        plain.zero_grad()
        loss.value.backward()  # type: ignore[no-untyped-call]
        adams[name].step()
    for found, expected in zip(method.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_a_decay_outside_of_its_range_is_refused(tmp_path: Path) -> None:
    for decay in (-0.1, 1.5, float("nan")):
        with pytest.raises(UserError, match="from 0 to 1"):
            fit(build(Slow), TABLE, steps=3, decay=decay, out=str(tmp_path), show=False)
    assert not list(tmp_path.iterdir())


def quickly(method: Method[Any], data: Table, out: Path, **more: Any) -> Run:
    return fit(method, data, steps=1, batch=4, out=str(out), show=False, **more)


def test_the_same_arguments_written_otherwise_are_the_same_run(tmp_path: Path) -> None:
    runs = [
        quickly(unbraid.build("ada_gvae", TABLE, beta=beta, net="dense", width=2), TABLE, tmp_path, sampling=sampling)
        for beta, sampling in ((2, None), (2.0, {}), (np.float32(2), {"changed": 1}), (2, {"changed": np.int64(1)}))
    ]
    assert len({run.path for run in runs}) == 1
    assert runs[0].plan.arguments["beta"] == 2.0 and type(runs[0].plan.arguments["beta"]) is float
    assert runs[0].plan.sampling["changed"] == 1
    assert BetaVAE(TABLE.spec, beta=np.float64(2), net="dense", width=2).arguments["beta"] == 2.0
    with pytest.raises(UserError, match="learn_sigma of vae must be a bool, not 'false'"):
        unbraid.build("vae", TABLE, learn_sigma="false")


@pytest.mark.parametrize(
    ("name", "sampling", "message"),
    [
        ("ada_gvae", {"chnaged": 1}, "no argument of Pairs is called 'chnaged': did you mean 'changed'"),
        ("sub_infomax", {"views_of": "instances"}, "views_of of Views must be class or instance, not 'instances'"),
    ],
)
def test_options_of_the_sampler_are_checked(name: str, sampling: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        quickly(unbraid.build(name, TABLE, width=2), TABLE, tmp_path, sampling=sampling)
    assert not list(tmp_path.iterdir())


def test_a_part_has_a_run_of_its_own_which_does_not_take_the_whole_for_it(tmp_path: Path) -> None:
    whole = unbraid.load_data("dsprites", size=8)
    parts = [whole, unbraid.hold_out(whole, fraction=0.5), unbraid.hold_out(whole, fraction=0.5, seed=1)]
    runs = [quickly(unbraid.build("vae", part, net="dense", width=2), part, tmp_path) for part in parts]
    assert len({run.path for run in runs}) == 3
    assert load_table(runs[0]).name == "dsprites"
    assert runs[0].plan.repeated and not runs[1].plan.repeated
    with pytest.raises(UserError, match="was trained on a part of 'dsprites', which it does not keep: give it"):
        load_table(runs[1])


def test_files_that_have_changed_since_are_noticed(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(30, 4))

    def train() -> Run:
        np.savetxt(tmp_path / "x.csv", numbers, delimiter=",", header="a,b,c,d", comments="")
        data = unbraid.load_data("table", path=str(tmp_path / "x.csv"))
        return quickly(unbraid.build("vae", data, net="dense", width=2, likelihood="gaussian"), data, tmp_path)

    assert train().path == train().path
    numbers[29, 3] += 1
    with pytest.raises(UserError, match=r"the files of the data have changed since .* was begun: choose another"):
        train()


def test_a_data_set_of_ones_own_is_named_by_its_place(tmp_path: Path) -> None:
    run = quickly(unbraid.build("vae", TABLE, net="dense", width=2), TABLE, tmp_path)
    assert run.plan.data == "tests.toys:Squares"
    assert run.path.name.startswith("vae-Squares-")
    assert isinstance(load_table(run), Squares)
    with pytest.raises(UserError, match=r"trained on tests\.toys:Squares, which is code of its own"):
        load_table(Run(run.path))


def test_frozen_weights_stay_as_they_are(tmp_path: Path) -> None:
    method = build(Alternating)
    method.layer.bias.requires_grad_(False)
    before = method.layer.bias.clone(), method.layer.weight.clone()
    fit(method, TABLE, steps=4, batch=4, out=str(tmp_path), show=False)
    assert torch.equal(method.layer.bias, before[0]) and not torch.equal(method.layer.weight, before[1])
    method.critic.requires_grad_(False)
    with pytest.raises(UserError, match="all weights of the group 'critic' are frozen"):
        Trainer(method)


def test_a_method_of_another_seed_is_refused(tmp_path: Path) -> None:
    """The run would say that its weights came from a seed which gives others."""
    method = unbraid.build("vae", TABLE, width=2, seed=3)
    with pytest.raises(UserError, match="built with seed 3 and is to be trained with 4"):
        fit(method, TABLE, steps=1, batch=4, seed=4, out=str(tmp_path), show=False)
    run = fit(method, TABLE, steps=1, batch=4, seed=3, out=str(tmp_path), show=False)
    more = fit(method, TABLE, steps=2, batch=4, seed=4, start_from=str(run.path), out=str(tmp_path), show=False)
    assert more.plan.start_from == run.path.name
    with pytest.raises(UserError, match="was trained already"):
        fit(unbraid.load_run(run.path).method, TABLE, steps=3, batch=4, seed=3, out=str(tmp_path), show=False)
