"""What metrics that fit predictors share: training and test rows, threads, silent solvers."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from unbraid.errors import UserError
from unbraid.machine import cores
from unbraid.metrics.arrays import Ints

T = TypeVar("T")
R = TypeVar("R")
IN_THREADS = r"`sklearn\.utils\.parallel\.delayed`"  # begins a warning of scikit-learn's own
FEW_ROWS = "The number of unique classes is greater"  # metrics have a note of their own for it
_in_use = Lock()


def split_rows(n: int, train: int | None, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Training rows and test rows: the first `train` and the rest, or two thirds and one third at random."""
    if train is None:
        order = rng.permutation(n)
        return np.sort(order[: (2 * n) // 3]), np.sort(order[(2 * n) // 3 :])
    if not 0 < train < n:
        raise UserError(f"train must leave rows on both sides: between 1 and {n - 1}, not {train}")
    return np.arange(train), np.arange(train, n)


def parallel(work: Callable[[T], R], items: Iterable[T], jobs: int) -> list[R]:
    """Applies `work` to each item on `jobs` threads (0: one for each available core); results keep their order.

    Linear algebra uses one thread in each, so that the number of threads changes neither a value nor the load.
    """
    jobs = jobs or cores()
    with _libraries(len(sys.modules)).limit(limits=1):
        if jobs == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(work, items))


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """The libraries of linear algebra that are loaded. To look for them takes longer than a small fit, and only the
    import of further modules loads others."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def no_convergence_warnings() -> Iterator[None]:
    """Solvers may stop at their last iteration, and classes may have few rows, without a warning.

    To be used around `parallel`: the filters belong to the whole process, so that it does nothing where it is in use
    already. Forests that are fitted in threads reset the filters under each other, so that what they let through is
    caught as well.
    """
    from sklearn.exceptions import ConvergenceWarning

    if not _in_use.acquire(blocking=False):
        yield
        return
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", IN_THREADS)
            warnings.filterwarnings("ignore", FEW_ROWS)
            yield
    finally:
        _in_use.release()
    for found in caught:
        if not issubclass(found.category, ConvergenceWarning) and not re.match(
            f"{IN_THREADS}|{FEW_ROWS}", str(found.message)
        ):
            warnings.warn_explicit(found.message, found.category, found.filename, found.lineno)
