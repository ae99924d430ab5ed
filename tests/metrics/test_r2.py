"""R2 of small worlds by least squares and by a search for neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import Array, noise, rng
from unbraid.metrics.r2 import _r2, r2


def world() -> tuple[Any, Any]:
    draw = rng(1)
    factors = draw.standard_normal((90, 2))
    return 5 + factors @ [[0.2, 1.0, 0.0], [1.0, 0.4, 0.0]] + 0.3 * draw.standard_normal((90, 3)), factors


def by_line(x: Array, y: Array, train: Any, test: Any) -> float:
    weights = np.linalg.lstsq(np.insert(x[train], 0, 1, 1), y[train], rcond=None)[0]
    left = y[test] - np.insert(x[test], 0, 1, 1) @ weights
    return max(0.0, 1 - float(left @ left) / float(((y[test] - y[test].mean()) ** 2).sum()))


def by_neighbours(x: Array, y: Array, train: Any, test: Any, k: int = 10) -> float:
    scaled = (x - x.mean(0)) / x.std(0)
    left = []
    for row in test:
        near = sorted(train, key=lambda other: float(((scaled[row] - scaled[other]) ** 2).sum()))[:k]
        left.append(y[row] - np.mean([y[i] for i in near]))
    return float(max(0.0, 1 - np.sum(np.square(left)) / ((y[test] - y[test].mean()) ** 2).sum()))


@pytest.mark.parametrize("regression", ["linear", "neighbours"])
def test_training_rows_fit_and_test_rows_score(regression: Any) -> None:
    codes, factors = world()
    by, train, test = by_line if regression == "linear" else by_neighbours, np.arange(50), np.arange(50, 90)
    found = r2(codes, factors, rng(), regression=regression, train=50)
    each = np.array([[by(codes[:, [i]], factors[:, k], train, test) for k in range(2)] for i in range(3)])
    together = [by(codes, factors[:, k], train, test) for k in range(2)]
    assert np.array(found.parts["matrix"]) == pytest.approx(each, abs=1e-9)
    assert found.parts["all_latents_per_factor"] == pytest.approx(together, abs=1e-9)
    assert found.parts["all_latents"] == pytest.approx(sum(together) / 2, abs=1e-9)
    assert found.parts["matched_latent"] == [1, 0]
    assert found.parts["per_factor"] == pytest.approx([each[1, 0], each[0, 1]], abs=1e-9)
    assert found.value == pytest.approx((each[1, 0] + each[0, 1]) / 2, abs=1e-9)
    assert found.params == {"regression": regression, "train": 50, "factors": [0, 1]}


def test_a_factor_without_a_latent_counts_0_and_two_thirds_train_by_default() -> None:
    codes, factors = world()
    found = r2(codes[:, :1], factors, rng())
    assert found.parts["matched_latent"] == [None, 0] and found.parts["per_factor"][0] == 0
    assert found.value == pytest.approx(found.parts["per_factor"][1] / 2)
    assert found.params["train"] == 60


def test_a_factor_that_is_constant_in_either_part_is_not_explained() -> None:
    """Even if it is predicted exactly, by ten neighbours that all have its value."""
    y, one, other = np.repeat([0.0, 1.0, 0.0], 10), np.arange(20), np.arange(20, 30)
    assert _r2("neighbours", y[:, None], y, (one, other)) == _r2("neighbours", y[:, None], y, (other, one)) == 0
    assert _r2("neighbours", y[:, None], y, (one, one)) == 1
    assert _r2("linear", noise(30, 1, 1), noise(30, 1, 2)[:, 0], (one, other)) == 0  # less than 0, by chance


def test_ten_rows_are_near_or_all_that_there_are() -> None:
    """From the right the first row is the farthest, from the left the last: means 1.1 and 0.9."""
    x = np.r_[np.arange(11.0), 20, 20, -20, -20][:, None]
    y = np.r_[0, np.ones(9), 2, 1.1, 1.1, 0.9, 0.9]
    assert _r2("neighbours", x, y, (np.arange(11), np.arange(11, 15))) == pytest.approx(1)
    assert _r2("neighbours", x, y, (np.arange(5), np.arange(11, 15))) == 0  # one mean for all
