from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from unbraid.data.batch import Batch
from unbraid.data.table import Bytes, Factor, Grid, Spec, Table, Values
from unbraid.encode import encode_rows, reencode
from unbraid.errors import UserError
from unbraid.figures.parts import HeatMap
from unbraid.methods.contract import Loss, Method
from unbraid.metrics.contract import Score
from unbraid.metrics.model.exchange import Follows, _Judge, _score, credited, exchange
from unbraid.problems.latents import exchanged
from unbraid.problems.scores import take_scores
from unbraid.study.evaluation import Evaluation

UNITS = {"one": [0, 0, 0, 1], "redundant": [0, 0, 1, 1, 2]}


class Lamps(Grid):
    """Three factors; each lights one lamp in a row of its own."""

    name = "lamps"
    factors = (Factor("a", 6), Factor("b", 6), Factor("c", 7))
    shape = (1, 8, 8)

    def render(self, values: Values) -> Bytes:
        pictures = np.zeros((len(values), 1, 8, 8), np.uint8)
        for j, column in enumerate(values.T):
            pictures[np.arange(len(values)), 0, 2 * j, column] = 255
        return pictures


class Reader(Method[Batch]):
    """Reads the lamps and draws them again; `rule` says how they are coded.

    own: a, b, c. permuted: c, a, b. one: all in feature 0, and an idle feature. mixed: a - b, b, c.
    half: c is not drawn. redundant: (a, b), (b, a), c, of which the decoder looks at a, b and c in this order.
    """

    def __init__(self, spec: Spec, *, rule: str) -> None:
        super().__init__(spec, lr=1.0)
        self.rule, self.dummy = rule, torch.nn.Parameter(torch.zeros(()))

    def losses(self, batch: Batch, step: int) -> dict[str, Loss]:
        raise AssertionError("it is not trained")

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": UNITS[self.rule]} if self.rule in UNITS else {}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        a, b, c = x[:, 0, [0, 2, 4]].argmax(-1).float().unbind(1)
        columns = {"permuted": (c, a, b), "one": (a, b, c, 0 * a), "mixed": ((a - b) % 6, b, c)}
        columns |= {"redundant": (a, b, b, a, c)}
        return {"z": torch.stack(columns.get(self.rule, (a, b, c)), 1)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        z = blocks["z"]
        values = z[:, {"permuted": [1, 2, 0], "redundant": [0, 2, 4]}.get(self.rule, [0, 1, 2])]
        if self.rule == "mixed":
            values = torch.stack([(z[:, 0] + z[:, 1]) % 6, z[:, 1], z[:, 2]], 1)
        drawn = torch.zeros(len(z), 1, 8, 8)
        for j in range(2 if self.rule == "half" else 3):
            drawn[torch.arange(len(z)), 0, 2 * j, values[:, j].long()] = 1.0
        return drawn


class Blind(Reader):
    decode = Method.decode  # type: ignore[assignment]


TABLE = Lamps()
SMALL: dict[str, Any] = {"pairs": 400, "steps": 300, "width": 8, "lr": 0.01, "net": "dense", "bootstrap": 50}


def of(rule: str, seed: int = 0, table: Table = TABLE, **given: Any) -> Score:
    return exchange(Reader(TABLE.spec, rule=rule), table, np.random.default_rng(seed), **{**SMALL, **given})


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that reads the lamps, in place of one that learns to."""
    monkeypatch.setattr(_Judge, "learn", lambda *given: None)
    monkeypatch.setattr(_Judge, "named", lambda judge, x: x[:, 0, [0, 2, 4]].argmax(-1).numpy())


def test_a_judge_that_learned_from_images_comes_near_one_that_knows() -> None:
    found = of("own")
    assert min(found.parts["judge"]) > 0.85
    assert found.value > 0.85
    assert found.parts["reconstruction"] == found.parts["judge"]  # what is drawn is what is there
    untrained = of("own", steps=1, lr=1e-9)
    assert max(untrained.parts["judge"]) < 0.6
    assert untrained.value < 0.3
    assert "few real images right: a" in untrained.warnings[0]


def rates(donor: Any, host: Any) -> tuple[Any, Any]:
    return np.array(donor, float), np.array(host, float)


@pytest.mark.parametrize(
    ("donor", "host", "each", "own"),
    [
        ([[1, 0], [0, 1]], [[0, 1], [1, 0]], [1, 1], [0, 1]),  # perfect
        ([[0, 1], [1, 0]], [[1, 0], [0, 1]], [1, 1], [1, 0]),  # permuted
        ([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], [0, 0], None),  # both features move both
        ([[0, 0], [0, 0]], [[1, 1], [1, 1]], [0, 0], None),  # both are ignored
        ([[1, 0], [0, 0]], [[0, 1], [1, 1]], [1, 0], [0, 1]),  # the second is ignored, and nothing moves b
        ([[1, 1], [0, 0]], [[0, 0], [1, 1]], None, None),  # the first moves everything: 1 and -1
        ([[1, 0], [0, 1]], [[0, 0], [1, 0]], [1, 0], [0, 1]),  # the first destroys b
        ([[1, 0], [0, 1], [0, 0]], [[0, 1], [1, 0], [1, 0.2]], [1, 0.2], [0, 1]),  # the worst of the others counts
        ([[1, 1, 0], [0, 0, 1]], [[0, 0, 1], [1, 1, 0]], [1, 1, 1], [0, 0, 1]),  # a group of two factors
    ],
)
def test_credit_of_constructed_cases(donor: Any, host: Any, each: Any, own: Any) -> None:
    found, features = credited(*rates(donor, host))
    if each is None:
        assert sorted(found) == pytest.approx([-1, 1])
    else:
        assert found == pytest.approx(each)
    if own is not None:
        assert features.tolist() == own


@pytest.mark.parametrize(("features", "factors"), [(3, 3), (5, 3), (2, 4), (3, 5)])
def test_features_are_assigned_as_by_trying_all_ways(features: int, factors: int) -> None:
    rng = np.random.default_rng(features)
    for _ in range(5):
        donor, host = rng.random((2, features, factors))
        best = -math.inf
        for way in itertools.product(range(features), repeat=factors):
            if len(set(way)) < min(features, factors):
                continue
            total = sum(donor[k, j] + min(host[i, j] for i in range(features) if i != k) - 1 for j, k in enumerate(way))
            best = max(best, total)
        assert credited(donor, host)[0].sum() == pytest.approx(best)


def test_whom_a_value_follows_is_that_of_a_loop_over_pairs() -> None:
    rng = np.random.default_rng(0)
    named, hosts, donors = (
        rng.integers(9, size=(2, 30, 2)),
        rng.integers(9, size=(30, 2)),
        rng.integers(9, size=(30, 2)),
    )
    counts = rng.integers(3, size=30)
    found = Follows.of(named, hosts, donors, np.array([False, True])).rates(counts.astype(float))
    for k, j, (which, to) in itertools.product(range(2), range(2), enumerate((donors, hosts))):
        right = total = 0
        for i in range(30):
            gap = abs(int(hosts[i, j]) - int(donors[i, j]))
            total += int(counts[i]) * (gap > 0)
            off = abs(int(named[k, i, j]) - int(to[i, j]))
            right += int(counts[i]) * (gap > 0 and (off == 0 if j == 0 else off < gap / 2))
        assert found[which][k, j] == pytest.approx(right / total)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize(("rule", "own"), [("own", [0, 1, 2]), ("permuted", [1, 2, 0])])
def test_features_that_move_one_factor_each_have_the_best_score(rule: str, own: list[int]) -> None:
    found = of(rule)
    moved = np.eye(3)[:, own].T if rule == "own" else np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert (found.value, found.low, found.high, found.parts["ceiling"]) == (1, 1, 1, 1)
    assert found.parts["feature"] == own
    assert found.parts["donor"] == moved.tolist()
    assert found.parts["host"] == (1 - moved).tolist()
    assert found.parts["judge"] == found.parts["reconstruction"] == [1, 1, 1]
    assert found.null is not None
    assert found.null < 0.15  # a third follows and two thirds stay, whichever feature: 0 for very many pairs
    assert found.params["factors"] == ["a", "b", "c"]
    assert not found.warnings


@pytest.mark.usefixtures("exact")
def test_rates_of_a_mixed_code_are_those_of_all_pairs() -> None:
    """a is drawn from both features: exchanging either changes it, mostly to neither value."""
    found, values = of("mixed", pairs=3000), list(itertools.product(range(6), range(6)))
    expected = np.zeros((2, 2))  # donor and host rate of a for the first two features
    pairs = [(h, d) for h in values for d in values if h[0] != d[0]]
    for (a, b), (da, db) in pairs:
        for k, drawn in enumerate(((da - db + b) % 6, (a - b + db) % 6)):
            expected[:, k] += np.array([drawn == da, drawn == a]) / len(pairs)
    assert np.array(found.parts["donor"])[:2, 0] == pytest.approx(expected[0], abs=0.08)
    assert np.array(found.parts["host"])[:2, 0] == pytest.approx(expected[1], abs=0.08)
    neither = 1 - np.array(found.parts["donor"]) - np.array(found.parts["host"])
    assert np.array(found.parts["neither"]) == pytest.approx(neither)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high < 1
    assert found.parts["per_factor"][1:] == [1, 1]


@pytest.mark.usefixtures("exact")
def test_a_feature_that_holds_everything_gains_by_grouped_factors_alone() -> None:
    """Two of three factors may be a group, and the third is moved by the wrong feature: (1 + 1 - 1) / 3."""
    found = of("one")
    assert found.value == pytest.approx(1 / 3)
    assert sorted(found.parts["per_factor"]) == [-1, 1, 1]


@pytest.mark.usefixtures("exact")
def test_a_factor_that_is_not_drawn_lowers_the_ceiling() -> None:
    found = of("half")
    assert found.parts["judge"] == [1, 1, 1]
    assert found.parts["reconstruction"][2] < 0.6
    assert found.parts["per_factor"][:2] == [1, 1]
    assert found.parts["ceiling"] == pytest.approx((1 + 1 + 2 * found.parts["reconstruction"][2] - 1) / 3)
    assert found.value == pytest.approx(found.parts["ceiling"], abs=0.05)


def test_names_at_random_score_nothing_and_the_interval_is_of_the_pairs() -> None:
    rng = np.random.default_rng(0)
    hosts, donors = rng.integers(4, size=(2, 2000, 2))
    named = rng.integers(4, size=(5, 2000, 2))
    found = _score(Follows.of(named, hosts, donors, np.zeros(2, bool)), ["a", "b"], rng, 100, {})
    assert (found.value, found.low, found.high, found.null) == (0, 0, 0, 0)
    assert "few real images right: a (0.2" in found.warnings[0]
    follow = rng.random((5, 2000, 2)) < np.array([0, 0, 0.8, 0.8, 0.5])[:, None, None]
    named = np.where(follow & (np.arange(2) == np.array([0, 0, 0, 1, 1])[:, None])[:, None], donors, hosts)
    found = _score(Follows.of(named, hosts, donors, np.zeros(2, bool)), ["a", "b"], rng, 200, {})
    assert found.low is not None
    assert found.high is not None
    differ = float((hosts != donors).sum(0).mean())  # a: follows 0.8; b: follows 0.8 and stays 0.5
    spread = math.sqrt(0.8 * 0.2 + 0.8 * 0.2 + 0.5 * 0.5) / math.sqrt(differ) / 2
    assert found.value == pytest.approx((0.8 + 0.8 + 0.5 - 1) / 2, abs=4 * spread)
    assert (found.high - found.low) / (2 * 1.96) == pytest.approx(spread, rel=0.25)


def test_data_without_factors_have_no_value_and_places_are_checked() -> None:
    found = exchange(Reader(TABLE.spec, rule="own"), Rows(), np.random.default_rng(0))
    assert math.isnan(found.value)
    assert found.warnings == ("exchange needs factors that vary, and two features or more",)
    with pytest.raises(UserError, match="ordered has the place 3"):
        of("own", ordered=[3])


class Rows(Table):
    """Images alone."""

    name, shape = "rows", (1, 8, 8)

    def __len__(self) -> int:
        return len(TABLE)

    def images(self, rows: Any) -> Bytes:
        return TABLE.images(rows)


def test_a_seed_decides_everything() -> None:
    torch.manual_seed(0)
    first = of("mixed", 1)
    torch.manual_seed(5)
    assert of("mixed", 1) == first
    assert of("mixed", 2).value != first.value


@pytest.mark.usefixtures("exact")
def test_the_report_shows_the_rates() -> None:
    found = of("permuted").as_dict()
    (section,) = exchanged({"exchange:short": found, "mig": {"parts": {}}})
    maps = [part for part in section.parts if isinstance(part, HeatMap)]
    assert [part.title for part in maps] == ["follows the donor", "stays as it was", "neither"]
    np.testing.assert_array_equal(maps[0].matrix, np.array(found["parts"]["donor"], float))
    assert exchanged({"mig": {"parts": {}}}) == []


def codes_of(rule: str) -> Any:
    rows = np.random.default_rng(0).integers(len(TABLE), size=300)
    return encode_rows(Reader(TABLE.spec, rule=rule), TABLE, rows)


def test_what_the_decoder_does_not_draw_is_not_in_codes_of_its_images() -> None:
    codes = codes_of("half")
    again = reencode(Reader(TABLE.spec, rule="half"), codes)
    assert np.array_equal(again.blocks["z"].codes[:, :2], codes.blocks["z"].codes[:, :2])
    assert codes.blocks["z"].codes[:, 2].std() > 1
    assert again.blocks["z"].codes[:, 2].std() == 0
    with pytest.raises(UserError, match="by a method with a decoder: Blind has none"):
        reencode(Blind(TABLE.spec, rule="own"), codes)


def test_a_feature_drawn_alone_holds_what_it_draws() -> None:
    """(a, b) of the first feature and (b, a) of the second become (a, other b) and (b, other a)."""
    codes = codes_of("redundant")
    z, other = codes.blocks["z"].codes, np.roll(codes.blocks["z"].codes, 1, 0)
    alone = reencode(Reader(TABLE.spec, rule="redundant"), codes, alone=True).blocks["z"]
    expected = np.stack([z[:, 0], other[:, 1], z[:, 2], other[:, 3], z[:, 4]], 1)
    assert np.array_equal(alone.codes, expected)
    assert alone.units is not None
    assert alone.units.tolist() == UNITS["redundant"]


def test_scores_of_codes_beside_those_of_decoded_codes() -> None:
    """Both features tell both factors, and each draws one: SAP sees it only where features are drawn alone."""
    how: dict[str, Any] = {"method": "kumar"}
    wanted = {"sap": how, "reencoded_sap": how, "alone_sap:own": how}
    method, codes = Reader(TABLE.spec, rule="redundant"), codes_of("redundant")
    found = take_scores(codes, wanted, bootstrap=0, jobs=1, loaded=lambda: (method, TABLE))
    assert list(found) == list(wanted)
    assert found["sap"].value == pytest.approx(1 / 3, abs=0.05)  # c alone has a feature of its own
    assert (
        found["reencoded_sap"].value == found["sap"].value
    )  # the image has both factors: the encoder writes both again
    assert found["alone_sap:own"].value > 0.9
    with pytest.raises(UserError, match="alone_sap needs the model, and here has codes alone"):
        take_scores(codes, {"alone_sap": how}, where="here")


def test_a_study_may_ask_for_them() -> None:
    asked = Evaluation(metrics={"sap": {}, "reencoded_sap": {}, "alone_irs": {}, "exchange": {"pairs": 10}})
    assert list(asked.resolved(Path())["metrics"]) == ["sap", "reencoded_sap", "alone_irs", "exchange"]
    with pytest.raises(UserError, match="sap"):
        Evaluation(metrics={"alone_sap": {"step": 3}}).resolved(Path())
    with pytest.raises(UserError, match="alone_sape"):
        Evaluation(metrics=["alone_sape"]).resolved(Path())
