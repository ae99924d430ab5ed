"""Variation predictability: its network, its pairs, and what it learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.metrics.model.test_variation_predictability import TABLE, Corners
from tests.toys import Vectors
from unbraid.errors import UserError
from unbraid.metrics.model import variation_predictability as module
from unbraid.metrics.model.contract import Model
from unbraid.metrics.model.variation_predictability import (
    _learn,
    _mean_change,
    _network,
    _right,
    _score,
    image_differences,
    variation_predictability,
)


def test_the_network_is_that_of_the_paper_with_fewer_channels() -> None:
    """Four convolutions, the second before a pooling; the seed decides its weights and nothing else."""
    state = torch.random.get_rng_state()
    net = _network(3, 5, 2, 7).eval()
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(7)
    convolutions = [nn.Conv2d(*sizes) for sizes in ((3, 2, 7, 2, 3), (2, 2, 3, 1, 1), (2, 4, 3, 1, 1), (4, 8, 3, 1, 1))]
    last = nn.Linear(8, 5)
    x = torch.randn(4, 3, 12, 12)
    h = x
    for i, convolution in enumerate(convolutions):
        h = F.relu(convolution(h) / (1 + 1e-5) ** 0.5)  # a normalisation that has seen nothing
        h = F.max_pool2d(h, 2) if i == 1 else h
    assert torch.allclose(net(x), last(h.mean((2, 3))), atol=1e-6)


def test_changes_are_means_over_pixels_and_pairs_of_a_feature() -> None:
    seen = torch.tensor([[1.0, -3.0], [0.0, 0.5], [-2.0, 2.0]]).reshape(3, 1, 1, 2).half()
    assert _mean_change(seen, torch.tensor([1, 0, 1]), 2) == pytest.approx([0.25, 2.0])


def test_the_accuracy_of_each_feature_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Echo(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            assert not self.training and x.dtype == torch.float32
            return F.one_hot(x.flatten().long(), 3).float()

    monkeypatch.setattr(module, "CHUNK", 2)
    named, which = torch.tensor([0, 1, 1, 2, 0, 2, 1]), torch.tensor([0, 1, 0, 2, 1, 2, 1])
    found = _right(Echo(), named.reshape(7, 1, 1, 1).half(), which)
    assert found == pytest.approx([1 / 2, 2 / 3, 1])


def test_differences_are_those_of_decoded_codes_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second row gives the changed feature; the codes of some rows come from one call."""
    monkeypatch.setattr(module, "CHUNK", 6)
    model = Model(Corners(TABLE.spec, pairs=True), TABLE)
    seen, which = image_differences(model, 15, np.random.default_rng(3))
    draw = np.random.default_rng(3)
    features = draw.permutation(np.arange(15) % 2)
    wanted = []
    for start in (0, 6, 12):
        some = features[start : start + 6]
        rows = draw.integers(len(TABLE), size=(2, len(some)))
        code, other = model.encode(rows[0]), model.encode(rows[1])
        for i, k in enumerate(some):
            moved = torch.zeros(4)
            moved[2 * k : 2 * k + 2] = (other - code)[i, 2 * k : 2 * k + 2] / 2
            wanted.append(moved)
    assert which.tolist() == features.tolist() and seen.dtype == torch.float16
    assert torch.allclose(seen[:, 0, ::6, ::6].flatten(1).float(), torch.stack(wanted), atol=2e-3)


def test_steps_are_those_of_adam_over_the_training_pairs() -> None:
    """Five training pairs in batches of two, two epochs; four pairs test."""
    seen, which = torch.randn(9, 1, 12, 12, generator=torch.Generator().manual_seed(0)).half(), torch.arange(9) % 2
    order = [np.array([3, 1, 4, 0, 2]), np.array([0, 2, 1, 3, 4])]
    net, other = _network(1, 2, 2, 5), _network(1, 2, 2, 5)
    found = _learn(net, seen, which, order, looks=1, batch=2, lr=0.03)
    adam = torch.optim.Adam(other.parameters(), lr=0.03)
    for some in ([3, 1], [4, 0], [2], [0, 2], [1, 3], [4]):
        adam.zero_grad()
        F.cross_entropy(other.train()(seen[some].float()), which[some]).backward()  # type: ignore[no-untyped-call]
        adam.step()
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(net.parameters(), other.parameters(), strict=True))
    named = other.eval()(seen[5:].float()).argmax(1)
    assert found.tolist() == [float((named[[1, 3]] == 0).float().mean()), float((named[[0, 2]] == 1).float().mean())]


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What networks are given to learn from; their accuracies are 0.1, 0.2, ..., then twice that."""
    calls: list[dict[str, Any]] = []

    def learn(net: Any, seen: Tensor, which: Tensor, order: Any, **how: Any) -> Any:
        calls.append({"net": net, "seen": seen, "which": which, "order": order, "how": how})
        return np.arange(1, net[-1].out_features + 1) * 0.1 * len(calls)

    monkeypatch.setattr(module, "_learn", learn)
    return calls


def test_each_network_has_its_own_pairs_and_a_share_of_them_trains(learned: list[dict[str, Any]]) -> None:
    method, how = Corners(TABLE.spec), {"looks": 2, "batch": 5, "lr": 0.3}
    more: dict[str, Any] = {"pairs": 22, "share": 0.35, "epochs": 3, "width": 2, "repeats": 2}
    found = variation_predictability(method, TABLE, np.random.default_rng(0), **how, **more)  # type: ignore[arg-type]
    draw, model, effects = np.random.default_rng(0), Model(method, TABLE), []
    for call in learned:
        seen, which = image_differences(model, 22, draw)
        net = _network(1, 4, 2, int(draw.integers(2**31)))
        assert torch.equal(call["seen"], seen) and torch.equal(call["which"], which) and call["how"] == how
        assert all(torch.equal(a, b) for a, b in zip(call["net"].parameters(), net.parameters(), strict=True))
        assert [o.tolist() for o in call["order"]] == [draw.permutation(8).tolist() for _ in range(3)]  # 7.7 pairs
        effects.append([float(seen[which == k].float().abs().mean()) for k in range(4)])
    assert len(learned) == 2 and found.parts["effect"] == pytest.approx(np.mean(effects, 0), abs=1e-6)
    assert found.parts["per_feature"] == pytest.approx([0.15, 0.3, 0.45, 0.6]) and found.value == pytest.approx(0.375)
    assert found.params == {**how, **more, "interval": "Student's t over 2 networks"}
    assert (found.n, found.null, found.parts["chance"]) == (22, 0.25, 0.25)


def test_the_shares_that_train_and_test_have_edges(learned: list[dict[str, Any]]) -> None:
    def train(pairs: int, share: float) -> int:
        variation_predictability(Corners(TABLE.spec), TABLE, np.random.default_rng(0), pairs=pairs, share=share)
        return len(learned[-1]["order"][0])

    assert train(40, 0.1) == 4 and train(10, 0.9) == 9
    for pairs, share in ((39, 0.08), (10, 1.0)):
        with pytest.raises(UserError, match="at least 4 training pairs and a test pair"):
            train(pairs, share)


def test_effects_below_a_thousandth_are_none() -> None:
    edge = _score(np.full((1, 3), 0.5), np.array([0.001, 0.00099, 0.5]), n=3, params={})
    assert edge.warnings == ("features [1] do not change the images and cannot be distinguished",)
    assert _score(np.full((1, 3), 0.5), np.full(3, 0.001), n=3, params={}).warnings == ()


class One(Corners):
    """All four corners are one feature."""

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": [0, 0, 0, 0]}


def test_one_feature_has_no_other_and_features_are_not_images(learned: list[dict[str, Any]]) -> None:
    found = variation_predictability(One(TABLE.spec), TABLE, np.random.default_rng(0))
    assert np.isnan(found.value) and not learned
    assert found.warnings == ("there is only one feature: there is nothing to distinguish",)
    pairs = Corners(TABLE.spec, pairs=True)
    two = variation_predictability(pairs, TABLE, np.random.default_rng(0), pairs=20, repeats=1)
    assert two.value == pytest.approx(0.15) and len(learned) == 1
    with pytest.raises(UserError, match="variation_predictability needs images"):
        variation_predictability(Corners(TABLE.spec), Vectors(12), np.random.default_rng(0))
