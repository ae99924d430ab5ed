"""Numbers of runs by data set, method and kind of factors, one for each seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from unbraid.study.claims import Numbers
from unbraid.study.reproduce import Result, Results

from .study import CORRELATED, INDEPENDENT, METHODS

SETS = {"dsprites": "dSprites", "shapes3d": "3D Shapes"}
METRICS = ("dci", "sap", "irs")
OURS = "intervention"
FACTOR_VAES = ("FactorVAE 10", "FactorVAE 40")
RIVAL = "FactorVAE 10"  # whose numbers the paper quotes
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


def mean(values: Numbers) -> str:
    """As it stands in a claim."""
    return f"{values.mean():.3f}" if len(values) else "unknown"


def drop(r: Results, data: str, label: str, metric: str) -> Numbers:
    """Independent less correlated, seed by seed."""
    return score(r, data, label, False, metric) - score(r, data, label, True, metric)


def rank_draws(translation: Numbers, metric: Numbers, draws: int) -> tuple[float, Numbers, int]:
    """Spearman's correlation of -translation with a metric, the same for models drawn anew, and the number of models.

    Args:
        translation: of each model, or a part of it
        metric: of the same models
        draws: resamplings of the models
    """
    pairs = np.stack([-translation, metric], 1)
    pairs = pairs[np.isfinite(pairs).all(1)]
    if len(pairs) < 4 or not pairs.std(0).all():
        return float("nan"), np.full(draws, np.nan), len(pairs)
    again = pairs[np.random.default_rng(0).integers(len(pairs), size=(draws, len(pairs)))]
    return float(_spearman(pairs[None])[0]), _spearman(again), len(pairs)


def _spearman(pairs: Numbers) -> Numbers:
    """Of each sample of pairs; unknown where one of the two does not vary. [k, n, 2] -> [k]"""
    ranks = rankdata(pairs, axis=1)
    ranks -= ranks.mean(1, keepdims=True)
    x, y = ranks[..., 0], ranks[..., 1]
    spread = np.sqrt((x**2).sum(1) * (y**2).sum(1))
    return np.where(spread > 0, (x * y).sum(1) / np.maximum(spread, 1e-12), np.nan)


def rank_correlation(translation: Numbers, metric: Numbers, draws: int = 500) -> tuple[float, float, float, int]:
    """Spearman's correlation of -translation with a metric, its 95 % interval, and the number of models."""
    rho, found, n = rank_draws(translation, metric, draws)
    found = found[np.isfinite(found)]
    low, high = np.quantile(found, [0.025, 0.975]) if len(found) else (np.nan, np.nan)
    return rho, float(low), float(high), n


def of_models(r: Results, data: str, *path: str, labels: Sequence[str] = ()) -> Numbers:
    """A number of each model of a set, independent and correlated; of some methods only where they are given."""
    found = [r.where(data=data, label=label).values(*path) for label in labels or r.labels(data=data)]
    return np.concatenate(found) if found else np.zeros(0)


def apart_by_sap(run: Result, least: float = 0.1) -> bool:
    """Whether two factors are told best by different features, each better by `least` than the other does."""
    parts = run.scores["sap"]["parts"]
    return len(set(parts.get("best_latent", ()))) == 2 and bool(min(parts["per_factor"]) >= least)


def apart_by_exchange(run: Result, least: float = 0.2) -> bool:
    """Whether each factor follows one feature of its own."""
    return run.value("exchange") > least


def share_above(cells: Sequence[Numbers], draws: int) -> tuple[float, Numbers]:
    """The share of cells whose mean over seeds is above zero, ties a half; and the same for seeds drawn anew.

    Each cell has the seeds that it has. Cells with as many are drawn together, for they share runs.

    Args:
        cells: a number for each seed, which should be above zero
        draws: resamplings of the seeds
    """
    if min(map(len, cells), default=0) < 2 or not all(np.isfinite(cell).all() for cell in cells):
        return float("nan"), np.zeros(0)
    drawn = np.random.default_rng(0).random((draws, max(map(len, cells))))
    again = [cell[(drawn[:, : len(cell)] * len(cell)).astype(int)].mean(1) for cell in cells]
    return float(_above(np.array([cell.mean() for cell in cells])).mean()), _above(np.array(again)).mean(0)


def _above(means: Numbers) -> Numbers:
    return np.heaviside(means, 0.5)


def donors(run: Result, part: str = "donor") -> list[str]:
    """How often digit / hue follow each feature, in %; or how often they are the host's, or neither's."""
    found = run.scores.get("exchange", {}).get("parts", {}).get(part) or []
    return [" / ".join(f"{100 * rate:.0f}" for rate in feature) for feature in found]


def uncut(run: Result) -> float:
    """The exchange before it is cut off at 0."""
    found = run.scores.get("exchange", {}).get("parts", {}).get("per_factor")
    return float(np.mean(found)) if found else float("nan")


def kind_of(run: Result) -> str:
    return "independent" if run.arguments["correlated"] == INDEPENDENT else "correlated"


def last_adversarial(run: Result) -> float:
    found = (run.measures.get("game") or {}).get("adversarial")
    return float(found[-1]) if found else float("nan")


def rates(run: Result) -> str:
    """As 69/24 / 10/30: digit and hue that follow the first feature, and the second."""
    return " / ".join(of.replace(" ", "") for of in donors(run))
