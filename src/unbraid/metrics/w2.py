"""Squared Wasserstein distance between two sets of codes, with the floor that is due to sampling, and the scale.

W2^2 between equally many points is the smallest mean squared distance over one-to-one assignments; it is exact here. It
is not 0 for two samples of one distribution, and it falls when codes merely shrink. So compare the part `excess`,
(W2^2 - floor) / trace, with the floor between two halves of the first set and the trace of its covariance.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

from unbraid.config import Count, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Floats, check_codes
from unbraid.metrics.contract import Codes, Score, metric

LARGEST = 1e70  # its fourth power, which the interval takes, is a number in double precision


@metric
def w2(
    target: Codes,
    background: Codes,
    rng: np.random.Generator,
    *,
    batch: Size = 128,
    batches: Size = 20,
    large: Count = 2000,
) -> Score:
    """The mean over batches of the squared distance between codes of two sets, such as targets and backgrounds.

    Args:
        batch: rows of each set in a batch
        batches: number of batches, at least two
        large: rows of each set in one large sample; 0: no large sample
    """
    first, second = _checked(target, background, batch, batches)
    pooled = np.concatenate([first, second])
    each = [_between(first, second, batch, rng) for _ in range(batches)]
    floor = float(np.mean([_halves(first, batch, rng) for _ in range(batches)]))
    null = float(np.mean([_halves(pooled, batch, rng) for _ in range(batches)]))
    trace = float(first.var(0, dtype=np.float64).sum())
    value = float(np.mean(each))
    margin = float(np.std(each, ddof=1) / batches**0.5 * stdtrit(batches - 1, 0.975))
    parts = {"floor": floor, "trace": trace, "excess": _over(value - floor, trace), "per_batch": each}
    size = min(large, len(first) // 2, len(second))
    if size > batch:
        far, near = _between(first, second, size, rng), _halves(first, size, rng)
        parts |= {"large": far, "large_floor": near, "large_excess": _over(far - near, trace), "large_rows": size}
    notes = () if trace > 0 else ("the target codes do not vary",)
    params = {"batch": batch, "batches": batches, "squared": True, "interval": "Student's t over batches"}
    n = len(first) + len(second)
    return Score(value, parts, max(value - margin, 0.0), value + margin, null, n, params, notes)


def _checked(target: Codes, background: Codes, batch: int, batches: int) -> tuple[Floats, Floats]:
    first, second = check_codes(target, "target codes"), check_codes(background, "background codes")
    if first.shape[1] != second.shape[1]:
        raise UserError(f"target codes have {first.shape[1]} latents and background codes {second.shape[1]}")
    if min(len(first) // 2, len(second)) < batch:
        raise UserError(f"batches of {batch} need {2 * batch} target rows and {batch} background rows")
    if max(float(np.abs(codes).max()) for codes in (first, second)) > LARGEST:
        raise UserError(f"codes beyond {LARGEST:g} cannot be squared: divide all of them by the same number")
    if batches < 2:
        raise UserError(f"the interval needs at least two batches, not {batches}")
    return first, second


def squared_distance(a: Floats, b: Floats) -> float:  # [n, d] twice
    """W2^2 of two equally large sets of equally heavy points."""
    cost = cdist(a, b, "sqeuclidean")
    return float(cost[linear_sum_assignment(cost)].mean())


def _between(a: Floats, b: Floats, size: int, rng: np.random.Generator) -> float:
    return squared_distance(rng.permutation(a)[:size], rng.permutation(b)[:size])


def _halves(a: Floats, size: int, rng: np.random.Generator) -> float:
    mixed = rng.permutation(a)
    return squared_distance(mixed[:size], mixed[size : 2 * size])


def _over(value: float, scale: float) -> float | None:
    return value / scale if scale > 0 else None
