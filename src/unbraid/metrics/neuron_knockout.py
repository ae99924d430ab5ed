"""Neuron knockout (NK): how much accuracy about a factor is lost with the one latent that is matched to it.

Mahon, Sha and Lukasiewicz, "Correcting flaws in common disentanglement metrics" (TMLR 2024). Latents are matched with
factors as in single-neuron classification. A classifier predicts factor k from all latents with accuracy A_k on test
rows, another from all but the matched latent with B_k. With r_k the accuracy of always naming the most common value,

    NK = 1/K sum_k (max(A_k, r_k) - max(B_k, r_k)) / (1 - r_k), not below 0

The paper gives the mean of A_k - B_k in percent (`drop`); the division makes a perfect code 1 whatever the number of
values, and an accuracy below r_k is that of no information. If a factor is also elsewhere, in a copy or spread over
other latents, nothing is lost and NK is 0. The paper's classifier is a network with one layer of 256 units ('network');
the default is extremely randomised trees, which are as free and much faster. A factor without a latent counts 0.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Size
from unbraid.metrics.arrays import Column, Floats, Ints, check_arrays, standardised
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows
from unbraid.metrics.single_neuron_classification import matched_latents, most_common_accuracy, unmatched_warnings


@metric
def neuron_knockout(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    predictor: Literal["trees", "network"] = "trees",
    trees: Size = 20,
    factor_bins: Size = 20,
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """The accuracy that is lost when a factor's own latent is left out.

    Args:
        predictor: extremely randomised trees, or a network with 256 hidden units
        trees: number of trees
        factor_bins: quantile bins for a continuous factor
        train: number of leading rows that train, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors)
    columns = [factor.binned(factor_bins) for factor in arrays.factors]
    rows = split_rows(arrays.n, train, rng)
    scaled = standardised(arrays.codes, rows[0])
    matched, matrix = matched_latents(arrays.codes, columns, rows[0])
    seed = int(rng.integers(2**31))

    work = [
        (_model(predictor, trees, seed), x, column)
        for latent, column in zip(matched, columns, strict=True)
        for x in (scaled, np.delete(scaled, [] if latent is None else latent, 1))
    ]
    with no_convergence_warnings():
        flat = parallel(lambda item: _accuracy(*item, rows), work, jobs)
    found = np.array(flat).reshape(-1, 2)  # [k, 2]
    base = np.array([most_common_accuracy(column, rows) for column in columns])
    lost = np.maximum(found[:, 0], base) - np.maximum(found[:, 1], base)
    each = np.maximum(lost, 0) / np.where(base < 1, 1 - base, 1.0)
    parts: dict[str, Any] = {"per_factor": each, "drop": found[:, 0] - found[:, 1], "accuracy": found[:, 0]}
    parts |= {"accuracy_without": found[:, 1], "most_common": base}
    parts |= {"matched_latent": matched, "mutual_information": matrix}
    params = {"predictor": predictor, "trees": trees, "factor_bins": factor_bins, "train": len(rows[0])}
    return arrays.score(each.mean(), parts, unmatched_warnings(matched), **params)


def _accuracy(model: Any, x: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    """The accuracy on test rows; that of the most common value where there is nothing to learn."""
    train, test = rows
    y = column.values
    if x.shape[1] == 0 or np.ptp(y[train]) == 0:
        return most_common_accuracy(column, rows)
    return float((model.fit(x[train], y[train]).predict(x[test]) == y[test]).mean())


def _model(predictor: str, trees: int, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.neural_network import MLPClassifier

    if predictor == "trees":
        return ExtraTreesClassifier(trees, max_features=None, min_samples_leaf=2, random_state=seed)
    return MLPClassifier((256,), learning_rate_init=0.01, max_iter=50, random_state=seed)
