"""Exact optimal transport between equally many points: SciPy's assignment against POT's network simplex.

    python benchmarks/transport.py [repeats]

Both are timed in turn on the same costs, in one process, so that the ratio does not depend on what else the machine
does; both must agree on the value. The codes are 16-dimensional Gaussians, the background's moved a little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

SIZES = (64, 128, 256, 512, 1000)
LATENTS, SHIFT = 16, 0.3

Cost = NDArray[np.float64]


def assignment(cost: Cost) -> float:
    return float(cost[linear_sum_assignment(cost)].mean())


def simplex(cost: Cost) -> float:
    weights = np.full(len(cost), 1 / len(cost))
    return float((ot.emd(weights, weights, cost) * cost).sum())


def seconds(solve: Callable[[Cost], float], cost: Cost) -> tuple[float, float]:
    start = time.perf_counter()
    value = solve(cost)
    return time.perf_counter() - start, value


def main(repeats: int) -> None:
    rng = np.random.default_rng(0)
    print("points   assignment ms    simplex ms   simplex / assignment")
    for size in SIZES:
        times: dict[str, list[float]] = {"assignment": [], "simplex": []}
        for _ in range(repeats):
            target, background = rng.normal(size=(size, LATENTS)), rng.normal(SHIFT, 1, (size, LATENTS))
            cost = cdist(target, background, "sqeuclidean")
            (first, one), (second, other) = seconds(assignment, cost), seconds(simplex, cost)
            assert abs(one - other) < 1e-9 * one, f"{one} and {other} differ"
            times["assignment"].append(first)
            times["simplex"].append(second)
        a, s = (1e3 * median(times[name]) for name in ("assignment", "simplex"))
        print(f"{size:6d} {a:15.2f} {s:13.2f} {s / a:22.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
