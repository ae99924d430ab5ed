"""Numbers of runs by data set, method and kind of factors, one for each seed."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from unbraid.study.claims import Numbers
from unbraid.study.reproduce import Result, Results

from .study import CORRELATED, INDEPENDENT, METHODS

SETS = {"dsprites": "dSprites", "shapes3d": "3D Shapes"}
METRICS = ("dci", "sap", "irs")
FACTOR_VAES = ("FactorVAE 10", "FactorVAE 40")
SIGMA = {False: INDEPENDENT, True: CORRELATED}


def main_runs(r: Results) -> Results:
    """Those that claims stand on."""
    return Results([run for run in r if _is_main(run)])


def _is_main(run: Result) -> bool:
    return run.label in METHODS.get(run.data, {}) and run.arguments["correlated"] in SIGMA.values()


def runs(r: Results, data: str, label: str, correlated: bool) -> Results:
    return r.where(data=data, label=label, correlated=SIGMA[correlated])


def score(r: Results, data: str, label: str, correlated: bool, metric: str) -> Numbers:
    return runs(r, data, label, correlated).values(metric)


def drop(r: Results, data: str, label: str, metric: str) -> Numbers:
    """Independent less correlated, seed by seed."""
    return score(r, data, label, False, metric) - score(r, data, label, True, metric)


def rank_correlation(translation: Numbers, metric: Numbers, draws: int = 500) -> tuple[float, float, float, int]:
    """Spearman's correlation of -translation with a metric, its interval by bootstrap, and the number of models.

    Args:
        translation: of each model, or a part of it
        metric: of the same models
        draws: resamplings of the models
    """
    pairs = np.stack([-translation, metric], 1)
    pairs = pairs[np.isfinite(pairs).all(1)]
    if len(pairs) < 4 or not pairs.std(0).all():
        return float("nan"), float("nan"), float("nan"), len(pairs)
    rng, found = np.random.default_rng(0), []
    for _ in range(draws):
        again = pairs[rng.integers(len(pairs), size=len(pairs))]
        if again.std(0).all():
            found.append(float(spearmanr(*again.T).statistic))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(spearmanr(*pairs.T).statistic), float(low), float(high), len(pairs)


def of_factor_vaes(r: Results, data: str, *path: str) -> Numbers:
    """A number of each FactorVAE, independent and correlated."""
    return np.concatenate([r.where(data=data, label=label).values(*path) for label in FACTOR_VAES])


def apart_by_sap(run: Result, least: float = 0.1) -> bool:
    """Whether two factors are told best by different features, each better by `least` than the other does."""
    parts = run.scores["sap"]["parts"]
    return len(set(parts.get("best_latent", ()))) == 2 and bool(min(parts["per_factor"]) >= least)
