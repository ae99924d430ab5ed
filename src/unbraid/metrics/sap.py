"""Separated attribute predictability: the gap between the two latents that predict a factor best.

Kumar, Sattigeri and Balakrishnan, "Variational inference of disentangled latent concepts from unlabeled observations"
(ICLR 2018): the mean over factors of the gap between the two latents that alone predict the factor best. For a quantity
the score of a latent is the squared correlation, for a kind (values without order) the balanced accuracy of thresholds
on that latent. Neither depends on the scale of the codes. The large study (Locatello et al., ICML 2019) takes a linear
support vector machine for all discrete factors instead, which does, and gives a perfect code far less than 1 ("svm").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Size
from unbraid.metrics.arrays import (
    Arrays,
    Column,
    Floats,
    Ints,
    check_arrays,
    check_places,
    gap_to_second,
    quantities,
    standardised,
    varies,
)
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows


@metric
def sap(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    method: Literal["kumar", "svm", "logistic", "correlation"] = "kumar",
    ordered: Sequence[int] | None = None,
    kinds: Sequence[int] = (),
    standardise: bool = False,
    train: Size | None = None,
    units: Sequence[int] | None = None,
    jobs: Count = 0,
) -> Score:
    """The gap between the two latents that each predict a factor best.

    Args:
        method: the paper's own, or for discrete factors a linear support vector machine (C=0.01, balanced classes; the
            large study), logistic regression, or the squared correlation on all rows; continuous factors take the last
        ordered: places of factors that are quantities; None: for 'kumar' numbers with more than two values but `kinds`
        kinds: places of factors that are numbers without order
        standardise: scale every latent to mean 0 and variance 1 first; 'svm' and 'logistic' depend on scale and offset
        train: number of leading rows that train, the others test; None draws two thirds
        units: the unit that each latent belongs to; None: each latent is a unit
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors, units)
    rows = split_rows(arrays.n, train, rng)
    scaled = standardised(arrays.codes) if standardise or method == "kumar" else arrays.codes
    regressed = _quantities(method, ordered, kinds, factors, arrays)

    def predict(pair: tuple[Ints, int]) -> float:
        unit, k = pair
        if method == "correlation" or regressed[k]:
            return _explained(arrays.codes[:, unit], arrays.factors[k].values)
        return _accuracy(method, scaled[:, unit], arrays.factors[k], rows)

    pairs = [(unit, k) for unit in arrays.units for k in range(len(arrays.factors))]
    with no_convergence_warnings():
        matrix = np.array(parallel(predict, pairs, jobs)).reshape(len(arrays.units), -1)
    gaps = gap_to_second(matrix)
    parts = {"per_factor": gaps, "best_latent": matrix.argmax(0), "matrix": matrix}
    params: dict[str, Any] = {"method": method, "ordered": _places(arrays, regressed), "standardise": standardise}
    return arrays.score(gaps.mean(), parts, _warnings(arrays, method, standardise), train=len(rows[0]), **params)


def _places(arrays: Arrays, chosen: list[bool]) -> list[int]:
    return [k for k, one in zip(arrays.kept, chosen, strict=True) if one]


def _quantities(
    method: str, ordered: Sequence[int] | None, kinds: Sequence[int], factors: Factors, arrays: Arrays
) -> list[bool]:
    """Which of the factors that vary are quantities."""
    check_places("ordered", ordered or (), factors)
    check_places("kinds", kinds, factors)
    if ordered is None and method == "kumar":
        return quantities(arrays, factors, kinds)
    return [c.continuous or k in (ordered or ()) for k, c in zip(arrays.kept, arrays.factors, strict=True)]


def _warnings(arrays: Arrays, method: str, standardise: bool) -> list[str]:
    notes = []
    if len(arrays.units) == 1:
        notes.append("there is only one latent: its gap is its whole score")
    if method == "svm" and not standardise and not all(column.continuous for column in arrays.factors):
        spread, centre = arrays.codes.std(0, dtype=np.float64), np.abs(arrays.codes.mean(0, dtype=np.float64))
        odd = varies(arrays.codes) & ((spread < 0.3) | (centre > 1 + spread))
        if odd.any():
            notes.append(
                f"latents {np.flatnonzero(odd).tolist()} are small or far from 0, on which the support vector machine "
                "depends: try standardise=True"
            )
    return notes


def _accuracy(method: str, x: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    train, test = rows
    labels = column.values
    seen = np.unique(labels[train])
    if method == "kumar":
        if len(seen) < 2 or not varies(x[train]).any():
            return 1 / column.size
        return _balanced(_thresholds(len(seen)).fit(x[train], labels[train]).predict(x[test]), labels[test])
    if len(seen) < 2:
        return float((labels[test] == labels[train[0]]).mean())
    model = _classifier(method).fit(x[train], labels[train])
    return float((model.predict(x[test]) == labels[test]).mean())


def _balanced(predicted: Any, labels: Any) -> float:
    """The mean over values of the accuracy on rows with that value."""
    return float(np.mean([(predicted[labels == value] == value).mean() for value in np.unique(labels)]))


def _thresholds(values: int) -> Any:
    """As many intervals as there are values, by the thresholds of a decision tree."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_leaf_nodes=values, class_weight="balanced", random_state=0)


def _classifier(method: str) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if method == "svm":
        return LinearSVC(C=0.01, class_weight="balanced", dual=False, tol=1e-4, max_iter=1000)
    return LogisticRegression(C=1.0, solver="lbfgs", tol=1e-4, max_iter=200)


def _explained(x: Floats, y: Any) -> float:  # [n, m], [n]
    """R2 of the linear regression of y on a unit; for one latent the squared correlation."""
    x = x[:, varies(x)]
    if not x.shape[1]:
        return 0.0
    x = x - x.mean(0, dtype=np.float64)
    y = y - y.mean(dtype=np.float64)
    if x.shape[1] == 1:
        return float((x[:, 0] @ y) ** 2 / ((x[:, 0] @ x[:, 0]) * (y @ y)))
    fitted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return float(fitted @ fitted / (y @ y))
