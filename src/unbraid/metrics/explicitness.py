"""Explicitness: how well a linear classifier predicts each factor from all latents, as area under the ROC curve.

Ridgeway and Mozer, "Learning deep disentangled embeddings with the F-statistic loss" (NeurIPS 2018): the mean over
factors and their values of the one-against-rest ROC-AUC of logistic regression on standardised codes. For a continuous
factor it is R2 of linear regression, not below 0.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

from unbraid.config import Count, Size
from unbraid.metrics.arrays import Column, Floats, Ints, check_arrays, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows


@metric
def explicitness(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    solver: Literal["lbfgs", "liblinear"] = "lbfgs",
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """Area under the ROC curve of a linear classifier of each factor, on held-out rows.

    Args:
        solver: 'lbfgs' fits one multinomial model, 'liblinear' one model for each value as scikit-learn did up to 0.21
        train: number of leading rows that train, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors)
    rows = split_rows(arrays.n, train, rng)
    fitted = np.ascontiguousarray(arrays.codes[rows[0]].T)  # [d, n]; in the precision of the codes
    scaled = (arrays.codes - fitted.mean(1)) / np.where(varies(fitted.T), fitted.std(1), np.inf)

    def predict(column: Column) -> tuple[float, float, str]:
        return _linear(scaled, column, rows) if column.continuous else _areas(scaled, column, rows, solver)

    with no_convergence_warnings():
        found = parallel(predict, arrays.factors, jobs)
    notes = [f"factor {k}: {note}" for k, (_, _, note) in zip(arrays.kept, found, strict=True) if note]
    each = [test for _, test, _ in found]
    parts = {"train": float(np.mean([train for train, _, _ in found])), "per_factor": each}
    return arrays.score(np.mean(each), parts, notes, solver=solver, train=len(rows[0]))


def roc_areas(scores: Floats, labels: Ints) -> Floats:  # [n, m], [n] -> [m]
    """One-against-rest area under the curve of each label, NaN for a label that no row or every row has."""
    counts = np.bincount(labels, minlength=scores.shape[1])[: scores.shape[1]]
    ranks = rankdata(scores, axis=0)[np.arange(len(labels)), labels]
    sums = np.bincount(labels, weights=ranks, minlength=scores.shape[1])
    pairs = counts * (len(labels) - counts)
    return np.asarray(np.where(pairs > 0, (sums - counts * (counts + 1) / 2) / np.maximum(pairs, 1), np.nan))


def _areas(scaled: Floats, column: Column, rows: tuple[Ints, Ints], solver: str) -> tuple[float, float, str]:
    train, test = rows
    present, y = np.unique(column.values[train], return_inverse=True)
    if len(present) < 2:
        return 0.5, 0.5, "the training rows have one value only"
    model = _model(solver, len(present)).fit(scaled[train], y)
    known = test[np.isin(column.values[test], present)]
    tested = np.searchsorted(present, column.values[known])
    on_train = roc_areas(model.predict_proba(scaled[train]), y)
    on_test = roc_areas(model.predict_proba(scaled[known]), tested) if len(known) else np.full(len(present), np.nan)
    missing = int(np.isnan(on_test).sum()) + column.size - len(present)
    note = f"{missing} of {column.size} values are missing among the training or the test rows" if missing else ""
    if np.isnan(on_test).all():
        return float(np.nanmean(on_train)), 0.5, note
    return float(np.nanmean(on_train)), float(np.nanmean(on_test)), note


def _model(solver: str, classes: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = LogisticRegression(C=1.0, solver=solver, tol=1e-4, max_iter=100)
    return OneVsRestClassifier(model) if solver == "liblinear" and classes > 2 else model


def _linear(scaled: Floats, column: Column, rows: tuple[Ints, Ints]) -> tuple[float, float, str]:
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(scaled[rows[0]], column.values[rows[0]])
    train, test = (max(float(model.score(scaled[r], column.values[r])), 0.0) for r in rows)
    return train, test, ""
