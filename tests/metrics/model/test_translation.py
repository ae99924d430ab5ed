from __future__ import annotations

import copy
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from tests.toys import Squares
from unbraid import build, fit, load_data, represent, score
from unbraid.cli import main
from unbraid.data.batch import Batch
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths.intervention import adapted, cross_entropy
from unbraid.methods.contract import Loss, Method
from unbraid.metrics.contract import Score
from unbraid.metrics.model.contract import Model, measure
from unbraid.metrics.model.translation import _losses, _score, translation
from unbraid.nets.translator import Translator

TABLE = Squares()


class Textures(Method[Batch]):
    """Four numbers between -1 and 1 that depend on the image; `rule` says how strongly four textures are painted.

    own: each feature paints its texture. mixed: what a feature does depends on two others.
    half: the last two features are ignored. nothing: all of them are.
    """

    def __init__(self, spec: Spec, *, rule: str) -> None:
        super().__init__(spec, lr=1.0)
        self.rule, self.dummy = rule, torch.nn.Parameter(torch.zeros(()))
        row, column = torch.meshgrid(torch.arange(12), torch.arange(12), indexing="ij")
        plain = [torch.zeros(12, 12), row % 2, column % 2, (row + column) % 2]
        self.textures = 1 - 2.0 * torch.stack([torch.as_tensor(each).float() for each in plain])  # [4, 12, 12]

    def losses(self, batch: Batch, step: int) -> dict[str, Loss]:
        raise AssertionError("it is not trained")

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        directions = torch.randn(144, 4, generator=torch.Generator().manual_seed(0))
        return {"z": torch.sin(5 * x.flatten(1) @ directions)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        z = blocks["z"]
        painted = z * torch.tensor([1.0, 1.0, 0.0, 0.0]) if self.rule == "half" else z
        if self.rule == "mixed":
            painted = z.sign() * z.roll(1, 1) * z.roll(2, 1).sign()
        if self.rule == "nothing":
            painted = painted * 0
        return torch.sigmoid(torch.einsum("bk,khw->bhw", 1.5 * painted, self.textures))[:, None]


class Paired(Textures):
    """Two features of two dimensions each."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, rule="own")

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": [0, 1, 0, 1]}


class Blind(Textures):
    decode = Method.decode  # type: ignore[assignment]


@cache
def of(rule: str, seed: int = 0, **arguments: Any) -> Score:
    small = {"batch": 32, "width": 8, "repeats": 2, **arguments}
    return translation(Textures(TABLE.spec, rule=rule), TABLE, np.random.default_rng(seed), **small)


def test_a_feature_that_does_one_thing_is_easier_than_one_that_depends_on_others() -> None:
    own, mixed = of("own", repeats=3), of("mixed", repeats=3)
    assert own.high is not None
    assert mixed.low is not None
    assert own.high < mixed.low
    assert own.parts["active"] == mixed.parts["active"] == 4


def moved(seed: int, *, mixed: bool, n: int = 64) -> tuple[Tensor, Tensor]:
    """Rendered sprites at one place across, and at another; `mixed` also moves them down by what their shape says."""
    table, rng = load_data("dsprites", size=32), np.random.default_rng(seed)
    values = table.values(rng.choice(len(table), n))
    pictures = []
    for place in rng.choice(32, 2, replace=False):
        values[:, 3] = place
        pictures.append(torch.from_numpy(table.images(table.rows(values))).float() / 255)  # type: ignore[attr-defined]
        if mixed:
            values[:, 4] = (values[:, 4] + 8 * values[:, 0]) % 32
    return pictures[0], pictures[1]


def test_a_shift_of_real_sprites_is_learned_and_one_that_depends_on_the_shape_is_not() -> None:
    net = Translator((1, 32, 32), width=16)
    shares = {}
    for mixed in (False, True):
        found = np.array([_losses(net, *moved(seed, mixed=mixed, n=128), 64, 30, 0.03) for seed in range(4)])  # [4, 3]
        shares[mixed] = (found[:, 0] - found[:, 2]).sum() / (found[:, 1] - found[:, 2]).sum()
    assert shares[False] < 0.2
    assert shares[True] > 2 * shares[False]


def test_as_a_loss_it_is_more_than_a_pull_towards_features_that_do_nothing() -> None:
    """Where the translator has learned nothing, the gradient makes both pictures alike."""
    method: Any = build("intervention_ae", load_data("dsprites", size=32), width=4)
    net = method.translator
    u, v = (image.clamp(0.01, 0.99).requires_grad_() for image in moved(0, mixed=False))
    gradients = []
    for steps in (0, method.inner_steps):
        learned = adapted(net, u[:32], v[:32], steps=steps, rate=method.inner_rate)
        loss = cross_entropy(functional_call(net, learned, (u[32:],)), v[32:])
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, (u, v))]))
    assert torch.cosine_similarity(gradients[0], gradients[1], dim=0).item() < 0.8


def test_without_learning_the_whole_change_is_left() -> None:
    assert of("own", alpha=0.0, steps=3).value == pytest.approx(1)
    assert of("own", repeats=3).value < of("own", steps=3).value < 1  # after 30 steps


def test_features_that_do_nothing_are_not_counted_and_a_collapsed_model_has_no_value() -> None:
    own, half, nothing = of("own", repeats=3), of("half"), of("nothing")
    assert nothing.parts["left"] == pytest.approx(np.zeros(4), abs=0.01)
    assert min(own.parts["left"]) > nothing.parts["left"].max() - 0.01  # a collapsed model would be the best
    assert math.isnan(nothing.value)
    assert nothing.parts["active"] == 0
    assert "no feature changes" in nothing.warnings[0]
    assert half.parts["active"] == 2
    assert half.parts["effect"][2:] == pytest.approx(np.zeros(2), abs=0.01)


def test_the_value_is_the_share_of_the_change_that_is_left() -> None:
    found = of("half")
    expected = sum(found.parts["left"][:2]) / sum(found.parts["effect"][:2])
    assert found.value == pytest.approx(expected)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert of("half", repeats=1).low is None


def test_the_translator_learns_from_one_half_and_is_tried_on_the_other() -> None:
    """Four steps of torch's Adam on five pairs; cross-entropies of the other six, summed over pixels."""
    net = Translator((1, 8, 8), width=2).double()
    u, v = 0.1 + 0.8 * torch.rand(2, 11, 1, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def nats(p: Tensor, image: Tensor) -> Tensor:
        return -(image * p.log() + (1 - image) * (1 - p).log()).sum() / len(image)

    learner = copy.deepcopy(net)
    adam = torch.optim.Adam(learner.parameters(), lr=0.03, eps=1e-30)
    for _ in range(4):
        adam.zero_grad()
        nats(torch.sigmoid(learner(u[:5])), v[:5]).backward()  # type: ignore[no-untyped-call]
        adam.step()
    learned = torch.sigmoid(learner(u[5:]))
    expected = [nats(p, v[5:]).item() for p in (learned, u[5:], v[5:])]
    assert _losses(net, u, v, 5, 4, 0.03) == pytest.approx(expected, rel=1e-9)


def test_a_feature_is_the_same_in_all_pictures_of_u_and_another_in_those_of_v() -> None:
    method, drawn = Paired(TABLE.spec), list[Tensor]()
    every = method.encode(torch.from_numpy(TABLE.images(np.arange(len(TABLE)))) / 255)["z"]

    def decode(blocks: dict[str, Tensor]) -> Tensor:
        drawn.append(blocks["z"])
        return Textures.decode(method, blocks)

    def distinct(z: Tensor, columns: list[int]) -> int:
        return len({tuple(row) for row in z[:, columns].tolist()})

    def found_in_images(z: Tensor, columns: list[int]) -> int:
        return int(((z[:, None, columns] - every[:, columns]).abs().amax(2).amin(1) < 1e-5).sum())

    method.decode = decode  # type: ignore[method-assign]
    translation(method, TABLE, np.random.default_rng(0), batch=3, repeats=2, steps=1, width=4)
    assert len(drawn) == 2 * 2 * 2  # u and v of two features, twice
    for i, (u, v) in enumerate(zip(drawn[::2], drawn[1::2], strict=True)):
        held, others = ([0, 2], [1, 3]) if i % 2 == 0 else ([1, 3], [0, 2])
        assert len(u) == len(v) == 6
        assert distinct(u, held) == distinct(v, held) == 1
        assert (u[0, held] != v[0, held]).all()
        assert found_in_images(u, held) == found_in_images(v, held) == 6
        assert torch.equal(u[:, others], v[:, others])
        assert distinct(u, others) == found_in_images(u, others) == 6
        assert found_in_images(torch.cat([u, v]), [0, 1, 2, 3]) == 0  # none gives the value itself


def test_the_interval_is_that_of_a_ratio_of_two_means() -> None:
    """Left [6, 10] of effects [30, 38]: 4 / 17; the residuals are -18/17 and 18/17; t of one degree is 12.706."""
    own = np.full((2, 3), 10.0)
    identity = own + np.array([[20, 10, 0.5], [24, 14, 0.9]])  # the last feature changes images by less than a nat
    loss = own + np.array([[5, 1, 2], [7, 3, 2]])
    found = _score(np.stack([loss, identity, own]), least=1.0, batch=8)
    reach = 12.7062047 * 18 / 17 / 34
    assert (found.value, found.low, found.high) == pytest.approx((4 / 17, 4 / 17 - reach, 4 / 17 + reach), rel=1e-7)
    assert (found.parts["loss"], found.parts["active"], found.n) == (pytest.approx(80 / 6), 2, 48)
    assert found.parts["per_feature"] == pytest.approx([16, 12, 12])
    assert found.parts["effect"] == pytest.approx([22, 12, 0.7])
    assert found.parts["left"] == pytest.approx([6, 2, 2])
    assert _score(np.stack([loss, identity, own]), least=0.5, batch=8).value == pytest.approx(20 / 69.4)


def test_a_seed_decides_everything() -> None:
    torch.manual_seed(0)
    first = of("own", 1, steps=3)
    torch.manual_seed(5)
    assert of.__wrapped__("own", 1, steps=3).value == first.value
    assert of("own", 2, steps=3).value != first.value


def test_a_feature_may_have_several_dimensions() -> None:
    method = Paired(TABLE.spec)
    assert Model(method, TABLE).features == [[0, 2], [1, 3]]
    found = translation(method, TABLE, np.random.default_rng(0), batch=32, width=8, repeats=2, steps=3)
    assert len(found.parts["per_feature"]) == 2
    assert min(found.parts["effect"]) > max(of("half").parts["effect"][2:])


def test_a_model_without_a_decoder_is_refused() -> None:
    with pytest.raises(UserError, match="Blind has no decoder"):
        measure(Blind(TABLE.spec, rule="own"), TABLE, metrics=["translation"])
    with pytest.raises(UserError, match="argument of translation"):
        measure(Textures(TABLE.spec, rule="own"), TABLE, metrics=["translation"], options={"translation": {"step": 3}})


def test_a_run_is_scored_by_its_command_and_keeps_its_other_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_data("dsprites", size=16)
    method = build("group_factor_vae", data, width=4, dims=2, critic_width=8)
    run = fit(method, data, steps=1, batch=8, out=str(tmp_path), show=False)
    represent(run, method, data, points=200)
    score(run, metrics=["mig"])
    words = ["score", str(run.path), "--metrics", "translation", "--json"]
    assert main([*words, "--set", "translation.steps=2", "--set", "translation.repeats=1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["translation"]["params"]["steps"], told["translation"]["params"]["repeats"]) == (2, 1)
    assert main([*words, "--set", "translation=2"]) == 1
    assert "is not METRIC.NAME=VALUE" in capsys.readouterr().err
    assert main([*words, "--set", "mig.bins=5"]) == 1
    assert "'mig', which is not among the metrics asked for" in capsys.readouterr().err
    assert set(told) == {"translation"}
    assert told["translation"]["parts"]["active"] <= 2
    assert set(run.scores()) == {"mig", "translation"}
