"""R2 of predicting factors: each from one latent under the best matching, and from all latents together.

Used for identifiability up to permutation (matched) and up to a linear map (all latents), as in Hyvärinen, Sasaki and
Turner (AISTATS 2019) and Khemakhem et al. (AISTATS 2020). On held-out rows; not below 0. Labels enter as numbers.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from unbraid.config import Count, Size
from unbraid.metrics.arrays import Floats, Ints, check_arrays, standardised
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import parallel, split_rows
from unbraid.metrics.mcc import best_match


@metric
def r2(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    regression: Literal["linear", "neighbours"] = "linear",
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """The mean over factors of R2 from the latent that is matched to the factor.

    Args:
        regression: linear, or the mean of the ten nearest training rows, which can follow any curve
        train: number of leading rows that train, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors)
    rows = split_rows(arrays.n, train, rng)
    codes = standardised(arrays.codes)
    wanted = [column.values.astype(np.float64) for column in arrays.factors]
    pairs = [(codes[:, [j]], y) for j in range(codes.shape[1]) for y in wanted] + [(codes, y) for y in wanted]
    flat = parallel(lambda pair: _r2(regression, *pair, rows), pairs, jobs)
    together = flat[-len(wanted) :]
    matrix = np.array(flat[: -len(wanted)]).reshape(-1, len(wanted))  # [d, k]
    matched = best_match(matrix)
    each = [0.0 if latent is None else float(matrix[latent, k]) for k, latent in enumerate(matched)]
    parts: dict[str, Any] = {"per_factor": each, "matched_latent": matched, "all_latents": float(np.mean(together))}
    parts |= {"all_latents_per_factor": together, "matrix": matrix}
    return arrays.score(np.mean(each), parts, regression=regression, train=len(rows[0]))


def _r2(regression: str, x: Floats, y: Floats, rows: tuple[Ints, Ints]) -> float:
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor

    train, test = rows
    if np.ptp(y[train]) == 0 or np.ptp(y[test]) == 0:
        return 0.0
    model: Any = LinearRegression() if regression == "linear" else KNeighborsRegressor(min(10, len(train)))
    return max(float(model.fit(x[train], y[train]).score(x[test], y[test])), 0.0)
