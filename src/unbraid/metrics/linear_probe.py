"""Linear probes: how well logistic regression finds a class in codes, and ridge regression one code in another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.metrics.arrays import Floats, as_column, standardised
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.fitting import no_convergence_warnings, split_rows

RESAMPLINGS = 200


def probe_accuracy(codes: Codes, labels: Factors, rng: np.random.Generator, *, standardise: bool = True) -> Score:
    """Test accuracy of logistic regression on codes, with the accuracy on each class among the parts.

    Args:
        standardise: scale each latent to variance 1 before the probe, else leave it at its own scale
    """
    from sklearn.linear_model import LogisticRegression

    y = as_column(np.asarray(labels), "class").binned(10).values
    train, test = split_rows(len(codes), None, rng)
    x = standardised(codes) if standardise else np.asarray(codes, np.float64)

    def right(of: Floats) -> Floats:
        with no_convergence_warnings():
            model = LogisticRegression(max_iter=300).fit(of[train], y[train])
        return np.asarray(model.predict(of[test]) == y[test], np.float64)

    hits = right(x)
    means = hits[rng.integers(len(test), size=(RESAMPLINGS, len(test)))].mean(1)
    each = [float(hits[y[test] == value].mean()) for value in np.unique(y[test])]
    low, high = np.quantile(means, [0.025, 0.975])
    null = float(right(rng.permutation(x)).mean())
    return Score(float(hits.mean()), {"per_class": each}, float(low), float(high), null, len(codes))


def explained_variance(codes: Codes, values: NDArray[Any], rng: np.random.Generator) -> Score:
    """The share of the variance of `values` [n, d] in held-out rows that ridge regression on codes explains, from 0."""
    from sklearn.linear_model import Ridge

    train, test = split_rows(len(codes), None, rng)
    x, y = standardised(codes), np.asarray(values, np.float64)

    def residuals(of: Floats) -> tuple[Floats, Floats]:
        error = y[test] - Ridge().fit(of[train], y[train]).predict(of[test])
        return (error**2).sum(1), ((y[test] - y[train].mean(0)) ** 2).sum(1)

    def r2(pair: tuple[Floats, Floats]) -> float:
        return max(0.0, 1 - float(pair[0].sum() / pair[1].sum())) if pair[1].sum() > 0 else 0.0

    error, total = residuals(x)
    picks = rng.integers(len(test), size=(RESAMPLINGS, len(test)))
    low, high = np.quantile([r2((error[p], total[p])) for p in picks], [0.025, 0.975])
    return Score(r2((error, total)), {}, float(low), float(high), r2(residuals(rng.permutation(x))), len(x))
