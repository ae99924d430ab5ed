"""The judge of exchanges, which rows it sees, and the score that is made of its names."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from tests.metrics.model.test_exchange import TABLE, Lamps, Reader, Rows
from unbraid.data.table import Factor
from unbraid.encode import images
from unbraid.metrics.model import exchange as module
from unbraid.metrics.model.contract import Model
from unbraid.metrics.model.exchange import Follows, _Judge, _named, _score, credited, exchange
from unbraid.nets.autoencoders import encoder

Array = NDArray[Any]


def rates_by_loops(named: Array, hosts: Array, donors: Array, counts: Array) -> tuple[Array, Array]:
    """Donor and host rates of kinds, [features, factors]."""
    found = np.zeros((2, len(named), hosts.shape[1]))
    for j in range(hosts.shape[1]):
        pairs = [i for i in range(len(hosts)) if hosts[i, j] != donors[i, j] for _ in range(int(counts[i]))]
        for k in range(len(named)):
            found[0, k, j] = np.mean([named[k, i, j] == donors[i, j] for i in pairs])
            found[1, k, j] = np.mean([named[k, i, j] == hosts[i, j] for i in pairs])
    return found[0], found[1]


def credit_by_trying(donor: Array, host: Array) -> float:
    """The mean credit under the best assignment of as many features as factors, or more."""
    features, factors = donor.shape
    return max(
        float(
            np.mean([donor[k, j] + min(host[i, j] for i in range(features) if i != k) - 1 for j, k in enumerate(way)])
        )
        for way in permutations(range(features), factors)
    )


def test_a_score_with_its_interval_and_chance_level_by_loops() -> None:
    """Real images are named right nine times in ten, reconstructions 8, the features move a, b and neither."""
    draw = np.random.default_rng(1)
    hosts, donors = draw.integers(3, size=(2, 60, 2))
    moves = np.array([[0, 0], [0, 0], [0.8, 0.3], [0.2, 0.7], [0.1, 0.1]])
    named = np.where(draw.random((5, 60, 2)) < moves[:, None], donors, hosts)
    lost = draw.random((2, 60, 2)) < np.array([0.1, 0.2])[:, None, None]
    named[:2] = np.where(lost, (named[:2] + 1) % 3, named[:2])
    found = _score(
        Follows.of(named, hosts, donors, np.zeros(2, bool)), ["a", "b"], np.random.default_rng(2), 40, {"steps": 7}
    )
    ones = np.ones(60)
    donor, host = rates_by_loops(named[2:], hosts, donors, ones)
    _, (right, kept) = rates_by_loops(named[:2], hosts, donors, ones)
    value, again = credit_by_trying(donor, host), np.random.default_rng(2)
    nulls = []
    for _ in range(10):
        order = np.argsort(again.random((3, 60)), 0)
        mixed = np.array([[named[2 + order[k, i], i] for i in range(60)] for k in range(3)])
        nulls.append(max(0.0, credit_by_trying(*rates_by_loops(mixed, hosts, donors, ones))))
    draws = again.multinomial(60, np.full(60, 1 / 60), 40)
    each = np.array([credit_by_trying(*rates_by_loops(named[2:], hosts, donors, counts)) for counts in draws])
    low, high = value + np.quantile(each - each.mean(), [0.025, 0.975])
    assert (found.value, found.null) == pytest.approx((value, np.mean(nulls))) and 0.1 < value < 0.9
    assert (found.low, found.high) == pytest.approx((max(low, 0), min(high, 1)))
    assert np.array(found.parts["donor"]) == pytest.approx(donor) and np.array(found.parts["host"]) == pytest.approx(
        host
    )
    assert np.array(found.parts["neither"]) == pytest.approx(1 - donor - host)
    assert found.parts["feature"] == [0, 1] and sum(found.parts["per_factor"]) / 2 == pytest.approx(value)
    assert (found.parts["judge"], found.parts["reconstruction"]) == (pytest.approx(right), pytest.approx(kept))
    assert found.parts["ceiling"] == pytest.approx(np.mean([2 * share - 1 for share in kept]))
    interval = "40 bootstrap samples of the pairs"
    assert found.params == {"steps": 7, "factors": ["a", "b"], "interval": interval, "shuffles": 10} and found.n == 60
    weak = ", ".join(f"{name} ({share:.2f})" for name, share in zip("ab", right, strict=True) if share < 0.9)
    assert found.warnings == ((f"the judge names few real images right: {weak}; more steps may help",) if weak else ())


def named_by(right: float, n: int = 10, shift: int = 1) -> Follows:
    """All pairs differ by one; real images and reconstructions are right so often, and no feature does anything."""
    hosts, donors = np.zeros((n, 1), int), np.full((n, 1), shift)
    named = np.zeros((4, n, 1), int)
    named[:2, round(right * n) :] = 5
    return Follows.of(named, hosts, donors, np.zeros(1, bool))


@pytest.mark.parametrize(("right", "told"), [(0.9, False), (0.8, True), (0.3, True)])
def test_a_judge_below_nine_in_ten_is_named_and_a_ceiling_is_not_below_0(right: float, told: bool) -> None:
    found = _score(named_by(right), ["size"], np.random.default_rng(0), 0, {})
    assert found.parts["judge"] == [right] and found.parts["ceiling"] == pytest.approx(max(0, 2 * right - 1))
    note = f"the judge names few real images right: size ({right:.2f}); more steps may help"
    assert found.warnings == ((note,) if told else ())
    assert (found.value, found.low, found.high, found.params["interval"]) == (0, None, None, None)
    assert _score(named_by(1), ["size"], np.random.default_rng(0), 1, {}).low is None
    two = _score(named_by(1), ["size"], np.random.default_rng(0), 2, {})
    assert (two.low, two.params["interval"]) == (0, "2 bootstrap samples of the pairs")


def test_a_quantity_follows_whom_it_is_strictly_nearer_to_than_half_of_the_way() -> None:
    named = np.array([[[2], [3], [1], [4], [9]]])
    found = Follows.of(named, np.full((5, 1), 0), np.full((5, 1), 4), np.ones(1, bool))
    assert found.donor[0, :, 0].tolist() == [0, 1, 0, 1, 0] and found.host[0, :, 0].tolist() == [0, 0, 1, 0, 0]
    same = Follows.of(named, np.full((5, 1), 4), np.full((5, 1), 4), np.zeros(1, bool))
    assert not same.donor.any() and not same.host.any() and not same.differs.any()
    assert same.rates()[0].tolist() == [[0]]  # no pair differs


def test_features_of_pairs_are_put_in_another_order() -> None:
    donor, host = np.random.default_rng(0).integers(2, size=(2, 3, 4, 2)).astype(float)
    order = np.array([[2, 0, 1, 0], [0, 1, 2, 1], [1, 2, 0, 2]])
    found = Follows(donor, host, np.ones((4, 2))).reordered(order)
    for k in range(3):
        for i in range(4):
            assert found.donor[k, i].tolist() == donor[order[k, i], i].tolist()
            assert found.host[k, i].tolist() == host[order[k, i], i].tolist()
    assert found.differs.shape == (4, 2)


def test_no_feature_is_used_twice_while_one_is_unused_however_bad_it_is() -> None:
    donor = np.array([[1.0, 1.0], [0.0, 0.0]])
    each, own = credited(donor, np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert sorted(own.tolist()) == [0, 1] and sorted(each.tolist()) == [0, 1]
    each, own = credited(np.array([[1.0, 1.0, 1.0], [0.2, 0.1, 0.3]]), np.ones((2, 3)))
    assert own.tolist() == [0, 0, 1] and each == pytest.approx([1, 1, 0.3])


def test_the_judge_learns_by_adam_with_a_rate_that_falls() -> None:
    """Six steps: all of the rate for three, then 0.67, 0.34 and 0.01 of it; the loss is summed over two factors."""
    method, factors = Reader(TABLE.spec, rule="own"), np.array([0, 2])
    rows, draw = np.arange(50), np.random.default_rng(0)
    batches = [draw.integers(50, size=4) for _ in range(6)]
    before = torch.random.get_rng_state()
    judge = _Judge(method, TABLE, factors, net="dense", width=1, rng=np.random.default_rng(3))
    assert torch.equal(torch.random.get_rng_state(), before) and judge.sizes == [6, 7]
    torch.manual_seed(int(np.random.default_rng(3).integers(2**31)))
    net = encoder("dense", (1, 8, 8), 13, width=1)
    adam = torch.optim.Adam(net.parameters(), 1.0)
    for share, some in zip((1, 1, 1, 0.67, 0.34, 0.01), batches, strict=True):
        adam.param_groups[0]["lr"] = 0.02 * share
        logits, values = net(images(method, TABLE, rows[some])), TABLE.values(rows[some])
        parts = (logits[:, :6], values[:, 0]), (logits[:, 6:], values[:, 2])
        adam.zero_grad()
        sum(F.cross_entropy(z, torch.from_numpy(y)) for z, y in parts).backward()  # type: ignore[union-attr]
        adam.step()
    judge.learn(rows, batches, 0.02)
    x = images(method, TABLE, np.arange(30))
    assert torch.allclose(judge.net(x), net(x), atol=1e-5)
    logits = judge.net(x)
    assert judge.named(x).tolist() == torch.stack([logits[:, :6].argmax(1), logits[:, 6:].argmax(1)], 1).tolist()


def reads(judge: Any, x: Tensor) -> Array:
    found: Array = x[:, 0, [0, 2, 4]].argmax(-1).numpy()
    return found


def test_names_are_those_of_hosts_reconstructions_and_exchanges_in_any_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code is (a - b, b, c): each exchange is drawn by hand."""
    monkeypatch.setattr(module, "CHUNK", 4)
    monkeypatch.setattr(_Judge, "named", reads)
    method = Reader(TABLE.spec, rule="mixed")
    judge = _Judge(method, TABLE, np.arange(3), net="dense", width=1, rng=np.random.default_rng(0))
    hosts, donors = np.random.default_rng(1).integers(len(TABLE), size=(2, 10))
    real, drawn, exchanged = _named(Model(method, TABLE), judge, hosts, donors)
    (a, b, c), (da, db, dc) = TABLE.values(hosts).T, TABLE.values(donors).T
    assert (real == TABLE.values(hosts)).all() and (drawn == real).all()
    wanted = [((da - db + b) % 6, b, c), ((a - b + db) % 6, db, c), (a, b, dc)]
    assert exchanged.tolist() == np.array(wanted).transpose(0, 2, 1).tolist()


@pytest.mark.parametrize("train", [100, 1000])
def test_the_judge_never_sees_hosts_and_donors_and_trains_on_half_of_the_rows_at_most(
    train: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """252 rows: what is drawn is the order of the rows, hosts and donors, a seed, and batches."""
    seen: dict[str, Any] = {}

    def learn(judge: Any, rows: Any, batches: Any, lr: float) -> None:
        seen.update(rows=rows, batches=batches, lr=lr, factors=judge.factors)

    def named(model: Any, judge: Any, hosts: Any, donors: Any) -> Any:
        seen.update(hosts=hosts, donors=donors)
        real = model.table.values(hosts)[:, judge.factors]
        return real, real, np.stack([real] * 3)

    monkeypatch.setattr(_Judge, "learn", learn)
    monkeypatch.setattr(module, "_named", named)
    options: dict[str, Any] = {
        "pairs": 40,
        "train": train,
        "steps": 3,
        "batch": 5,
        "net": "dense",
        "width": 2,
        "lr": 0.5,
    }
    found = exchange(Reader(TABLE.spec, rule="own"), TABLE, np.random.default_rng(0), **options, ordered=[1])
    draw = np.random.default_rng(0)
    order, n = draw.permutation(252), min(train, 126)
    pairs = order[n:][draw.integers(252 - n, size=(2, 40))]
    draw.integers(2**31)
    assert seen["rows"].tolist() == order[:n].tolist() and seen["lr"] == 0.5
    assert [seen["hosts"].tolist(), seen["donors"].tolist()] == pairs.tolist()
    assert [b.tolist() for b in seen["batches"]] == [draw.integers(n, size=5).tolist() for _ in range(3)]
    assert found.params == {**options, "ordered": [1], "factors": ["a", "b", "c"], "shuffles": 10} | {
        "interval": "200 bootstrap samples of the pairs"
    }
    assert (found.value, found.n, found.parts["judge"]) == (0, 40, [1, 1, 1])


@pytest.mark.parametrize(("shape", "net"), [((1, 8, 8), "mlp"), ((1, 1, 64), "dense")])
def test_features_have_a_judge_of_their_own(shape: Any, net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, asked = Lamps(), list[Any]()

    def made(*given: Any, **more: Any) -> torch.nn.Module:
        asked.append((*given, more))
        return torch.nn.Identity()

    monkeypatch.setattr(table, "shape", shape)
    monkeypatch.setattr(module, "encoder", made)
    monkeypatch.setattr(_Judge, "learn", lambda *given: None)
    monkeypatch.setattr(_Judge, "named", reads)
    exchange(Reader(TABLE.spec, rule="own"), table, np.random.default_rng(0), net="mlp", pairs=20, steps=1, width=5)
    assert asked == [(net, shape, 6 + 6 + 7, {"width": 5})]


def test_a_score_that_is_not_defined_keeps_its_arguments() -> None:
    found = exchange(Reader(TABLE.spec, rule="own"), Rows(), np.random.default_rng(0), pairs=9, steps=3)
    assert np.isnan(found.value) and found.n == 9 and (found.params["pairs"], found.params["steps"]) == (9, 3)


class Still(Lamps):
    """The second factor has one value."""

    factors = (Factor("a", 6), Factor("b", 1), Factor("c", 7))


def test_factors_that_never_differ_are_left_out_and_quantities_keep_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """c is a quantity: what is drawn one beside the donor's value is near enough where the two are far apart."""
    monkeypatch.setattr(_Judge, "learn", lambda *given: None)
    monkeypatch.setattr(_Judge, "named", lambda judge, x: (x[:, 0, [0, 4]].argmax(-1) + torch.tensor([0, 1])).numpy())
    table = Still()
    how: dict[str, Any] = {"pairs": 300, "steps": 1, "bootstrap": 0, "net": "dense", "width": 1}
    kinds, near = (
        exchange(Reader(table.spec, rule="own"), table, np.random.default_rng(0), ordered=ordered, **how)
        for ordered in (None, [2])
    )
    assert kinds.params["factors"] == near.params["factors"] == ["a", "c"]
    assert np.array(kinds.parts["donor"])[:, 0].tolist() == np.array(near.parts["donor"])[:, 0].tolist() == [1, 0, 0]
    far = 20 / 42  # pairs of seven values that differ by three or more: of 42 in any order
    assert kinds.parts["donor"][2][1] == 0 and near.parts["donor"][2][1] == pytest.approx(far, abs=0.1)
