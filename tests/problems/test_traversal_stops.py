"""Where traversals stop: of one dimension, and of features of several."""

from __future__ import annotations

import numpy as np
import pytest

from unbraid.problems.plain import SWEEP, stops


def test_one_dimension_moves_evenly_between_its_quantiles() -> None:
    codes = np.random.default_rng(0).normal(size=(1001, 1))
    found = stops(codes, (0.1, 0.9))[:, 0]
    assert found[[0, -1]] == pytest.approx(np.sort(codes[:, 0])[[100, 900]])
    assert np.diff(found) == pytest.approx(np.full(SWEEP - 1, (found[-1] - found[0]) / (SWEEP - 1)))


def test_several_dimensions_stop_at_codes_of_images_along_their_longest_axis() -> None:
    rng = np.random.default_rng(0)
    direction = np.array([0.6, -0.8])
    along = rng.permutation(np.arange(101.0))
    codes = along[:, None] * direction + 0.01 * rng.normal(size=(101, 2))
    found = stops(codes, (0.1, 0.9))
    assert all((codes == stop).all(1).any() for stop in found)
    ranks = np.round(found @ direction)
    assert ranks == pytest.approx(np.linspace(90, 10, SWEEP))  # the largest component of the axis counts upwards
