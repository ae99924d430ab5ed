"""Downstream accuracy: how well factors are predicted from few and from many labels, and statistical efficiency.

Locatello et al., "Challenging common assumptions in the unsupervised learning of disentangled representations" (ICML
2019): cross-validated logistic regression or gradient boosted trees on 10, 100, 1000 and 10000 labels, tested on other
rows. Efficiency is the mean accuracy at 100 labels over that at 10000. A continuous factor counts R2, not below 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Arrays, Column, Floats, Ints, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows

FEW, MANY = 100, 10_000  # labels whose accuracies make the efficiency
TREES = 20


@metric
def downstream(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    predictor: Literal["logistic", "gbt", "trees"] = "logistic",
    sizes: Sequence[int] = (10, 100, 1000, 10000),
    reference: bool = False,
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """Mean accuracy over factors at the largest number of labels; parts hold the others and the efficiency.

    Args:
        predictor: logistic regression (strength of ten by fivefold cross-validation), scikit-learn's gradient boosting
            (slow), or extremely randomised trees
        sizes: numbers of labels
        reference: labels are the leading training rows, as in the published protocol, not drawn from them at random
        train: number of leading rows that labels are taken from, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors)
    train_rows, test = split_rows(arrays.n, train, rng)
    if not reference:  # rows may come in the order of their factors, and folds are consecutive
        train_rows = rng.permutation(train_rows)
    usable = [size for size in sizes if size <= len(train_rows)]
    if not usable:
        raise UserError(f"sizes ask for at least {min(sizes)} labels and there are {len(train_rows)} training rows")
    seed = int(rng.integers(2**31))
    work = [(size, k) for size in usable for k in range(len(arrays.factors))]

    def right(item: tuple[int, int]) -> tuple[Floats, bool]:
        column = arrays.factors[item[1]]
        return right_rows(predictor, arrays.codes, column, train_rows[: item[0]], test, seed)

    with no_convergence_warnings():
        found = dict(zip(work, parallel(right, work, jobs), strict=True))
    rows = {item: hits for item, (hits, _) in found.items()}
    notes = _warnings(found, arrays, [size for size in sizes if size not in usable], len(train_rows))
    return _score(rows, arrays, notes, predictor=predictor, reference=reference, train=len(train_rows))


def _score(rows: Mapping[tuple[int, int], Floats], arrays: Arrays, notes: list[str], **params: Any) -> Score:
    sizes = dict.fromkeys(size for size, _ in rows)
    table = {size: [float(rows[size, k].mean()) for k in range(len(arrays.factors))] for size in sizes}
    means = {size: float(np.mean(each)) for size, each in table.items()}
    most = max(table)
    parts = {
        "mean": {str(size): value for size, value in means.items()},
        "least": {str(size): min(each) for size, each in table.items()},
        "per_factor": table[most],
        "per_factor_by_labels": {str(size): each for size, each in table.items()},
        "efficiency": means[FEW] / means[MANY] if {FEW, MANY} <= set(means) and means[MANY] > 0 else None,
    }
    each_row = np.mean([rows[most, k] for k in range(len(arrays.factors))], 0)
    margin = 1.96 * float(each_row.std()) / len(each_row) ** 0.5
    score = arrays.score(means[most], parts, notes, sizes=list(table), interval="normal, over test rows", **params)
    return replace(score, low=max(score.value - margin, 0.0), high=min(score.value + margin, 1.0))


def _warnings(found: Mapping[tuple[int, int], Any], arrays: Arrays, left: list[int], rows: int) -> list[str]:
    notes = []
    uncrossed = [f"factor {arrays.kept[k]} at {size}" for (size, k), (_, crossed) in found.items() if not crossed]
    if uncrossed:
        notes.append(f"too few labels for five folds, so C is 1: {', '.join(uncrossed)} labels")
    if left:
        notes.append(f"there are {rows} training rows: {left} labels are left out")
    return notes


def right_rows(
    predictor: str, codes: Floats, column: Column, train: Ints, test: Ints, seed: int
) -> tuple[Floats, bool]:  # [test rows]
    """For each test row 1 or 0, or R2 with the row's influence on it; and whether the folds could be fitted.

    Args:
        train: rows with labels
        test: rows to predict
    """
    from sklearn.linear_model import LogisticRegression

    y = column.values
    if np.ptp(y[train]) == 0:
        return (np.zeros(len(test)) if column.continuous else np.asarray(y[test] == y[train[0]], np.float64)), True
    model = _model(predictor, column.continuous, len(train), seed)
    if crossed := predictor != "logistic" or column.continuous or _folds_vary(y[train]):
        model.fit(codes[train], y[train])
    else:
        model = LogisticRegression(C=1.0, solver="lbfgs", tol=1e-4, max_iter=100).fit(codes[train], y[train])
    if column.continuous:
        return r2_by_row(y[test], model.predict(codes[test])), crossed
    return np.asarray(model.predict(codes[test]) == y[test], np.float64), crossed


def r2_by_row(y: Floats, predicted: Floats) -> Floats:  # [n]
    """R2, not below 0, plus each row's influence on it: the mean is R2, the spread gives its standard error."""
    errors, deviations = (y - predicted) ** 2, (y - y.mean()) ** 2
    if not deviations.any():
        return np.zeros(len(y))
    left = errors.mean() / deviations.mean()
    return np.asarray(max(1 - left, 0.0) + (left * deviations - errors) / deviations.mean())


def _folds_vary(y: Ints) -> bool:
    """Whether the training rows of each of the five consecutive folds have at least two values."""
    return all(len(np.unique(np.delete(y, fold))) > 1 for fold in np.array_split(np.arange(len(y)), min(5, len(y))))


def _model(predictor: str, continuous: bool, labels: int, seed: int) -> Any:
    from sklearn import ensemble
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import KFold

    if predictor == "logistic":
        folds = KFold(min(5, labels))
        if continuous:  # R2 of a fold needs two rows; of fewer than ten, each row is left out once
            return RidgeCV(np.logspace(-4, 4, 10), cv=folds if labels >= 10 else None)
        newer = {"l1_ratios": (0.0,), "use_legacy_attributes": False}  # scikit-learn 1.8 and later ask for these
        extra = newer if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters else {}
        return LogisticRegressionCV(
            Cs=10, cv=folds, solver="lbfgs", tol=1e-4, max_iter=100, scoring="accuracy", **extra
        )
    kind = "Regressor" if continuous else "Classifier"
    if predictor == "gbt":
        return getattr(ensemble, f"GradientBoosting{kind}")(random_state=seed)
    return getattr(ensemble, f"ExtraTrees{kind}")(TREES, max_features=None, min_samples_leaf=2, random_state=seed)
