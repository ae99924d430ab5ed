"""UDR by loops over pairs of runs."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr, t
from sklearn.linear_model import Lasso

from tests.metrics.worlds import Array, noise, rng, rotation
from unbraid.errors import UserError
from unbraid.metrics.udr import relation_score, udr

TRUTH = noise(60, 3)
RUNS = [TRUTH + 0.2 * noise(60, 3, 1), (TRUTH @ rotation(3))[:, :2] * [5, 0.1] + 7, -(TRUTH[:, ::-1] ** 3)]


def relation(a: Array, b: Array, method: str, alpha: float) -> Array:
    """How strongly each latent of a goes with each of b, one latent of b at a time."""
    if method == "spearman":
        return np.array([[abs(spearmanr(x, y).statistic) for y in b.T] for x in a.T])
    x, y = ((run - run.mean(0)) / run.std(0) for run in (a, b))
    return np.array([abs(Lasso(alpha).fit(x, y[:, j]).coef_) for j in range(y.shape[1])]).T


def agreement(weights: Array, *, reference: bool = False) -> float:
    rows = [max(row) ** 2 / sum(row) if sum(row) else 0.0 for row in weights.tolist()]
    columns = [max(column) ** 2 / sum(column) if sum(column) else 0.0 for column in weights.T.tolist()]
    return float(np.mean([np.mean(rows), np.mean(columns)]) if reference else np.mean([*rows, *columns]))


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize(("method", "alpha"), [("lasso", 0.1), ("lasso", 0.3), ("spearman", 0.1)])
def test_runs_are_compared_two_by_two(method: Any, alpha: float, reference: bool) -> None:
    found = udr(RUNS, rng(), method=method, alpha=alpha, reference=reference, resamplings=0)
    wanted = np.zeros((3, 3))
    for i, j in permutations(range(3), 2):
        wanted[i, j] = agreement(relation(RUNS[i], RUNS[j], method, alpha), reference=reference)
    assert np.array(found.parts["pairwise"]) == pytest.approx(wanted, abs=1e-5)
    each = [(wanted[:, j].sum()) / 2 for j in range(3)]  # of two others the median is the mean
    assert found.parts["per_run"] == pytest.approx(each, abs=1e-5)
    assert found.value == pytest.approx(sum(each) / 3, abs=1e-5)
    assert found.params == {
        "method": method,
        "alpha": alpha if method == "lasso" else None,
        "runs": 3,
        "reference": reference,
        "interval": "0 bootstrap samples of the rows, Student's t",
    }
    assert (found.low, found.high, found.n, found.warnings) == (None, None, 60, ())


def test_chance_shuffles_each_run_and_the_interval_resamples_the_rows_of_all() -> None:
    found = udr(RUNS, rng(), resamplings=3)
    draw = rng()
    mixed = [draw.permutation(run) for run in RUNS]
    rows = [draw.integers(60, size=60) for _ in range(3)]
    assert found.null == udr(mixed, rng(), resamplings=0).value
    again = [udr([run[some] for run in RUNS], rng(), resamplings=0).value for some in rows]
    reach = t.ppf(0.975, 2) * np.std(again) * (3 / 2) ** 0.5
    assert (found.low, found.high) == pytest.approx((max(found.value - reach, 0), min(found.value + reach, 1)))
    assert found.params["interval"].startswith("3 bootstrap samples")
    assert udr(RUNS, rng(), resamplings=1).low is None
    two = udr(RUNS, rng(), resamplings=2)
    assert two.low is not None and two.high is not None and 0 <= two.low <= two.value <= two.high <= 1


def test_an_interval_ends_at_0_and_at_1() -> None:
    """Four rows: the score of a few of them may be anything."""
    few = [noise(4, 2, seed) for seed in range(2)]
    wide = udr(few, rng(), method="spearman", resamplings=2)
    assert wide.high == 1 and wide.low == 0 and 0 < wide.value < 1


def test_latents_with_little_divergence_are_left_out() -> None:
    noisy = [np.concatenate([run, noise(60, 1, 9 + i)], 1) for i, run in enumerate(RUNS)]
    kl = [[3.0] * run.shape[1] + [0.01] for run in RUNS]
    found = udr(noisy, rng(), kl=kl, method="spearman", resamplings=0)
    alone = udr(RUNS, rng(), method="spearman", resamplings=0)
    np.testing.assert_allclose(found.parts["pairwise"], alone.parts["pairwise"], rtol=1e-12)
    kept = udr(noisy, rng(), kl=kl, least_kl=0.009, method="spearman", resamplings=0)
    assert kept.parts["pairwise"] == udr(noisy, rng(), method="spearman", resamplings=0).parts["pairwise"]
    still = [np.insert(run, 0, 4.0, 1) for run in RUNS]
    dead = udr(still, rng(), kl=[[3.0] * run.shape[1] for run in still], method="spearman", resamplings=0)
    assert dead.value == pytest.approx(udr(RUNS, rng(), method="spearman", resamplings=0).value)
    assert dead.warnings == ()


def test_a_run_without_informative_latents_scores_0_and_is_named() -> None:
    found = udr([RUNS[0], np.ones((60, 2)), RUNS[0]], rng(), method="spearman", resamplings=0)
    assert found.parts["pairwise"][1] == [0, 0, 0] and found.parts["per_run"][1] == 0
    assert found.parts["per_run"][0] == found.parts["pairwise"][2][0] / 2 > 0.2
    assert found.warnings == ("runs [1] have no informative latent and score 0",)


def test_a_latent_without_any_relation_counts_0() -> None:
    assert relation_score(np.array([[0.5, 0.0], [0.0, 0.0]])) == pytest.approx(0.25)
    assert relation_score(np.array([[0.5, 0.25]]), reference=True) == pytest.approx((1 / 3 + (0.5 + 0.25) / 2) / 2)
    assert relation_score(np.zeros((0, 3))) == 0


def test_what_cannot_be_compared_is_refused() -> None:
    for runs, sentence in (
        (RUNS[:1], "UDR compares runs and needs at least two, not 1"),
        ([RUNS[0], RUNS[1][:-1]], "the same samples"),
        ([RUNS[0], RUNS[1] * np.nan], "codes of run 1 contain 120 values"),
    ):
        with pytest.raises(UserError, match=sentence):
            udr(runs, rng())
    for kl in ([[1.0] * 3, [1.0] * 2], [[1.0] * 3, [1.0] * 2, [1.0] * 2]):
        with pytest.raises(UserError, match="one number for each latent of each run"):
            udr(RUNS, rng(), kl=kl)
    assert udr(RUNS[:2], rng(), resamplings=0).params["runs"] == 2
