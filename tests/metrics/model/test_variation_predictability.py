from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Loss, Method
from unbraid.metrics.contract import Score
from unbraid.metrics.model.contract import Model
from unbraid.metrics.model.variation_predictability import _learn, _score, image_differences, variation_predictability

TABLE = Squares()
ROTATED = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(1)))[0]


class Corners(Method[Images]):
    """A code of four numbers, each the light of one corner of the picture; of a mixture of them, or of nothing."""

    def __init__(
        self, spec: Spec, *, mixed: bool = False, blind: bool = False, still: int = 0, pairs: bool = False
    ) -> None:
        super().__init__(spec, lr=1.0)
        self.nothing = torch.nn.Parameter(torch.zeros(1))
        self.mixed, self.blind, self.still, self.pairs = mixed, blind, still, pairs

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        return {}

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": [0, 0, 1, 1]} if self.pairs else {}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        random = torch.Generator().manual_seed(int(1000 * x.sum()))
        code = torch.rand(len(x), 4, generator=random) * 2 - 1
        return {"z": code * (torch.arange(4) >= self.still)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        light = 0.5 + 0.5 * blocks["z"]  # [b, 4]
        if self.blind:
            light = light * 0
        if self.mixed:  # every latent moves all of the picture, by random signs that the others decide
            signs = torch.sign(torch.sin(1000 * blocks["z"].sum(1, keepdim=True)))
            return (0.5 + 0.4 * signs * light.mean(1, keepdim=True))[..., None, None].expand(-1, 1, 12, 12)
        return light.reshape(-1, 1, 2, 2).repeat_interleave(6, 2).repeat_interleave(6, 3)


def score(method: Corners, **options: float) -> Score:
    quick = {"pairs": 800, "epochs": 15, "repeats": 1, "width": 8} | options
    return variation_predictability(method, TABLE, np.random.default_rng(0), **quick)  # type: ignore[arg-type]


def test_effects_in_places_of_their_own_are_told_apart() -> None:
    """But for changes too small to see: the codes of two rows lie close together now and then."""
    found = score(Corners(TABLE.spec), pairs=2000)
    assert found.value > 0.95
    assert found.null == 0.25
    assert found.parts["per_feature"] == pytest.approx([found.value] * 4, abs=0.05)


@pytest.mark.parametrize("how", ["mixed", "blind"])
def test_effects_that_are_alike_are_named_by_chance(how: str) -> None:
    found = score(Corners(TABLE.spec, **{how: True}))
    assert found.value == pytest.approx(0.25, abs=0.06)


def test_features_that_do_nothing_lower_the_score_and_are_named() -> None:
    """Of three still features one can be guessed: (1 + 1) / 4."""
    found = score(Corners(TABLE.spec, still=3))
    assert found.value == pytest.approx(0.5, abs=0.04)
    assert found.warnings == ("features [0, 1, 2] do not change the images and cannot be distinguished",)
    assert found.parts["effect"][:3] == [0, 0, 0]


def test_pairs_differ_in_the_feature_that_they_say() -> None:
    """Each corner shows one latent, or half of the picture one feature of two latents."""
    seen, which = image_differences(Model(Corners(TABLE.spec), TABLE), 400, np.random.default_rng(0))
    changed = seen[:, 0, ::6, ::6].flatten(1) != 0  # [pairs, 4]
    assert torch.equal(changed, F.one_hot(which, 4).bool())
    assert torch.bincount(which).tolist() == [100] * 4
    seen, which = image_differences(Model(Corners(TABLE.spec, pairs=True), TABLE), 400, np.random.default_rng(0))
    changed = seen[:, 0, ::6, ::6].flatten(1) != 0
    assert torch.equal(changed, F.one_hot(which, 2).bool().repeat_interleave(2, 1))


def test_the_score_is_a_function_of_the_generator_alone() -> None:
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    one, two = (score(Corners(TABLE.spec), epochs=2) for _ in range(2))
    assert one == two
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_best_look_counts_and_the_interval_is_that_of_student() -> None:
    last, best = (score(Corners(TABLE.spec), epochs=6, looks=looks, repeats=3) for looks in (1, 6))
    assert best.value >= last.value
    assert last.low is not None and last.high is not None
    assert last.low <= last.value <= last.high


class Scripted(nn.Module):
    """Names the test pairs as a script says, one line for each look; the pairs are four to train and four to test."""

    def __init__(self, *script: str) -> None:
        super().__init__()
        self.script, self.steps, self.looked = script, 0, list[int]()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, pairs: Tensor) -> Tensor:
        rows = pairs.flatten().int().tolist()
        if self.training:
            assert set(rows) <= {0, 1, 2, 3}
            self.steps += 1
            return self.weight.expand(len(rows), 2)
        assert rows == [4, 5, 6, 7]
        self.looked.append(self.steps)
        return F.one_hot(torch.tensor([int(name) for name in self.script[len(self.looked) - 1]]), 2).float()


def test_looks_are_even_over_the_epochs_and_the_best_of_them_counts() -> None:
    """Two steps an epoch, six epochs; the test pairs are of features 0, 0, 1 and 1."""
    seen, which = torch.arange(8.0).reshape(8, 1, 1, 1), torch.tensor([0, 1, 0, 1, 0, 0, 1, 1])

    def learn(net: Scripted, looks: int) -> list[float]:
        order = [np.arange(4)] * 6
        return list(_learn(net, seen, which, order, looks=looks, batch=2, lr=0.1))

    thrice, once = Scripted("1111", "0111", "0000"), Scripted("0000")
    assert (learn(thrice, 3), thrice.looked) == ([0.5, 1.0], [4, 8, 12])
    assert (learn(once, 1), once.looked) == ([1.0, 0.0], [12])


def test_the_score_and_its_interval_by_hand() -> None:
    """Three networks with accuracies .6, .7 and .8, spread .1; t of two degrees is 4.3027."""
    accuracies = np.array([[0.5, 0.7], [0.6, 0.8], [0.7, 0.9]])
    found = _score(accuracies, np.array([0.2, 0.0009]), n=9, params={"lr": 0.1})
    half = 4.30265273 * 0.1 / 3**0.5
    assert (found.value, found.low, found.high) == pytest.approx((0.7, 0.7 - half, 0.7 + half), rel=1e-8)
    assert found.parts["per_feature"] == pytest.approx([0.6, 0.8])
    assert (found.null, found.n, found.params["lr"]) == (0.5, 9, 0.1)
    assert found.warnings == ("features [1] do not change the images and cannot be distinguished",)
    edges = [_score(np.array([[a], [b]]), np.ones(1), n=9, params={}) for a, b in ((0.0, 0.2), (0.8, 1.0))]
    assert (edges[0].low, edges[1].high) == (0, 1)
    alone = _score(accuracies[:1], np.ones(2), n=9, params={})
    assert (alone.low, alone.high, alone.params["interval"]) == (None, None, None)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(UserError, match="4 training pairs"):
        score(Corners(TABLE.spec), pairs=30)
