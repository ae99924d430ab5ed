"""The probe table by loops over blocks and tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.metrics.worlds import Array, grid, noise, rng
from unbraid.errors import UserError
from unbraid.metrics.probe_table import _between, _chance, _gaps, _right, _value, diagonal, probe_table

TASKS = rng(1).permutation(grid(8, (3, 4)))  # 96 rows
ONE_HOT = [np.eye(m)[TASKS[:, k]] for k, m in enumerate((3, 4))]
BLOCKS = {
    "z0": 3 * ONE_HOT[0] + 0.8 * noise(96, 3, 2),
    "rest": noise(96, 2, 3),
    "z1": np.concatenate([1.5 * ONE_HOT[1] + 0.6 * noise(96, 4, 4), ONE_HOT[0] + noise(96, 3, 5)], 1) + 1,
}
BLOCKS["z1"][60:] *= 4  # so that it matters which rows it is standardised by


def hits(code: Array, labels: Array, train: int, **options: Any) -> list[bool]:
    model = LogisticRegression(**{"max_iter": 300, **options}).fit(code[:train], labels[:train])
    return [bool(named == label) for named, label in zip(model.predict(code[train:]), labels[train:], strict=True)]


def table_by_hand(train: int, standardise: bool, C: float) -> dict[str, Any]:
    """Test rows that each block names right, those of shuffled blocks, and the value of resampled rows."""
    draw = rng()
    codes = BLOCKS | {f"shuffled {name}": BLOCKS[name][draw.permutation(96)] for name in ("z0", "z1")}
    right = {}
    for name, code in codes.items():
        x = (code - code[:train].mean(0)) / code[:train].std(0) if standardise else code
        right[name] = [hits(x, TASKS[:, k], train, C=C) for k in range(2)]
    draws = [draw.integers(96 - train, size=96 - train) for _ in range(5)]
    values, diagonals = [], []
    for draws_of_rows in [range(96 - train), *draws]:
        gaps = [np.mean([int(right["z0"][k][i]) - int(right["z1"][k][i]) for i in draws_of_rows]) for k in range(2)]
        diagonals.append(gaps[0] * gaps[1] < 0)
        values.append((abs(gaps[0]) + abs(gaps[1])) / 2 if diagonals[-1] else 0.0)
    return {"right": right, "values": values, "diagonals": diagonals}


@pytest.mark.parametrize(("standardise", "strength"), [(True, 1.0), (False, 0.05)])
def test_a_table_by_loops(standardise: bool, strength: float) -> None:
    found = probe_table(
        BLOCKS, TASKS, rng(), names=["a", "b"], train=60, resamplings=5, standardise=standardise, strength=strength
    )
    wanted = table_by_hand(60, standardise, strength)
    accuracy = {name: {"a": np.mean(a), "b": np.mean(b)} for name, (a, b) in wanted["right"].items()}
    for name in BLOCKS:
        assert found.parts["accuracy"][name] == pytest.approx(accuracy[name], abs=1e-12)
    gap = {task: abs(accuracy["z0"][task] - accuracy["z1"][task]) for task in "ab"}
    assert found.parts["gap"] == pytest.approx(gap, abs=1e-12)
    assert found.value == pytest.approx(wanted["values"][0], abs=1e-12) and found.parts["diagonal"]
    low, high = np.quantile(wanted["values"][1:], [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12) and low < high
    assert found.parts["diagonal_share"] == np.mean(wanted["diagonals"][1:])
    mixed = [accuracy["shuffled z0"][t] - accuracy["shuffled z1"][t] for t in "ab"]
    assert found.null == pytest.approx(sum(map(abs, mixed)) / 2 if mixed[0] * mixed[1] < 0 else 0, abs=1e-12)
    assert list(found.parts["accuracy"]) == list(BLOCKS)
    common = {"a": max(np.mean(TASKS[60:, 0] == v) for v in range(3))}
    common |= {"b": max(np.mean(TASKS[60:, 1] == v) for v in range(4))}
    assert found.parts["chance"] == pytest.approx(common)
    plain = {"pair": ["z0", "z1"], "C": strength, "iterations": 300, "train": 60, "factors": [0, 1]}
    assert found.params == (plain if standardise else plain | {"standardise": False})


def test_the_share_between_classes_is_that_of_the_whole_less_that_within() -> None:
    """All variance less that of each class about its mean, of codes scaled to length one."""
    code, labels = BLOCKS["z1"] * 0.01, TASKS[:, 1]
    unit = code / np.sqrt((code**2).sum(1))[:, None]
    whole = sum(((row - unit.mean(0)) ** 2).sum() for row in unit)
    within = sum(((row - unit[labels == y].mean(0)) ** 2).sum() for row, y in zip(unit, labels, strict=True))
    assert _between(code, labels) == pytest.approx((whole - within) / whole, abs=1e-12)
    found = probe_table(BLOCKS, TASKS, rng(), train=60, resamplings=0)
    for name, shares in found.parts["share"].items():
        assert shares == pytest.approx({f"factor {k}": _between(BLOCKS[name], TASKS[:, k]) for k in range(2)})
    assert list(found.parts["share"]) == list(BLOCKS)


def test_shares_of_extreme_codes_are_numbers() -> None:
    labels = np.array([0, 1, 0, 1])
    ends = np.array([[-1.0, -2.0], [-2.0, -1.0], [-1.0, -2.0], [-2.0, -1.0]])
    for scale in (1.0, 1e200, 1e-5):
        assert _between(scale * ends, labels) == pytest.approx(1, abs=1e-9)
    assert _between(np.zeros((4, 2)), labels) == 0
    assert _between(np.array([[1.0], [0.0], [1.0], [0.0]]), labels) == pytest.approx(1)
    assert _between(np.ones((4, 2)), labels) == pytest.approx(0)


def test_a_table_is_diagonal_if_two_blocks_each_win_a_task() -> None:
    for accuracy, wanted in (
        ([[0.9, 0.5], [0.8, 0.6]], True),
        ([[0.9, 0.6], [0.8, 0.6]], False),  # a tie is no win
        ([[0.9, 0.7], [0.8, 0.6]], False),
        ([[0.1, 0.1], [0.9, 0.2], [0.3, 0.8]], True),
        ([[0.9, 0.5, 0.5], [0.9, 0.4, 0.4], [0.1, 0.3, 0.6]], True),
        ([[0.9, 0.5, 0.5], [0.9, 0.4, 0.4], [0.1, 0.3, 0.5]], False),
    ):
        assert diagonal(np.array(accuracy)) is wanted
    three = np.array([[0.9, 0.5], [0.8, 0.6], [0.4, 0.3]])
    assert _value(three) == pytest.approx((0.5 + 0.3) / 2) and _value(three[:, :1]) == 0


def test_resamples_count_by_their_own_tables() -> None:
    """Of three resamples two are diagonal, with gaps of a half on average; the quantiles are between 0 and those."""
    compared = np.array([[[1, 1, 0, 1], [0, 0, 0, 1]], [[1, 0, 0, 1], [1, 0, 1, 1]]], float)
    drawn = [np.array([[0.8, 0.2], [0.4, 0.8]]), np.array([[0.8, 0.8], [0.4, 0.2]]), np.array([[0.9, 0.2], [0.4, 0.7]])]
    parts, low, high = _gaps(compared, drawn, ["a", "b"])
    assert parts == {"gap": {"a": 0.25, "b": 0.5}, "diagonal": True, "diagonal_share": pytest.approx(2 / 3)}
    assert (low, high) == pytest.approx((0.025, 0.5))
    parts, low, high = _gaps(compared, [], ["a", "b"])
    assert (parts["diagonal_share"], low, high) == (None, None, None)


def test_a_task_of_one_value_while_training_is_named_by_it() -> None:
    labels, rows = np.array([1, 1, 1, 0, 1, 0]), (np.arange(3), np.arange(3, 6))
    assert _right(noise(6, 2), labels, rows=rows, strength=1.0, iterations=9).tolist() == [0, 1, 0]
    assert _chance(np.array([0, 2, 2, 1])) == 0.5


def test_the_solver_stops_when_it_is_told_to() -> None:
    rows = np.arange(60), np.arange(60, 96)
    with pytest.warns(match="failed to converge"):
        wanted = hits(BLOCKS["z0"], TASKS[:, 0], 60, max_iter=1)
    with pytest.warns(match="failed to converge"):
        found = _right(BLOCKS["z0"], TASKS[:, 0], rows=rows, strength=1.0, iterations=1)
    assert found.tolist() == wanted
    once = probe_table(BLOCKS, TASKS, rng(), train=60, resamplings=0, iterations=1)  # and nobody is warned
    assert once.params["iterations"] == 1 and once.low is None


def test_tasks_that_do_not_vary_are_left_out_with_their_names() -> None:
    wider = np.insert(TASKS, 1, 5, axis=1)
    found = probe_table(BLOCKS, wider, rng(), names=["a", "still", "b"], resamplings=0)
    assert list(found.parts["gap"]) == ["a", "b"] and found.params["factors"] == [0, 2]
    assert found.params["train"] == 64
    three = probe_table(BLOCKS, TASKS, rng(), pair=("z1", "rest", "z0"), resamplings=0, train=60)
    for k, task in enumerate(("factor 0", "factor 1")):
        each = [three.parts["accuracy"][name][task] for name in BLOCKS]
        assert three.parts["gap"][task] == pytest.approx(max(each) - min(each)), k


def test_what_cannot_be_compared_is_refused() -> None:
    for pair in (("z0",), ("z0", "z0"), ("z0", "q")):
        with pytest.raises(UserError, match="pair must name two or more of the blocks z0, rest, z1, not z0"):
            probe_table(BLOCKS, TASKS, rng(), pair=pair)
    with pytest.raises(UserError, match=r"^block rest has 95 rows and block z1 has 96$"):
        probe_table(BLOCKS | {"rest": noise(95, 2)}, TASKS, rng(), pair=("z1", "z0"))
    with pytest.raises(UserError, match="block rest contain 192 values"):
        probe_table(BLOCKS | {"rest": np.full((96, 2), np.nan)}, TASKS, rng())
    with pytest.raises(UserError, match="leave out continuous factors"):
        probe_table(BLOCKS, np.stack([TASKS[:, 0], np.arange(96) / 7], 1), rng())
