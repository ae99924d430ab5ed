"""Rows that train and test, threads, and warnings that are held back."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from tests.metrics.worlds import rng
from unbraid.errors import UserError
from unbraid.machine import cores
from unbraid.metrics import fitting
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows


@pytest.mark.parametrize(("n", "two_thirds"), [(3, 2), (10, 6), (11, 7), (12, 8)])
def test_two_thirds_at_random_train_and_the_others_test(n: int, two_thirds: int) -> None:
    train, test = split_rows(n, None, rng(5))
    order = rng(5).permutation(n).tolist()
    assert train.tolist() == sorted(order[:two_thirds]) and test.tolist() == sorted(order[two_thirds:])


def test_the_first_rows_train_if_their_number_is_given() -> None:
    assert [rows.tolist() for rows in split_rows(4, 1, rng())] == [[0], [1, 2, 3]]
    assert [rows.tolist() for rows in split_rows(4, 3, rng())] == [[0, 1, 2], [3]]
    for train in (0, 4):
        with pytest.raises(UserError, match=f"between 1 and 3, not {train}"):
            split_rows(4, train, rng())


def test_jobs_are_threads_and_one_job_is_the_thread_that_asks() -> None:
    meet = threading.Barrier(2, timeout=5)  # breaks if the two do not run at the same time
    assert sorted(parallel(lambda x: x + meet.wait(), [10, 20], 2)) in ([10, 21], [11, 20])
    assert parallel(lambda _: threading.get_ident(), [0, 1], 1) == [threading.get_ident()] * 2
    assert threading.get_ident() not in parallel(lambda _: threading.get_ident(), [0, 1], 2)


def test_no_number_of_jobs_is_one_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "cores", lambda: 2)
    meet = threading.Barrier(2, timeout=5)
    assert sum(parallel(lambda _: meet.wait(), [0, 0], 0)) == 1


def test_linear_algebra_has_one_thread_in_each() -> None:
    np.linalg.svd(np.ones((2, 2)))
    with threadpool_limits(2):
        assert 2 in {library["num_threads"] for library in threadpool_info()}
        (inside,) = parallel(lambda _: {library["num_threads"] for library in threadpool_info()}, [0], 1)
    assert inside == {1}


def test_cores_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", {0: {3, 5, 8}, 1: {0}}.__getitem__, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def warned(message: str, category: type[Warning] = UserWarning) -> list[Any]:
    """What comes out if filters are reset inside, as scikit-learn does in threads."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with no_convergence_warnings():
            warnings.resetwarnings()
            warnings.warn_explicit(message, category, "there.py", 17)
    return [(str(one.message), one.category, one.filename, one.lineno) for one in seen]


@pytest.mark.parametrize("_", range(2))  # and again
def test_warnings_of_solvers_few_rows_and_threads_stay_inside(_: int) -> None:
    assert warned("lbfgs failed to converge", ConvergenceWarning) == []
    assert warned("The number of unique classes is greater than 50% of the samples") == []
    assert warned("`sklearn.utils.parallel.delayed` should be used with") == []
    assert warned("Beware", RuntimeWarning) == [("Beware", RuntimeWarning, "there.py", 17)]
    assert warned("not The number of unique classes is greater") != []


def test_the_lock_is_given_back_after_an_error() -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), no_convergence_warnings():
            assert fitting._in_use.locked()
            with no_convergence_warnings():  # it is in use: this does nothing, and does not wait
                pass
            assert fitting._in_use.locked()
            raise ZeroDivisionError
    assert not fitting._in_use.locked()
