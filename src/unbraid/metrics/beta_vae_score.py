"""BetaVAE score: accuracy of a linear classifier that predicts which factor pairs of rows share.

Higgins et al., "beta-VAE: learning basic visual concepts with a constrained variational framework" (ICLR 2017). A
point is the mean over pairs that share the value of one factor of |z - z'|; logistic regression predicts that factor
from the point. Pairs are looked up among the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import Floats, Ints, check_arrays, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.interventions import RowsByValue, chunk_of, rare_value_warnings


@metric
def beta_vae_score(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    batch: Size = 64,
    points: Size = 10_000,
    test_points: Size = 5_000,
    factor_bins: Size = 20,
    reference: bool = False,
) -> Score:
    """Accuracy of a linear classifier of the shared factor.

    Args:
        batch: pairs that are averaged into one point
        points: points that train the classifier
        test_points: points that score it
        factor_bins: quantile bins for a continuous factor
        reference: do not divide the codes by their standard deviations first; the regularised classifier depends on
            their scale
    """
    arrays = check_arrays(codes, factors)
    columns = [factor.binned(factor_bins) for factor in arrays.factors]
    params: dict[str, Any] = {"batch": batch, "points": points, "factor_bins": factor_bins}
    if len(columns) < 2:
        return arrays.undefined("the BetaVAE score needs at least two factors that vary", **params)
    alive = varies(arrays.codes)
    scaled = arrays.codes if reference else arrays.codes / np.where(alive, arrays.codes.std(0, dtype=np.float64), 1.0)
    held = rng.integers(len(columns), size=points + test_points)
    features = np.zeros((len(held), int(alive.sum()) or 1))
    for k, column in enumerate(columns):
        if alive.any():
            features[held == k] = _points(scaled[:, alive], RowsByValue(column), int((held == k).sum()), batch, rng)
    train, right = classify(features[:points], held[:points], features[points:], held[points:])
    hits = [float(right[held[points:] == k].mean()) for k in range(len(columns))]
    params |= {"classifier": "logistic regression, lbfgs, C=1", "standardised": not reference}
    return arrays.score(
        right.mean(), {"train": train, "per_factor": hits}, rare_value_warnings(arrays, columns), **params
    )


def classify(x: Floats, y: Ints, test_x: Floats, test_y: Ints) -> tuple[float, Floats]:
    """Accuracy on the training points, and which test points are classified correctly."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, solver="lbfgs", tol=1e-4, max_iter=1000).fit(x.astype(np.float64), y)
    return float(model.score(x, y)), np.asarray(model.predict(test_x) == test_y, np.float64)


def _points(codes: Floats, rows: RowsByValue, m: int, batch: int, rng: np.random.Generator) -> Floats:  # [m, d]
    points = [np.zeros((0, codes.shape[1]))]
    chunk = chunk_of(batch * codes.shape[1])
    for start in range(0, m, chunk):
        first, second = rows.pairs(min(chunk, m - start), batch, rng)
        apart = codes[first]
        apart -= codes[second]
        points.append(np.abs(apart, out=apart).mean(1))
    return np.concatenate(points)
