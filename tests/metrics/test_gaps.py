"""MIG-sup, DCIMIG and JEMMIG against loops over the definitions and closed forms."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import Array, grid, noise, perfect, rng, rotation
from unbraid.metrics.dcimig import dcimig
from unbraid.metrics.jemmig import jemmig
from unbraid.metrics.mig_sup import mig_sup

FACTORS = grid(20, (4, 3, 5))
TURNED = perfect(FACTORS) @ rotation(3)
CODES = {
    "turned": TURNED,
    "turned with noise and a dead latent": np.concatenate([TURNED, noise(len(FACTORS), 2), np.ones((1200, 1))], 1),
    "two of three": TURNED[:, :2],
}


def surprise(labels: Any) -> float:
    counts = Counter(labels)
    n = sum(counts.values())
    return sum(c / n * log(n / c) for c in counts.values())


def binned(x: Array, bins: int = 20) -> list[int]:
    """Equal-width bins, one row at a time."""
    low, high = x.min(), x.max()
    return [0 if high == low else min(int((v - low) / (high - low) * bins), bins - 1) for v in x]


def informations(codes: Array) -> tuple[dict[tuple[int, int], float], list[float], list[list[int]]]:
    """I(z_i; v_k) as H(z) + H(v) - H(z, v), H(v_k), and the bins of each latent."""
    cells = [binned(x) for x in codes.T]
    labels = [list(v) for v in FACTORS.T]
    table = {
        (i, k): surprise(cells[i]) + surprise(labels[k]) - surprise(zip(cells[i], labels[k], strict=True))
        for i, k in product(range(len(cells)), range(len(labels)))
    }
    return table, [surprise(v) for v in labels], cells


@pytest.mark.parametrize("case", CODES)
def test_mig_sup_by_a_loop(case: str) -> None:
    table, entropies, cells = informations(CODES[case])
    gaps = []
    for i in range(len(cells)):
        first, second, *_ = sorted((table[i, k] / entropies[k] for k in range(3)), reverse=True)
        gaps.append(first - second)
    found = mig_sup(CODES[case], FACTORS, rng())
    assert found.parts["per_latent"] == pytest.approx(gaps, abs=1e-9)
    assert found.value == pytest.approx(sum(gaps) / len(gaps), abs=1e-9)


@pytest.mark.parametrize("case", CODES)
def test_dcimig_by_a_loop(case: str) -> None:
    table, entropies, cells = informations(CODES[case])
    best = [0.0, 0.0, 0.0]
    for i in range(len(cells)):
        order = sorted(range(3), key=lambda k: table[i, k])
        best[order[2]] = max(best[order[2]], table[i, order[2]] - table[i, order[1]])
    found = dcimig(CODES[case], FACTORS, rng())
    assert found.value == pytest.approx(sum(best) / sum(entropies), abs=1e-9)
    assert found.parts["per_factor"] == pytest.approx([b / h for b, h in zip(best, entropies, strict=True)], abs=1e-9)


@pytest.mark.parametrize("case", CODES)
def test_jemmig_by_a_loop(case: str) -> None:
    table, entropies, cells = informations(CODES[case])
    each = []
    for k in range(3):
        second, first = sorted(range(len(cells)), key=lambda i: table[i, k])[-2:]
        joint = surprise(zip(cells[first], FACTORS[:, k], strict=True))
        each.append(joint - table[first, k] + table[second, k])
    found = jemmig(CODES[case], FACTORS, rng())
    assert found.parts["jemmig"] == pytest.approx(each, abs=1e-9)
    shares = [1 - nats / (h + log(20)) for nats, h in zip(each, entropies, strict=True)]
    assert found.value == pytest.approx(sum(shares) / 3, abs=1e-9)


def test_a_latent_that_holds_two_factors() -> None:
    """One latent is the two-digit number of both factors, another the first: gaps log 4/3 and log 4."""
    factors = grid(10, (4, 3))
    both = np.stack([3 * factors[:, 0] + factors[:, 1], factors[:, 0]], 1).astype(float)
    assert mig_sup(both, factors, rng()).parts["per_latent"] == pytest.approx([0, 1], abs=1e-9)
    found = dcimig(both, factors, rng())
    assert found.parts["per_latent"] == pytest.approx([log(4 / 3), log(4)], abs=1e-9)
    assert found.value == pytest.approx(log(4) / log(12), abs=1e-9)  # the second factor has no latent of its own
    assert found.parts["best_latent"] == [1, None]
    first, second = jemmig(both, factors, rng()).parts["jemmig"]
    # both latents know the first factor; the two-digit one alone knows the second, and log 4 nats besides
    assert second == pytest.approx(log(12) - log(3), abs=1e-9)
    assert first in (pytest.approx(log(4), abs=1e-9), pytest.approx(log(12), abs=1e-9))  # a tie between the two


def test_a_copy_costs_jemmig_the_whole_gap() -> None:
    found = jemmig(np.repeat(perfect(FACTORS), 2, 1), FACTORS, rng())
    assert found.parts["jemmig"] == pytest.approx([log(4), log(3), log(5)], abs=1e-9)
    assert found.value == pytest.approx(np.mean([1 - log(m) / log(20 * m) for m in (4, 3, 5)]), abs=1e-9)


def test_noise_beside_its_factor_costs_jemmig_and_not_dcimig() -> None:
    """A latent of two digits, the factor and an independent coin: H(z, v) is log 4 + log 2, the information log 4."""
    factors = grid(30, (4, 2, 2))[:, :2]
    coin = grid(30, (4, 2, 2))[:, 2]
    codes = np.stack([2 * factors[:, 0] + coin, 2 * factors[:, 1]], 1).astype(float)
    assert dcimig(codes, factors, rng()).value == pytest.approx(1, abs=1e-9)
    assert jemmig(codes, factors, rng()).parts["jemmig"] == pytest.approx([log(2), 0], abs=1e-9)


def test_quantile_bins_follow_a_stretched_latent() -> None:
    factors = grid(50, (4, 4))
    stretched = np.exp(8 * perfect(factors))
    for fn in (mig_sup, dcimig, jemmig):
        assert fn(stretched, factors, rng(), estimator="quantile").value == pytest.approx(1, abs=1e-9)
        assert fn(stretched, factors, rng()).value < 0.85


def test_constant_latents_are_counted_and_told() -> None:
    dead = np.concatenate([perfect(FACTORS), np.ones((len(FACTORS), 2))], 1)
    found = mig_sup(dead, FACTORS, rng())
    assert found.value == pytest.approx(3 / 5) and found.parts["varying"] == pytest.approx(1)
    assert "2 of 5 latents are constant and count 0" in found.warnings
    assert dcimig(dead, FACTORS, rng()).value == pytest.approx(1)
    nothing = jemmig(np.ones((len(FACTORS), 2)), FACTORS, rng())
    assert nothing.value == pytest.approx(np.mean([log(20) / log(20 * m) for m in (4, 3, 5)]))
    assert any("all latents are constant" in text for text in nothing.warnings)


@pytest.mark.parametrize("fn", [mig_sup, dcimig])
def test_one_factor_has_no_second(fn: Any) -> None:
    found = fn(perfect(FACTORS)[:, :1], FACTORS[:, :1], rng())
    assert found.value == pytest.approx(1) and any("only one factor" in text for text in found.warnings)
