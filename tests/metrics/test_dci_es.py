"""DCI-ES: areas of curves in closed form, and codes that need capacity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from tests.metrics.worlds import grid, noise, perfect, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.dci_es import dci_es, explicitness_of_curves
from unbraid.metrics.suite import score

FACTORS = grid(20, (4, 3, 5))
PERFECT = perfect(FACTORS)


def explicitness(x: list[float], losses: list[float], base: float, *, above_lowest: bool = False) -> float:
    found = explicitness_of_curves(np.array(x), np.array([losses]), np.array([base]), above_lowest=above_lowest)
    return float(found[0])


def test_curves_whose_area_is_known() -> None:
    x = [1.0, 2.0, 4.0]
    assert explicitness(x, [0, 0, 0], 1) == 1  # nothing to be gained by capacity
    assert explicitness(x, [0.6, 0.4, 0.0], 0.6) == pytest.approx(0)  # a straight line from the base to 0
    assert explicitness(x, [0.6, 0.6, 0.6], 0.6) == -1  # nothing is learnt
    assert explicitness(x, [0.6, 0.0, 0.0], 0.6) == pytest.approx(1 - 0.3 / 0.9)  # a triangle over the first third
    assert explicitness(x, [0.2, 0.2, 0.2], 0.8) == pytest.approx(1 - 0.6 / 1.2)
    assert explicitness(x, [0.2, 0.2, 0.2], 0.8, above_lowest=True) == 1
    assert explicitness(x, [0.6, 0.4, 0.2], 0.8, above_lowest=True) == pytest.approx(1 - (0.3 + 0.2) / 1.2)


def test_a_larger_probe_does_no_harm_and_none_is_worse_than_a_constant() -> None:
    assert explicitness([0, 1, 2], [0.3, 0.9, 0.1], 0.5) == explicitness([0, 1, 2], [0.3, 0.3, 0.1], 0.5)
    assert explicitness([0, 1, 2], [7.0, 0.9, 0.6], 0.5) == -1
    assert explicitness([0, 1], [0.0, 0.0], 0.0) == 0


def test_the_value_is_the_area_of_the_curves_that_it_gives() -> None:
    found = dci_es((PERFECT @ rotation(3)) ** 3, FACTORS, rng(), features=(0, 8, 64))
    losses, parts = np.minimum.accumulate(np.minimum(found.parts["losses"], 1), 1), found.parts
    assert parts["capacities"] == [3, 11, 67] and parts["base_losses"] == [1, 1, 1]
    areas = trapezoid(losses, np.log([3, 11, 67]), axis=1)
    assert parts["per_factor"] == pytest.approx(1 - 2 * areas / np.log(67 / 3), abs=1e-12)
    assert found.value == pytest.approx(np.mean(parts["per_factor"])) and 0 < found.value < 0.99
    assert parts["informativeness"] == pytest.approx(1 - np.min(parts["losses"], 1).mean())


def test_the_first_loss_is_that_of_least_squares() -> None:
    codes = PERFECT + 0.5 * noise(len(FACTORS), 3)
    order = rng(1).permutation(len(codes))
    codes, labels = codes[order], FACTORS[order]
    found = dci_es(codes, labels, rng(), train=800, features=(0, 4))
    design = np.concatenate([codes, np.ones((len(codes), 1))], 1)
    for k in range(3):
        weights = np.linalg.lstsq(design[:800], labels[:800, k], rcond=None)[0]
        left = ((labels[800:, k] - design[800:] @ weights) ** 2).mean() / labels[800:, k].var()
        assert found.parts["losses"][k][0] == pytest.approx(left, abs=1e-5)


def test_what_is_curved_is_less_explicit_and_a_rotation_is_not() -> None:
    turned = PERFECT @ rotation(3)
    straight, curved, noisy = (dci_es(c, FACTORS, rng()).value for c in (turned, np.sin(4 * turned), noise(1200, 3)))
    assert straight == pytest.approx(1, abs=1e-6)
    assert curved < 0.5
    assert noisy == pytest.approx(-1, abs=0.05)
    assert dci_es(noise(1200, 3), FACTORS, rng(), reference=True).value > 0.9  # the authors' code


def test_size_is_factors_over_latents() -> None:
    assert dci_es(PERFECT, FACTORS, rng()).parts["size"] == 1
    assert dci_es(np.concatenate([PERFECT, noise(1200, 3)], 1), FACTORS, rng()).parts["size"] == 0.5
    assert dci_es(PERFECT[:, :1], FACTORS, rng()).parts["size"] == 3


def test_kinds_are_classified_and_quantities_regressed() -> None:
    """The kind 0 1 2 is told by |latent| at random signs: no line through it, but classes of random features."""
    sign = rng(4).choice([-1.0, 1.0], len(FACTORS))
    codes = np.stack([PERFECT[:, 0], (1 + FACTORS[:, 1]) * sign], 1)
    found = dci_es(codes, FACTORS[:, :2], rng(), kinds=(1,))
    losses, base = np.array(found.parts["losses"]), found.parts["base_losses"]
    assert base[0] == 1 and base[1] == pytest.approx(2 / 3, abs=0.06)
    assert losses[0, 0] == pytest.approx(0, abs=1e-6) and losses[1, 0] > 0.2 and losses[1, -1] == 0
    with pytest.raises(UserError, match="kinds names factor 2, and there are the factors 0 to 1"):
        dci_es(codes, FACTORS[:, :2], rng(), kinds=(2,))


@pytest.mark.parametrize("features", [(0,), (4, 2), (-1, 3), (5, 5)])
def test_features_must_ascend(features: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="two or more whole numbers from 0 in ascending order"):
        dci_es(PERFECT, FACTORS, rng(), features=features)


def test_interval_and_chance_level() -> None:
    found = score(PERFECT + noise(1200, 3), FACTORS, metrics=["dci_es"])["dci_es"]
    assert found.null == pytest.approx(-1, abs=0.05) and found.params["range"] == (-1.0, 1.0)
    assert found.low is not None and found.high is not None and found.low < found.value < found.high
