"""Codes whose solution is known by construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import special_ortho_group

from unbraid.codes import Block, Codes
from unbraid.errors import UserError
from unbraid.metrics.contract import Score
from unbraid.metrics.probe_table import diagonal, probe_table
from unbraid.problems.scores import take_scores
from unbraid.problems.slices import slices_of

N = 900
Array = NDArray[np.float64]


def world(seed: int = 0) -> tuple[NDArray[np.int64], Array, Array, np.random.Generator]:
    """Two tasks of three classes, and a clear code of each in four dimensions."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, 3, (N, 2))
    codes = [np.eye(4)[factors[:, k]] + 0.15 * rng.normal(size=(N, 4)) for k in range(2)]
    return factors, codes[0], codes[1], rng


def compare_slices(
    blocks: dict[str, Array], factors: NDArray[Any], names: list[str], **options: Any
) -> dict[str, Score]:
    """All scores of slices, from arrays."""
    codes = Codes({n: Block(b) for n, b in blocks.items()}, np.arange(len(factors)), factors, tuple(names))
    return take_scores(codes, {"slices": options})


def found(z0: Array, z1: Array, factors: NDArray[np.int64]) -> dict[str, Score]:
    return compare_slices({"z": np.concatenate([z0, z1], 1), "z0": z0, "z1": z1}, factors, ["digit", "scene"])


def test_slices_that_share_the_tasks_out() -> None:
    factors, digit, scene, _ = world()
    scores = found(digit, scene, factors)
    probes = scores["probes_z"].parts
    assert probes["diagonal"]
    assert probes["accuracy"]["z"]["digit"] > 0.95
    assert probes["gap"]["digit"] > 0.5
    assert scores["probes_z"].value == pytest.approx(np.mean(list(probes["gap"].values())))
    assert scores["copies_z"].parts["solution"] is None
    assert scores["copies_z"].value < 0.05


def test_codes_that_tell_nothing_are_called_random() -> None:
    factors, _, _, rng = world()
    scores = found(rng.normal(size=(N, 4)), rng.normal(size=(N, 4)), factors)
    assert scores["copies_z"].parts["solution"] == "random"
    assert "no slice of z tells any task" in scores["copies_z"].warnings[0]


def test_a_slice_that_tells_nothing_is_named() -> None:
    factors, digit, scene, rng = world()
    scores = found(np.concatenate([digit, scene], 1), rng.normal(size=(N, 8)), factors)
    assert scores["copies_z"].parts["solution"] == "random slice"
    assert "z1 tell no task" in scores["copies_z"].warnings[0]


def turned(code: Array) -> Array:
    """Each pair of coordinates turned by a right angle: orthogonal to the code, sample by sample."""
    return np.stack([-code[:, 1], code[:, 0], -code[:, 3], code[:, 2]], 1)


def test_a_rotated_copy_is_orthogonal_and_is_found_out() -> None:
    factors, digit, scene, _ = world()
    both = np.stack([digit[:, 0] - digit[:, 1], digit[:, 2], scene[:, 0] - scene[:, 1], scene[:, 2]], 1)
    assert np.abs((both * turned(both)).sum(1)).max() < 1e-12
    scores = found(both, turned(both), factors)
    assert scores["copies_z"].value > 0.99
    assert scores["copies_z"].parts["cosine"] < 1e-12
    assert scores["copies_z"].parts["solution"] == "rotated copy"
    lengths = np.exp(np.random.default_rng(1).normal(size=(2, len(both), 1)))  # no loss sees them
    assert found(lengths[0] * both, lengths[1] * turned(both), factors)["copies_z"].value > 0.99
    other = special_ortho_group.rvs(4, random_state=0)
    tilted = found(both, both @ other, factors)["copies_z"]
    assert tilted.value > 0.99
    assert tilted.parts["solution"] == "repeated task"  # not at right angles


def test_the_share_of_variance_tells_a_task_from_its_leftovers() -> None:
    """z1 holds the digit a hundred times smaller than the scene: a probe reads both, the variance is the scene's."""
    factors, _, _, rng = world()
    digit, scene = (np.eye(3)[factors[:, k]] for k in range(2))
    z1 = np.concatenate([0.01 * digit, scene], 1) + 0.001 * rng.normal(size=(N, 6))
    probes = found(np.concatenate([digit, rng.normal(size=(N, 3))], 1), z1, factors)["probes_z"].parts
    assert probes["accuracy"]["z1"]["digit"] > 0.95
    assert probes["share"]["z1"]["digit"] < 0.02
    assert probes["share"]["z1"]["scene"] > 0.98
    corners = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])  # half of the variance for each side
    square = np.repeat(corners, 50, 0)
    sides = (square > 0).astype(int)
    shares = compare_slices({"z": square, "z0": square, "z1": square}, sides, ["a", "b"])["probes_z"].parts["share"]
    assert shares["z"] == pytest.approx({"a": 0.5, "b": 0.5})


def test_unrelated_copies_in_many_dimensions_are_not_called_rotated() -> None:
    """Their cosine is small without anybody having asked for it."""
    factors, digit, scene, rng = world()
    both = np.concatenate([digit, scene], 1)
    copies = found(both @ rng.normal(size=(8, 96)), both @ rng.normal(size=(8, 96)), factors)["copies_z"]
    assert copies.value > 0.9
    assert copies.parts["cosine"] < 0.15
    assert copies.parts["solution"] == "repeated task"


def test_two_rotated_copies_among_three_slices_are_named() -> None:
    factors, digit, scene, rng = world()
    both = np.stack([digit[:, 0] - digit[:, 1], digit[:, 2], scene[:, 0] - scene[:, 1], scene[:, 2]], 1)
    parts = [both, digit + rng.normal(size=(N, 4)), turned(both)]
    blocks = {"z": np.concatenate(parts, 1), **{f"z{k}": part for k, part in enumerate(parts)}}
    copies = compare_slices(blocks, factors, ["digit", "scene"])["copies_z"]
    assert copies.parts["solution"] == "rotated copy"
    assert copies.warnings[0].startswith("z0, z2 are orthogonal")


def test_slices_that_tell_nothing_are_random_whatever_the_whole_tells() -> None:
    """The digit is the difference of two slices, each of them noise."""
    factors, digit, _, rng = world()
    mask = rng.normal(size=(N, 4)) * 6
    scores = found(mask, mask + digit, factors)
    assert scores["probes_z"].parts["accuracy"]["z"]["digit"] > 0.9
    assert scores["copies_z"].parts["solution"] == "random"


def test_a_task_in_both_slices_is_named_though_the_other_is_shared_out() -> None:
    factors, digit, scene, rng = world()
    both = np.concatenate([digit, scene], 1)
    scores = found(both, np.concatenate([scene[:, ::-1], rng.normal(size=(N, 4))], 1), factors)
    assert scores["copies_z"].parts["solution"] == "repeated task"
    assert "every slice of z tells scene" in scores["copies_z"].warnings[0]


def test_three_slices() -> None:
    factors, digit, scene, rng = world()
    parts = [digit, scene, rng.normal(size=(N, 4))]
    blocks = {"z": np.concatenate(parts, 1), **{f"z{k}": part for k, part in enumerate(parts)}}
    score = probe_table(blocks, factors, rng, pair=["z0", "z1", "z2"])
    accuracy = score.parts["accuracy"]
    assert score.parts["diagonal"]
    three = [accuracy[f"z{k}"]["factor 0"] for k in range(3)]
    assert score.parts["gap"]["factor 0"] == pytest.approx(max(three) - min(three))


def test_a_table_is_diagonal_where_two_blocks_are_best_at_something() -> None:
    assert diagonal(np.array([[0.9, 0.5], [0.2, 0.6], [0.1, 0.1]]))
    assert not diagonal(np.array([[0.9, 0.7], [0.2, 0.6], [0.1, 0.1]]))
    assert not diagonal(np.array([[0.2, 0.6], [0.9, 0.6], [0.1, 0.1]]))  # a draw decides nothing


def test_blocks_without_slices_have_no_such_scores() -> None:
    factors, digit, scene, _ = world()
    assert slices_of({"s": digit, "z": scene}) == {}
    assert slices_of({"z": digit, "z0": digit}) == {}
    assert slices_of({"r": digit, "r0": digit, "r1": digit, "z": digit}) == {"r": ["r0", "r1"]}
    twelve = [f"z{k}" for k in range(12)]
    assert slices_of(dict.fromkeys(["z", *twelve], digit)) == {"z": twelve}
    with pytest.raises(UserError, match="slices needs a code with several blocks"):
        compare_slices({"z": digit}, factors, ["digit", "scene"])


def test_the_probes_take_the_options_of_their_metric() -> None:
    factors, digit, scene, _ = world()
    blocks = {"z": np.concatenate([digit, scene], 1), "z0": digit, "z1": scene}
    scores = compare_slices(blocks, factors, ["digit", "scene"], strength=0.5, train=300, pair=["z1", "z0"])
    told = scores["probes_z"].params
    assert (told["C"], told["train"], told["pair"]) == (0.5, 300, ["z1", "z0"])


def test_what_cannot_be_probed_says_why() -> None:
    factors, digit, scene, _ = world()
    scores = compare_slices({"z": digit, "z0": digit, "z1": scene}, factors + 0.5 * digit[:, :2], ["a", "b"])
    assert np.isnan(scores["probes_z"].value)
    assert "needs tasks with classes" in scores["probes_z"].warnings[0]
