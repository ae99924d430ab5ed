from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.codes import Block, Codes
from unbraid.metrics.contract import Score
from unbraid.problems.scores import take_scores

N = 600


Blocks = dict[str, NDArray[np.float64]]


def compare(
    target: Blocks,
    background: Blocks,
    labels: NDArray[np.int64] | None,
    spread: tuple[Blocks, Blocks],
    names: tuple[str, ...] = ("two_sets",),
    **options: Any,
) -> dict[str, Score]:
    """Scores of two sets, all unless some are named, from arrays."""
    codes = [
        Codes({n: Block(b, scale=scale.get(n)) for n, b in part.items()}, np.arange(N), np.zeros((N, 0)), ())
        for part, scale in zip((target, background), spread, strict=True)
    ]
    known: dict[str, Any] = (
        {} if labels is None else {"factors": labels[:, None], "factor_names": ("class",), "label": "class"}
    )
    return take_scores(replace(codes[0], background=codes[1], **known), dict.fromkeys(names, options))


def world(leak: float = 0.0, shift: float = 0.0) -> tuple[Blocks, Blocks, NDArray[np.int64]]:
    """Salient codes are three clouds, one for each class, and 0 on backgrounds; z is noise, or leaks the class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, N)
    s = 8 * np.eye(3)[labels] + rng.normal(size=(N, 3))
    z = rng.normal(size=(N, 4)) + shift
    z[:, :3] += leak * s
    background = {"s": np.zeros((N, 3)), "z": rng.normal(size=(N, 4))}
    return {"s": s, "z": z}, background, labels


def scores(leak: float = 0.0, shift: float = 0.0, names: tuple[str, ...] = ("two_sets",)) -> dict[str, Score]:
    target, background, labels = world(leak, shift)
    sigma = {"s": np.full((N, 3), 0.1), "z": np.full((N, 4), 0.01)}
    return compare(target, background, labels, (sigma, sigma), names)


def test_a_perfect_split_scores_perfectly() -> None:
    found = scores()
    assert found["clustering_s"].value > 0.98
    assert found["class_from_s"].value > 0.98
    assert found["class_from_s"].parts["per_class"] == pytest.approx([1, 1, 1], abs=0.03)
    assert found["class_from_z"].value == pytest.approx(1 / 3, abs=0.1)
    assert found["set_from_z"].value == pytest.approx(0.5, abs=0.1)
    assert found["z_from_s"].value < 0.02
    assert found["salience"].value == pytest.approx(3 * 0.1**2)
    assert found["w2_z"].parts["excess"] == pytest.approx(0, abs=0.05)


def test_salience_is_the_squared_mean_plus_the_variance_of_backgrounds_and_of_targets_apart() -> None:
    z = np.random.default_rng(0).normal(size=(N, 4))
    target, background = {"s": np.full((N, 3), 5.0), "z": z}, {"s": np.full((N, 3), -2.0), "z": z}
    background["s"][: N // 2] = 0
    spread = {"s": np.full((N, 3), 0.3)}, {"s": np.full((N, 3), 0.1)}
    found = compare(target, background, None, spread)["salience"]
    assert found.value == pytest.approx(3 * (4 / 2 + 0.01))
    assert found.parts["target"] == pytest.approx(3 * (25 + 0.09))
    margin = 1.96 * 6 / math.sqrt(N)  # half of the rows hold 0.03, half 12.03
    assert (found.low, found.high) == pytest.approx((found.value - margin, found.value + margin))
    assert compare(target, background, None, ({}, {}))["salience"].value == pytest.approx(3 * 4 / 2)


def test_a_leak_is_seen() -> None:
    found = scores(1.0, 0.0, ("class_from_z", "z_from_s", "set_from_z"))
    assert found["class_from_z"].value > 0.9
    assert found["z_from_s"].value > 0.8
    assert found["set_from_z"].value > 0.9


def test_common_codes_that_differ_between_the_sets_are_seen() -> None:
    same, moved = (scores(0.0, shift, ("w2_z", "set_from_z", "class_from_z")) for shift in (0.0, 1.0))
    assert moved["w2_z"].value > same["w2_z"].value + 2
    assert moved["set_from_z"].value > 0.8
    assert moved["class_from_z"].value == pytest.approx(same["class_from_z"].value, abs=0.05)


def test_without_classes_or_a_salient_block_the_other_scores_remain() -> None:
    target, background, _ = world()
    assert set(compare(target, background, None, ({}, {}))) == {"set_from_z", "w2_z", "z_from_s", "salience"}
    only = compare({"z": target["z"]}, {"z": background["z"]}, None, ({}, {}))
    assert set(only) == {"set_from_z", "w2_z"}


def test_what_cannot_be_scored_says_why() -> None:
    target, background, labels = world()
    few = {name: block[:6] for name, block in target.items()}
    found = compare(few, background, labels[:6], ({}, {}))
    assert math.isnan(found["clustering_s"].value)
    assert "too few to cluster" in found["clustering_s"].warnings[0]


def test_the_distance_is_between_draws_of_the_codes() -> None:
    """Means of variance 1 with a standard deviation of 2 give draws of variance 5 in each of four latents."""
    target, background, _ = world()
    wide = {"z": np.full((N, 4), 2.0)}
    found = compare({"z": target["z"]}, {"z": background["z"]}, None, (wide, wide))
    assert found["w2_z"].parts["trace"] == pytest.approx(20, rel=0.1)
    small = compare({"z": target["z"]}, {"z": background["z"]}, None, (wide, wide), ("w2_z",), batch=16, batches=3)
    assert (small["w2_z"].params["batch"], small["w2_z"].params["batches"]) == (16, 3)


def test_probes_of_draws_reach_the_best_accuracy_that_draws_allow() -> None:
    """Means of +-1 in z: all classes are right from means, Phi(1 / sigma) from draws with standard deviation sigma."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, N)
    block, empty = 2.0 * labels[:, None] - 1 + 1e-3 * rng.normal(size=(N, 1)), np.zeros((N, 1))
    names = ("class_from_z", "class_from_s_sampled", "class_from_z_sampled")
    for sigma in (0.5, 1.0, 2.0):
        wide = {"z": np.full((N, 1), sigma), "s": np.full((N, 1), 1e-3)}
        found = compare({"s": block, "z": block}, {"s": empty, "z": empty}, labels, (wide, wide), names)
        assert found["class_from_z"].value == found["class_from_s_sampled"].value == 1
        best = 0.5 * (1 + math.erf(1 / sigma / math.sqrt(2)))
        assert found["class_from_z_sampled"].value == pytest.approx(best, abs=0.07)  # 200 rows test


def test_a_collapsed_latent_holds_the_class_for_means_and_not_for_draws() -> None:
    """A mean that moves by a thousandth, in a latent of standard deviation 1, or of a millionth beside wide ones."""
    rng = np.random.default_rng(0)
    labels, background = rng.integers(0, 2, N), {"z": np.zeros((N, 4))}
    z = np.concatenate([1e-3 * labels[:, None], rng.normal(size=(N, 3))], 1)
    for narrow in (1.0, 1e-6):
        scale = {"z": np.concatenate([np.full((N, 1), narrow), np.full((N, 3), 0.1)], 1)}
        found = compare({"z": z}, background, labels, (scale, scale), ("class_from_z", "class_from_z_sampled"))
        assert found["class_from_z"].value == 1
        assert found["class_from_z_sampled"].value == pytest.approx(0.5, abs=0.1)
    found = compare({"z": z}, background, labels, ({}, {}))
    assert "class_from_z" in found and "class_from_z_sampled" not in found


def test_scores_of_draws_do_not_change_those_of_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.N", 120)  # t-SNE of more takes long
    target, background, labels = world(leak=0.3)
    sigma = {"s": np.full((N, 3), 0.1), "z": np.full((N, 4), 0.01)}
    with_draws, without = (compare(target, background, labels, (s, {})) for s in (sigma, {}))
    for name in ("class_from_s", "class_from_z", "clustering_s", "z_from_s"):
        assert with_draws[name] == without[name]
