"""The squared Wasserstein distance: which rows are compared, and what is made of the distances."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import t

from tests.metrics.worlds import Array, noise, rng
from unbraid.errors import UserError
from unbraid.metrics.w2 import LARGEST, w2


def distance(a: Array, b: Array) -> float:
    """The smallest mean squared distance of all assignments, of three or four rows."""
    return min(float(np.mean([((x - b[j]) ** 2).sum() for x, j in zip(a, p, strict=True)])) for p in _orders(len(a)))


def _orders(n: int) -> list[tuple[int, ...]]:
    return list(permutations(range(n)))


def test_batches_floors_chance_and_the_large_sample_by_trying_every_assignment() -> None:
    """Rows are drawn in this order: batches, halves of the first set, halves of both, a large sample and its floor."""
    first, second = noise(11, 2, 1), noise(8, 2, 2) + 1
    found = w2(first, second, rng(), batch=3, batches=5, large=4)
    draw = rng()

    def between(size: int) -> float:
        a, b = draw.permutation(first), draw.permutation(second)
        return distance(a[:size], b[:size])

    def halves(a: Array, size: int) -> float:
        mixed = draw.permutation(a)
        return distance(mixed[:size], mixed[size : 2 * size])

    each = [between(3) for _ in range(5)]
    floor = sum(halves(first, 3) for _ in range(5)) / 5
    null = sum(halves(np.concatenate([first, second]), 3) for _ in range(5)) / 5
    far, near = between(4), halves(first, 4)
    mean, trace = sum(each) / 5, float(np.trace(np.cov(first.T))) * 10 / 11
    reach = t.ppf(0.975, 4) * np.std(each) / 4**0.5
    assert found.parts["per_batch"] == pytest.approx(each)
    assert (found.value, found.null, found.n) == pytest.approx((mean, null, 19))
    assert (found.low, found.high) == pytest.approx((max(mean - reach, 0), mean + reach))
    assert [found.parts[name] for name in ("floor", "trace", "excess", "large", "large_floor", "large_excess")] == (
        pytest.approx([floor, trace, (mean - floor) / trace, far, near, (far - near) / trace])
    )
    assert found.parts["large_rows"] == 4 and found.warnings == ()
    assert found.params == {"batch": 3, "batches": 5, "squared": True, "interval": "Student's t over batches"}


@pytest.mark.parametrize(
    ("targets", "backgrounds", "large", "rows"),
    [(12, 9, 0, None), (12, 9, 3, None), (12, 9, 4, 4), (12, 9, 99, 6), (30, 9, 99, 9), (6, 9, 99, None)],
)
def test_the_large_sample_has_as_many_rows_as_there_are(
    targets: int, backgrounds: int, large: int, rows: int | None
) -> None:
    found = w2(noise(targets, 2, 1), noise(backgrounds, 2, 2), rng(), batch=3, batches=2, large=large)
    assert found.parts.get("large_rows") == rows


def test_codes_that_do_not_vary_have_no_excess_and_no_negative_interval() -> None:
    found = w2(np.ones((8, 2)), 3 * np.ones((4, 2)), rng(), batch=2, batches=2, large=3)
    assert (found.value, found.low, found.high, found.parts["floor"], found.parts["trace"]) == (8, 8, 8, 0, 0)
    assert found.parts["excess"] is None and found.parts["large_excess"] is None and found.parts["large"] == 8
    assert found.warnings == ("the target codes do not vary",)
    uneven = w2(np.r_[np.zeros(9), 30.0], np.r_[np.zeros(9), 30.0], rng(2), batch=2, batches=3, large=0)
    assert uneven.low == 0 < uneven.value


def test_single_precision_is_summed_in_double() -> None:
    codes = (noise(300, 2) + 1000).astype(np.float32)
    found = w2(codes, codes, rng(), batch=2, batches=2, large=0)
    assert found.parts["trace"] == pytest.approx(codes.astype(np.float64).var(0).sum(), rel=1e-12)


def test_what_cannot_be_compared_is_refused() -> None:
    x = noise(8, 2)
    with pytest.raises(UserError, match=r"^target codes have 2 latents and background codes 1$"):
        w2(x, x[:, :1], rng(), batch=2)
    for target, background in ((x[:7], x), (x, x[:3])):
        with pytest.raises(UserError, match="batches of 4 need 8 target rows and 4 background rows"):
            w2(target, background, rng(), batch=4)
    assert w2(x, x[:4], rng(), batch=4, batches=2).n == 12
    for target, background in ((x * 1e72, x), (x, -abs(x) * 1e72)):
        with pytest.raises(UserError, match="codes beyond 1e\\+70 cannot be squared"):
            w2(target, background, rng(), batch=2)
    edge = np.where(x > 0, LARGEST, 0.0)
    found = w2(edge, -edge, rng(), batch=2, batches=2, large=0)
    assert found.high is not None and np.isfinite([found.value, found.high]).all()
    with pytest.raises(UserError, match="the interval needs at least two batches, not 1"):
        w2(x, x, rng(), batch=2, batches=1)
    with pytest.raises(UserError, match="target codes contain 1 values"):
        w2(np.where(x == x[0, 0], np.nan, x), x, rng())
    with pytest.raises(UserError, match="background codes contain 1 values"):
        w2(x, np.where(x == x[0, 0], np.nan, x), rng())
