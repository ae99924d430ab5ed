"""Label efficiency: how much of the factors is read off the code with few labels, over budgets from few to many.

That a disentangled code needs fewer labels is what it is wanted for; van Steenkiste et al. (NeurIPS 2019) and Locatello
et al. (ICML 2019) measure it by tasks. Here a predictor is given n labels of factor k, n from the smallest to the
largest budget n_m; with a_k(n) its accuracy on test rows and r_k that of always naming the most common value,

    A_k(n) = max((a_k(n) - r_k) / (1 - r_k), 0), or R2, not below 0, of a continuous factor
    value  = 1/K sum_k mean of A_k over log n, from n_1 to n_m

1: the smallest budget suffices; 0: no budget does. A code that holds half of what there is cannot score above a half
however few labels it needs: `ratio`, the mean A at n_1 over that at n_m, leaves that out, and is None where nothing is
read (A(n_m) below 0.05). `downstream` has the ratio of plain accuracies of Locatello et al., which is 1 for noise.

Trees, the default, cut along axes, so that a rotation of the code costs labels; logistic regression does not mind one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column, Floats, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.downstream import right_rows
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows
from unbraid.metrics.single_neuron_classification import above_chance, most_common_accuracy

READ = 0.05  # share that must be read with the most labels for a ratio


@metric
def label_efficiency(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    predictor: Literal["trees", "logistic"] = "trees",
    labels: Sequence[int] = (50, 200, 800, 3200),
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """The share of the factors that is read, above chance, averaged over budgets of labels on a log scale.

    Args:
        predictor: extremely randomised trees, or logistic regression (ridge regression for a continuous factor)
        labels: budgets, in ascending order; those above the number of training rows are left out
        train: number of leading rows that labels are taken from, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    if not len(labels) or min(labels) < 2 or list(labels) != sorted(set(labels)):
        raise UserError(f"labels must be two or more each, and in ascending order, not {list(labels)}")
    arrays = check_arrays(codes, factors)
    rows, test = split_rows(arrays.n, train, rng)
    rows = rng.permutation(rows)  # they may come in the order of their factors
    budgets = [budget for budget in labels if budget <= len(rows)]
    if not budgets:
        raise UserError(f"labels ask for at least {min(labels)} and there are {len(rows)} training rows")
    seed = int(rng.integers(2**31))

    def read(item: tuple[int, Column]) -> float:
        budget, column = item
        found = right_rows(predictor, arrays.codes, column, rows[:budget], test, seed)[0].mean()
        return float(found) if column.continuous else _above_chance(found, column, rows, test)

    work = [(budget, column) for budget in budgets for column in arrays.factors]
    with no_convergence_warnings():
        table = np.reshape(parallel(read, work, jobs), (len(budgets), -1))  # [budgets, k]
    left = [budget for budget in labels if budget not in budgets]
    notes = [f"there are {len(rows)} training rows: {left} labels are left out"] if left else []
    each, means = mean_over_log(np.array(budgets), table), table.mean(1)
    parts: dict[str, Any] = {"per_factor": each, "by_labels": {str(n): m for n, m in zip(budgets, means, strict=True)}}
    parts["ratio"] = float(min(means[0] / means[-1], 1)) if means[-1] >= READ else None
    return arrays.score(each.mean(), parts, notes, predictor=predictor, labels=budgets, train=len(rows))


def _above_chance(accuracy: Floats, column: Column, rows: Any, test: Any) -> float:
    base = most_common_accuracy(column, (rows, test))
    return float(above_chance(np.array([accuracy]), np.array([base]))[0])


def mean_over_log(budgets: Floats, table: Floats) -> Floats:  # [m], [m, k] -> [k]
    """The mean of each column over log budgets, between which it is taken as a straight line."""
    if len(budgets) == 1:
        return np.asarray(table[0])
    steps = np.diff(np.log(budgets))[:, None]
    return np.asarray((steps * (table[1:] + table[:-1]) / 2).sum(0) / steps.sum())
