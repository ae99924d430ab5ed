"""Scores of codes whose scores are known, and what must not change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.metrics import suite
from unbraid.metrics.contract import Score
from unbraid.metrics.dci import dci
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.info_mec import info_mec
from unbraid.metrics.irs import irs
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.mcc import mcc
from unbraid.metrics.mig import mig
from unbraid.metrics.mig_sup import mig_sup
from unbraid.metrics.modularity import modularity
from unbraid.metrics.r2 import r2
from unbraid.metrics.sap import sap

FACTORS = grid()
PERFECT = perfect(FACTORS)
QUICK: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"points": 1000, "test_points": 1000},
    "factor_vae_score": {"votes": 1000, "test_votes": 1000},
    "z_max_variance": {"votes": 1000, "test_votes": 1000},
    "dci": {"predictor": "trees", "trees": 5},
    "dci_es": {"features": (0, 16)},
    "neuron_knockout": {"trees": 5},
    "label_efficiency": {"labels": (100, 800)},
    "info_mec": {"estimator": "equal"},
}
AT_BEST_ONE = ["beta_vae_score", "factor_vae_score", "mig", "dci", "modularity", "explicitness", "irs", "mcc", "r2"]
AT_BEST_ONE += ["sap", "info_mec", "mig_sup", "dcimig", "jemmig", "z_max_variance", "dci_es"]
AT_BEST_ONE += ["single_neuron_classification", "neuron_knockout", "label_efficiency"]


def value(name: str, codes: Array, factors: Array = FACTORS) -> float:
    fn = suite.metric_function(name)
    return fn(codes, factors, rng(), **QUICK.get(name, {})).value


@pytest.mark.parametrize("name", AT_BEST_ONE)
def test_a_perfect_code_scores_one(name: str) -> None:
    assert value(name, PERFECT) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", AT_BEST_ONE)
def test_order_and_sign_of_latents_do_not_matter(name: str) -> None:
    assert value(name, -PERFECT[:, [2, 0, 1]]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", AT_BEST_ONE)
def test_scale_of_a_latent_does_not_matter(name: str) -> None:
    assert value(name, PERFECT * [1000, 1, 0.001]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", [n for n in AT_BEST_ONE if n not in ("modularity", "mig_sup")])
def test_dead_latents_beside_a_perfect_code_change_nothing(name: str) -> None:
    dead = np.full((len(FACTORS), 2), 3.7)
    assert value(name, np.concatenate([dead, PERFECT], 1)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", ["mig", "sap", "neuron_knockout"])
def test_a_duplicated_code_has_no_gap(name: str) -> None:
    assert value(name, np.repeat(PERFECT, 2, 1)) == pytest.approx(0, abs=1e-9)


NOT_HARMED_BY_COPIES = ["modularity", "irs", "explicitness", "factor_vae_score", "beta_vae_score", "mcc", "mig_sup"]
NOT_HARMED_BY_COPIES += ["dcimig", "z_max_variance", "dci_es", "single_neuron_classification", "label_efficiency"]


@pytest.mark.parametrize("name", NOT_HARMED_BY_COPIES)
def test_a_duplicated_code_loses_no_modularity(name: str) -> None:
    assert value(name, np.repeat(PERFECT, 2, 1)) == pytest.approx(1, abs=1e-6)


def test_a_duplicated_code_is_disentangled_and_not_complete() -> None:
    found = dci(np.repeat(PERFECT, 2, 1), FACTORS, rng())
    assert found.value == pytest.approx(1, abs=1e-6)
    even = 1 - np.log(2) / np.log(6)  # each factor lies evenly in two of six latents
    assert found.parts["completeness"] == pytest.approx(even, abs=1e-6)


@pytest.mark.parametrize("name", AT_BEST_ONE)
def test_a_rotated_code_scores_less(name: str) -> None:
    limits = {
        "beta_vae_score": 1.01,
        "factor_vae_score": 1.01,
        "explicitness": 1.01,
        "z_max_variance": 1.01,
        "dci_es": 1.01,
        "label_efficiency": 0.98,  # 60 combinations are soon learnt by heart
        "irs": 0.9,
        "mcc": 0.95,
        "r2": 0.95,
    }
    assert value(name, PERFECT @ rotation(3)) < limits.get(name, 0.8)


NO_SCORE = [("mig", 0.01), ("sap", 0.01), ("dci", 0.1), ("mcc", 0.1), ("r2", 0.01)]
NO_SCORE += [("mig_sup", 0.01), ("dcimig", 0.01), ("single_neuron_classification", 0.02), ("neuron_knockout", 0.02)]
NO_SCORE += [("label_efficiency", 0.05)]


@pytest.mark.parametrize(
    "name,most", [("mig", 0.01), ("sap", 0.01), ("dci", 0.1), ("mcc", 0.1), ("r2", 0.01), *NO_SCORE]
)
def test_noise_scores_nothing(name: str, most: float) -> None:
    assert 0 <= value(name, noise(len(FACTORS), 3)) < most


@pytest.mark.parametrize("name", ["beta_vae_score", "factor_vae_score", "z_max_variance"])
def test_noise_votes_at_chance(name: str) -> None:
    assert value(name, noise(len(FACTORS), 3)) == pytest.approx(1 / 3, abs=0.08)


def test_noise_latents_drag_modularity_but_not_that_of_active_latents() -> None:
    mixed = np.concatenate([PERFECT, noise(len(FACTORS), 5)], 1)
    found = modularity(mixed, FACTORS, rng())
    assert found.parts["active"] == pytest.approx(1, abs=1e-6)
    assert found.parts["active_latents"] == [0, 1, 2]
    assert found.value == found.parts["all"] < 0.9
    assert any("5 of 8 latents" in text for text in found.warnings)
    assert info_mec(mixed, FACTORS, rng()).parts["active_latents"] == [0, 1, 2]


@pytest.mark.parametrize("n", [60, 600, 3000])
def test_modularity_of_dead_latents_does_not_depend_on_rounding(n: int) -> None:
    codes = np.concatenate([PERFECT[:n], np.full((n, 5), 0.1)], 1)
    found = modularity(codes, FACTORS[:n], rng())
    assert found.parts["per_latent"][3:] == [0.0] * 5
    assert found.parts["active"] == pytest.approx(1, abs=1e-6)


def test_a_nearly_constant_latent_is_dead() -> None:
    jitter = 5 + 1e-9 * noise(len(FACTORS), 1)
    found = factor_vae_score(np.concatenate([jitter, PERFECT], 1), FACTORS, rng(), votes=500, test_votes=500)
    assert found.value == 1 and found.parts["active_latents"] == [1, 2, 3]


def test_half_a_code_leaves_the_other_factors_out() -> None:
    only = PERFECT[:, :1]  # knows factor 0 alone
    found = mig(only, FACTORS, rng())
    assert found.parts["per_factor"] == pytest.approx([1, 0, 0], abs=1e-9)
    assert any("only one latent" in text for text in found.warnings)
    assert r2(only, FACTORS, rng()).value == pytest.approx(1 / 3, abs=0.01)
    matched = mcc(only, FACTORS, rng())
    assert matched.value == pytest.approx(1 / 3, abs=1e-9) and matched.parts["matched_latent"] == [0, None, None]


def test_two_factors_mixed_evenly_in_two_latents() -> None:
    factors = grid(100, (8, 8))
    x = perfect(factors)
    mixed = np.stack([x[:, 0] + x[:, 1], x[:, 0] - x[:, 1]], 1)
    assert mcc(mixed, factors, rng()).value == pytest.approx(0.5**0.5, abs=1e-6)
    assert sap(mixed, factors, rng(), method="correlation").value == pytest.approx(0, abs=1e-9)
    found = r2(mixed, factors, rng())
    assert found.value == pytest.approx(0.5, abs=0.03) and found.parts["all_latents"] == pytest.approx(1, abs=1e-9)
    assert mig(mixed, factors, rng()).value == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    "fn", [mig, mig_sup, dcimig, jemmig, modularity, irs, mcc, lambda *a: sap(*a, method="correlation")]
)
def test_order_of_samples_and_latents_changes_nothing(fn: Callable[..., Score]) -> None:
    codes = np.concatenate([PERFECT @ rotation(3), noise(len(FACTORS), 2)], 1)
    rows, columns = rng(1).permutation(len(codes)), [4, 2, 0, 1, 3]
    assert fn(codes[rows][:, columns], FACTORS[rows], rng()).value == pytest.approx(
        fn(codes, FACTORS, rng()).value, rel=1e-9
    )


@pytest.mark.parametrize("name", ["factor_vae_score", "beta_vae_score", "dci", "explicitness", "info_mec"])
def test_order_of_latents_changes_a_fitted_score_within_noise(name: str) -> None:
    codes = PERFECT @ rotation(3)
    assert value(name, codes[:, [1, 2, 0]]) == pytest.approx(value(name, codes), abs=0.06)


def test_explicitness_does_not_see_a_rotation() -> None:
    factors = grid(50, (3, 2, 2))
    plain, turned = (explicitness(c, factors, rng()).value for c in (perfect(factors), perfect(factors) @ rotation(3)))
    assert plain == pytest.approx(1, abs=1e-6) and turned == pytest.approx(1, abs=1e-4)


def test_nearest_neighbours_find_a_perfect_code_nearly_perfect() -> None:
    assert info_mec(PERFECT, FACTORS, rng()).value == pytest.approx(1, abs=0.01)
    assert mig(PERFECT, FACTORS, rng(), estimator="knn").value == pytest.approx(1, abs=0.02)


def test_irs_is_negative_where_a_held_factor_pushes_the_code_aside() -> None:
    """Nine tenths of a group lie at one end, so that its mean is 0.8 from the middle and its far end 1.8 from that."""
    codes = np.concatenate([np.repeat([-1.0, 1.0], [90, 10]), np.repeat([-1.0, 1.0], [10, 90])])[:, None]
    factors = np.repeat([0, 1], 100)[:, None]
    assert irs(codes, factors, np.random.default_rng(0), quantile=1.0).value == pytest.approx(1 - 1.8)
    found = suite.score(codes, factors, metrics=["irs"])["irs"]
    assert found.low is not None and found.high is not None
    assert found.low <= found.value <= found.high < 0
