"""DCI-ES: areas of curves in closed form, and codes that need capacity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.linear_model import LogisticRegression

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column
from unbraid.metrics.dci_es import _base_loss, _inputs, _loss, dci_es, explicitness_of_curves
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


def by_hand(codes: Array, columns: list[tuple[Array, bool]], draw: Any, train: int, points: int) -> Any:
    """Losses with 0 and 3 random features: the capacity's probes, written out."""
    order = draw.permutation(train)[:points]
    test = np.arange(train, len(codes))
    spread = codes[order].std(0)
    scaled = np.where(spread > 0, (codes - codes[order].mean(0)) / np.where(spread > 0, spread, 1), 0)
    directions = draw.standard_normal((codes.shape[1], 3)) / (spread > 0).sum() ** 0.5
    phases = draw.uniform(0, 2 * np.pi, 3)
    waves = [[2**0.5 * np.cos(row @ directions[:, j] + phases[j]) for j in range(3)] for row in scaled]
    losses = []
    for y, quantity in columns:
        for x in (scaled, np.concatenate([scaled, waves], 1)):
            if quantity:
                a = x[order] - x[order].mean(0)
                weights = np.linalg.solve(a.T @ a + 1e-3 * np.eye(a.shape[1]), a.T @ (y[order] - y[order].mean()))
                left = y[test] - y[order].mean() - (x[test] - x[order].mean(0)) @ weights
                losses.append((left**2).sum() / ((y[test] - y[test].mean()) ** 2).sum())
            else:
                model = LogisticRegression(C=1e3, tol=1e-3, max_iter=200).fit(x[order], y[order])
                losses.append((model.predict(x[test]) != y[test]).mean())
    return np.reshape(losses, (len(columns), 2)), order, test


def test_losses_of_the_probes_by_hand() -> None:
    kind, quantity = rng(1).integers(0, 3, 90), rng(2).integers(0, 4, 90)
    codes = np.concatenate([np.stack([kind, quantity], 1) + noise(90, 2), np.ones((90, 1))], 1)
    found = dci_es(codes, np.stack([kind, quantity], 1), rng(5), kinds=(0,), features=(0, 3), train=60, points=40)
    losses, order, test = by_hand(codes, [(kind, False), (quantity * 1.0, True)], rng(5), 60, 40)
    assert np.array(found.parts["losses"]) == pytest.approx(losses, abs=1e-9)
    commonest = np.bincount(kind[order]).argmax()
    base = [(kind[test] != commonest).mean(), 1.0]
    assert found.parts["base_losses"] == pytest.approx(base) and found.parts["capacities"] == [3, 6]
    best = np.minimum(losses, np.array(base)[:, None])
    each = [1 - (b[0] + min(b)) / 2 * np.log(2) / (np.log(2) * top / 2) for b, top in zip(best, base, strict=True)]
    assert found.parts["per_factor"] == pytest.approx(each) and found.parts["explicitness"] == pytest.approx(
        found.value
    )
    assert found.parts["informativeness"] == pytest.approx(1 - losses.min(1).mean())
    expected = {"features": [0, 3], "points": 40, "reference": False, "train": 60, "range": (-1.0, 1.0)}
    assert {key: found.params[key] for key in expected} == expected


def test_two_values_are_a_kind_and_texts_too() -> None:
    factors = np.stack([np.arange(90) % 2, np.arange(90) % 3], 1)
    codes = factors + 0.1 * noise(90, 2)
    found = dci_es(codes, factors, rng(), features=(0, 2), train=60, reference=True)
    assert found.parts["base_losses"] == pytest.approx([0.5, 1]) and found.params["reference"] is True
    assert dci_es(codes, factors.astype(str), rng(), features=(0, 2), train=60).parts["base_losses"][1] < 0.7


def test_a_factor_that_does_not_vary_on_a_side_teaches_nothing() -> None:
    rows = np.arange(4), np.arange(4, 8)
    x = noise(8, 1)
    still, moving = np.array([1, 1, 1, 1]), np.array([0, 1, 2, 1])
    for size in (3, 0):
        in_test, in_train = (
            Column(np.concatenate(p) * (1 if size else 1.0), size) for p in ((still, moving), (moving, still))
        )
        assert _loss(x, in_test, rows) == (0.5 if size else 1.0) == _base_loss(in_test, rows)
        assert _base_loss(in_train, rows) == 0
    assert _loss(x, in_train, rows) == 0.0
    assert _base_loss(Column(np.concatenate([still, moving]) / 10, 0), rows) == 1  # whatever its unit


def test_features_of_constant_codes_have_a_width() -> None:
    assert np.isfinite(_inputs(np.zeros((4, 2)), 3, rng())).all()
    found = _inputs(np.zeros((4, 2)), 3, rng())
    assert found.shape == (4, 5) and np.ptp(found, 0).tolist() == [0] * 5
