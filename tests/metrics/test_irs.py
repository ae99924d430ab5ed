"""IRS by loops over rows, values and units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.metrics.irs import _quantile, irs

FACTORS = grid(8, (4, 3))
CODES = np.concatenate([perfect(FACTORS) @ [[2, 0.1], [0.5, 1]] + 0.3 * noise(96, 2), np.full((96, 1), 5.0)], 1)
CODES = np.concatenate([CODES, noise(96, 1, 4)], 1) + 7


def naive(units: list[list[int]], labels: list[Any], quantile: float) -> tuple[list[list[float]], list[float]]:
    def length(rows: Any, unit: list[int]) -> Any:
        middle = [sum(row[j] for row in rows) / len(rows) for j in unit]
        return [sum((row[j] - m) ** 2 for j, m in zip(unit, middle, strict=True)) ** 0.5 for row in rows]

    widest = [max(length(CODES, unit)) for unit in units]
    matrix = []
    for unit, most in zip(units, widest, strict=True):
        held = [
            np.mean([np.quantile(length(CODES[y == v], unit), quantile) for v in np.unique(y)]) if most > 1e-9 else 0
            for y in labels
        ]
        matrix.append([1 - h / most if most > 1e-9 else 0.0 for h in held])
    return matrix, widest


@pytest.mark.parametrize("ids", [None, [2, 0, 1, 2]])
def test_latents_and_units_by_loops(ids: list[int] | None) -> None:
    units = [[0], [1], [2], [3]] if ids is None else [[1], [2], [0, 3]]
    dead = 2 if ids is None else 1
    matrix, widest = naive(units, list(FACTORS.T), 0.8)
    found = irs(CODES, FACTORS, rng(), quantile=0.8, units=ids)
    assert np.array(found.parts["matrix"]) == pytest.approx(np.array(matrix), abs=1e-9)
    best = [max(row) for row in matrix]
    live = [u for u in range(len(units)) if u != dead]
    assert found.parts["per_latent"] == pytest.approx(best, abs=1e-9) and found.parts["active_latents"] == live
    assert found.parts["unweighted"] == pytest.approx(sum(best[u] for u in live) / len(live), abs=1e-9)
    weighted = sum(best[u] * widest[u] for u in live) / sum(widest[u] for u in live)
    assert found.value == pytest.approx(weighted, abs=1e-9)
    parents = [None if u == dead else matrix[u].index(max(matrix[u])) for u in range(len(units))]
    assert found.parts["parent"] == parents and {0, 1} <= set(parents)
    assert found.params == {"quantile": 0.8, "factor_bins": 20, "range": (-1.0, 1.0), "factors": [0, 1]}


@pytest.mark.parametrize(("bins", "first"), [(2, [0, 0, 1, 1]), (3, [0, 1, 2, 2]), (0, [0, 1, 2, 3])])
def test_factors_have_bins_of_equal_width_or_all_their_values(bins: int, first: list[int]) -> None:
    """The labels 0 to 3 in two bins, in three with edges at 1 and 2, and as they are."""
    matrix, _ = naive([[0], [1], [3]], [np.array(first)[FACTORS[:, 0]]], 0.9)
    found = irs(CODES[:, [0, 1, 3]], FACTORS[:, 0], rng(), quantile=0.9, factor_bins=bins)
    assert np.array(found.parts["matrix"]) == pytest.approx(np.array(matrix), abs=1e-9)
    assert found.warnings == ()


def test_continuous_factors_have_bins_of_equal_width_or_twenty_quantiles() -> None:
    y = np.arange(96.0) ** 2 + 0.5
    wide = np.minimum((4 * np.arange(96) ** 2 / 95**2).astype(int), 3)
    twentieths = (y[:, None] >= np.quantile(y, np.linspace(0, 1, 21)[1:-1])).sum(1)
    for bins, labels in ((4, wide), (0, twentieths)):
        matrix, _ = naive([[0], [1], [3]], [labels], 0.9)
        found = irs(CODES[:, [0, 1, 3]], y, rng(), quantile=0.9, factor_bins=bins)
        assert np.array(found.parts["matrix"]) == pytest.approx(np.array(matrix), abs=1e-9)
    assert found.warnings == ("20 of 20 values of factor 0 have fewer than 20 rows",)


def test_codes_that_are_constant_score_nothing() -> None:
    found = irs(np.full((96, 2), 3.0), FACTORS, rng(), quantile=0.5)
    assert found.value == 0 and found.parts == {"active_latents": []} and found.params["quantile"] == 0.5
    assert found.warnings == ("every latent is constant",)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 11])
def test_quantiles_are_numpys(q: float, n: int) -> None:
    x = noise(3, n)
    assert _quantile(x, q) == pytest.approx(np.quantile(x, q, axis=1), abs=1e-12)
