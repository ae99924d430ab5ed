"""InfoMEC by parts: concentrations by hand, chance, and the share that linear models explain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.metrics.worlds import Array, grid, noise, perfect, rng
from unbraid.metrics.arrays import Column, check_arrays
from unbraid.metrics.contract import Score
from unbraid.metrics.info_mec import (
    _beyond_chance,
    _concentration,
    _explained,
    _explained_in_training,
    _score,
    _wide_range,
    _with_chance,
    info_mec,
)

FACTORS = grid(10, (4, 3))
ARRAYS = check_arrays(noise(120, 3), FACTORS)
MATRIX = np.array([[0.6, 0.2], [0.1, 0.1], [0.0, 0.5]])


def test_concentration_is_0_for_an_even_row_and_1_for_a_single_entry() -> None:
    rows = np.array([[0.2, 0.2, 0.2], [0, 0, 0.3], [0, 0, 0], [0.1, 0.1, 0.2], [-0.1, 0.3, 0]])
    assert _concentration(rows) == pytest.approx([0, 1, 0, (0.5 - 1 / 3) / (2 / 3), 1])


def test_modularity_compactness_and_explicitness_of_a_given_matrix() -> None:
    """Shares 3/4, 1/2 and 1 of two, so 1/2, 0 and 1; columns 6/7 and 5/8 of three."""
    found = _score(MATRIX, np.array([True, True, True]), [0.25, 0.75], ARRAYS, train=9)
    assert found.value == found.parts["info_m"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert found.parts["info_c"] == pytest.approx(((6 / 7 - 1 / 3) + (5 / 8 - 1 / 3)) / (2 / 3) / 2)
    assert found.parts["info_e"] == 0.5 and found.parts["info_e_per_factor"] == [0.25, 0.75]
    assert found.parts["active"] == 3 and found.parts["active_latents"] == [0, 1, 2]
    assert found.parts["matrix"] == MATRIX.tolist() and found.params["train"] == 9 and found.warnings == ()


def test_latents_that_are_not_active_are_left_out_and_told() -> None:
    found = _score(MATRIX, np.array([True, False, True]), [0.25, 0.75], ARRAYS)
    assert found.value == pytest.approx((0.5 + 1) / 2) and found.parts["active_latents"] == [0, 2]
    assert found.parts["info_c"] == pytest.approx((1 + (5 / 7 - 0.5) / 0.5) / 2)
    assert found.warnings == ("1 of 3 latents are not active and are left out",)
    one = _score(MATRIX, np.array([True, False, False]), [0.25, 0.75], ARRAYS)
    assert one.value == pytest.approx(0.5) and one.parts["info_c"] is None
    assert one.warnings == ("2 of 3 latents are not active and are left out",)
    none = _score(MATRIX, np.array([False, False, False]), [0.25, 0.75], ARRAYS)
    assert math.isnan(none.value) and none.parts["info_m"] is None and none.parts["active"] == 0
    assert none.warnings == ("no latent is informative enough about any factor to be active",)
    single = _score(MATRIX[:, :1], np.array([True, True, True]), [0.25], ARRAYS)
    assert math.isnan(single.value) and single.warnings == ("InfoM needs at least two factors that vary",)
    assert single.parts["info_c"] == pytest.approx((6 / 7 - 1 / 3) / (2 / 3))


def test_chance_is_the_mean_over_permutations() -> None:
    shuffled = np.array([[[0.3, 0.1], [0.1, 0.1]], [[0.2, 0.0], [0.0, 0.1]], [[0.1, 0.1], [0.1, 0.1]]])
    found = _with_chance(Score(0.5, params={"a": 1}), shuffled)
    each = [0.25, 1, 0]
    mean = sum(each) / 3
    spread = (sum((x - mean) ** 2 for x in each) / 2) ** 0.5
    assert found.null == pytest.approx(mean) and found.value == 0.5
    assert found.params == {"a": 1, "shuffles": 3, "chance_spread": pytest.approx(spread)}
    two = _with_chance(Score(0.5), shuffled[:2]).params["chance_spread"]
    assert two == pytest.approx(0.75 / 2**0.5)
    assert _with_chance(Score(0.5), shuffled[:1]).params == {"shuffles": 1, "chance_spread": None}
    for score, chances in ((Score(0.5), shuffled[:0]), (Score(float("nan")), shuffled)):
        assert _with_chance(score, chances).null is None


def test_a_latent_is_active_if_it_exceeds_all_permutations_by_half() -> None:
    """In units of each factor's root mean square over permutations, which differ tenfold."""
    shuffled = np.array([[[1.0, -10.0], [1.0, 10.0]], [[-1.0, 10.0], [2.0, 10.0]]]) / 100
    first, second = (7 / 4) ** 0.5 / 100, 0.1
    most = max(2 / 100 / first, 0.1 / second)
    edge = 1.5 * most
    for share, active in ((1.001, True), (0.999, False)):
        matrix = np.array([[share * edge * first, 0.0], [0.0, share * edge * second]])
        assert _beyond_chance(matrix, shuffled).tolist() == [active, active]
        assert _beyond_chance(matrix * [[1], [0.5]], shuffled).tolist() == [active, False]
    assert _beyond_chance(np.zeros((2, 2)), shuffled[:0]).tolist() == [True, True]
    assert _beyond_chance(np.array([[0.1, 0]]), np.zeros((2, 1, 2))).tolist() == [True]  # and no division by 0


def test_units_are_wide_by_a_twentieth_of_the_widest() -> None:
    codes = np.array([[0, 0, 0, 0, 0], [20, 1, 1.01, 0.5, 3.0]])
    arrays = check_arrays(codes, None, units=[0, 1, 2, 3, 3])
    assert _wide_range(arrays).tolist() == [True, False, True, True]


KIND = rng(1).integers(0, 3, 80)
CODES = np.stack([KIND, KIND == 1], 1) + noise(80, 2)
ROWS = np.arange(50), np.arange(50, 80)
SCALED = (CODES - CODES[:50].mean(0)) / CODES[:50].std(0)


def test_the_share_of_log_loss_explained_in_held_out_rows() -> None:
    y = KIND.copy()
    y[[55, 60]] = 7  # never seen while training: left out
    p = LogisticRegression(C=1e4, max_iter=300).fit(SCALED[:50], y[:50]).predict_proba(SCALED)
    prior = [(y[:50] == v).mean() for v in range(3)]
    known = [row for row in range(50, 80) if row not in (55, 60)]
    loss, base = (sum(math.log(q) for q in of) for of in ([p[r, y[r]] for r in known], [prior[y[r]] for r in known]))
    assert _explained(CODES, Column(y, 8), ROWS) == pytest.approx(1 - loss / base, abs=1e-9)
    assert _explained(noise(80, 9, 5), Column(rng(3).integers(0, 2, 80), 2), ROWS) == 0  # and not below
    late = np.where(np.arange(80) < 50, 0, KIND)
    assert _explained(CODES, Column(late, 3), ROWS) == 0 == _explained_in_training(CODES, Column(late, 3), ROWS)
    assert _explained(CODES, Column(np.where(np.arange(80) < 50, KIND, 3), 4), ROWS) == 0


def test_two_values_are_explained_too() -> None:
    pair = (KIND == 1) * 1
    assert (
        _explained(CODES, Column(pair, 2), ROWS) > 0.01 and _explained_in_training(CODES, Column(pair, 2), ROWS) > 0.1
    )


def test_a_certain_mistake_costs_no_more_than_fifteen_digits() -> None:
    y = np.arange(80) % 2
    y[79] = 0
    codes = 2.0 * (np.arange(80) % 2)[:, None] - 1
    codes[79] = 1e6
    base = np.log(0.5)
    losses = [np.log(p) for p in _probabilities(codes, y)]
    assert _explained(codes, Column(y, 2), ROWS) == pytest.approx(max(1 - np.mean(losses) / base, 0), abs=1e-6)


def _probabilities(codes: Array, y: Array) -> list[float]:
    model = LogisticRegression(C=1e4, max_iter=300).fit(codes[:50], y[:50])
    return [max(float(p[v]), 1e-15) for p, v in zip(model.predict_proba(codes[50:]), y[50:], strict=True)]


def test_the_authors_share_of_log_loss_is_of_balanced_classes_in_training() -> None:
    model = LogisticRegression(C=np.inf, class_weight="balanced").fit(SCALED[:50], KIND[:50])
    p = model.predict_proba(SCALED[:50])
    mean = sum(math.log(p[row, KIND[row]]) for row in range(50)) / 50
    assert _explained_in_training(CODES, Column(KIND, 3), ROWS) == pytest.approx(1 + mean / math.log(3), abs=1e-9)


def test_the_share_of_variance_of_a_quantity_in_test_or_training_rows() -> None:
    y = CODES[:, 0] + noise(80, 1, 4)[:, 0]
    design = np.concatenate([CODES, np.ones((80, 1))], 1)
    guess = design @ np.linalg.lstsq(design[:50], y[:50], rcond=None)[0]
    on_train, on_test = (1 - ((y - guess)[r] ** 2).mean() / y[r].var() for r in ROWS)
    assert _explained(CODES, Column(y, 0), ROWS) == pytest.approx(on_test)
    assert _explained_in_training(CODES, Column(y, 0), ROWS) == pytest.approx(on_train)
    assert _explained(CODES, Column(noise(80, 1, 9)[:, 0], 0), ROWS) == 0


def test_the_settings_reach_the_parts() -> None:
    codes = np.concatenate([perfect(FACTORS), 0.001 * noise(120, 1)], 1)
    found = info_mec(codes, FACTORS, rng(), estimator="equal", permutations=4, train=80)
    assert found.value == pytest.approx(1) and found.parts["active_latents"] == [0, 1] and found.params["train"] == 80
    assert np.array(found.parts["matrix"])[:2] == pytest.approx(np.eye(2), abs=1e-9)
    expected = {"estimator": "equal", "active": 0.02, "permutations": 4, "reference": False, "shuffles": 4}
    assert {key: found.params[key] for key in expected} == expected
    assert found.null is not None and 0 < found.null < 1
    all_in = info_mec(codes, FACTORS, rng(), estimator="equal", permutations=0, active=0.0)
    assert all_in.parts["active_latents"] == [0, 1, 2] and all_in.null is None
    none = info_mec(np.concatenate([codes[:, :2], np.ones((120, 1))], 1), FACTORS, rng(), estimator="equal", active=0.0)
    assert none.parts["active_latents"] == [0, 1]  # a constant latent is never active
    wide = info_mec(codes, FACTORS, rng(), estimator="equal", reference=True, permutations=2)
    assert wide.params["active"] == "range" and wide.parts["active_latents"] == [0, 1] and wide.params["reference"]


def test_a_latent_needs_the_share_that_is_asked_for() -> None:
    """The half of a factor of four values has half of its entropy."""
    codes = np.stack([FACTORS[:, 0] > 1, FACTORS[:, 1]], 1).astype(float)
    for active, kept in ((0.5 - 1e-9, [0, 1]), (0.5 + 1e-9, [1])):
        found = info_mec(codes, FACTORS, rng(), estimator="equal", permutations=0, active=active)
        assert found.parts["active_latents"] == kept
