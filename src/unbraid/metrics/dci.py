"""Disentanglement, completeness and informativeness (DCI), from the importance of latents for predicting factors.

Eastwood and Williams, "A framework for the quantitative evaluation of disentangled representations" (ICLR 2018).
R[i, j] is the importance of latent i for factor j. Disentanglement is the mean over latents of 1 - H(R[i, :]) in units
of log k, weighted by each latent's share of all importance; completeness the same over factors in units of log d;
informativeness the accuracy (or R2, for a continuous factor) on held-out rows. The value is the disentanglement.

Published values mostly come from scikit-learn's gradient boosting (100 trees of depth 3, rate 0.1). LightGBM with the
same trees gives nearly the same values in a fraction of the time, and is the default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy
from scipy.stats import rankdata

from unbraid.config import Count, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Arrays, Column, Floats, Ints, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import parallel, split_rows

Skills = tuple[float, float]  # of a predictor, on training and on test rows
Predictor = Literal["lightgbm", "gbt", "trees", "forest", "regressor", "lasso"]

BOOSTING = {
    "learning_rate": 0.1,
    "max_depth": 3,
    "num_leaves": 8,
    "min_data_in_leaf": 1,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
REGRESSOR_TREES = 10  # scikit-learn's default when the protocol was published


@metric
def dci(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    predictor: Literal["lightgbm", "gbt", "trees", "forest", "regressor", "lasso"] = "lightgbm",
    trees: Size = 20,
    rounds: Size = 100,
    depths: Sequence[int] | None = None,
    train: Size | None = None,
    informativeness: bool = True,
    units: Sequence[int] | None = None,
    jobs: Count = 0,
) -> Score:
    """How far each latent is important for one factor only; parts hold completeness and informativeness.

    Args:
        predictor: gradient boosting by LightGBM or by scikit-learn ('gbt', slow); extremely randomised trees; random
            forest; random forest regression on the factor's number; lasso on the factor's number
        trees: number of trees of 'trees' and 'forest'
        rounds: of LightGBM; each adds a tree for each value of a factor
        depths: maximal depth of the 'regressor' for each factor; None: from 2 to 15 by threefold cross-validation
        train: number of leading rows that train, the others test; None draws two thirds
        informativeness: False leaves out how well factors are predicted, a sixth of the time
        units: the unit that each latent belongs to; None: each latent is a unit
        jobs: threads; 0 uses one for each available core
    """
    arrays = check_arrays(codes, factors, units)
    _check_depths(depths, np.asarray(factors).reshape(arrays.n, -1).shape[1])
    rows = split_rows(arrays.n, train, rng)
    copies = equally_ordered(arrays.codes[rows[0]]) if predictor == "lightgbm" else []
    seeds = [int(seed) for seed in rng.integers(2**31, size=len(arrays.factors))]

    def fit(k: int) -> tuple[Floats, Skills | None]:
        column, depth = arrays.factors[k], depths[arrays.kept[k]] if depths is not None else None
        raw, skills = _fitted(
            predictor, arrays.codes, column, rows, trees=trees, rounds=rounds, depth=depth, seed=seeds[k]
        )
        return _shares(raw, arrays.units, copies), skills() if informativeness else None

    order = sorted(range(len(arrays.factors)), key=lambda k: -arrays.factors[k].size)  # the longest work first
    found = dict(zip(order, parallel(fit, order, jobs), strict=True))
    fitted = [found[k] for k in range(len(order))]
    importance = np.stack([one for one, _ in fitted], 1)  # [units, k]
    params: dict[str, Any] = {"predictor": predictor, "train": len(rows[0])}
    params |= {"trees": trees} if predictor in ("trees", "forest") else {}
    params |= {"rounds": rounds} if predictor == "lightgbm" else {}
    params |= {"depths": list(depths) if depths else "cross-validated"} if predictor == "regressor" else {}
    return _score(importance, [skills for _, skills in fitted if skills is not None], arrays, params)


def _check_depths(depths: Sequence[int] | None, factors: int) -> None:
    if depths is not None and len(depths) != factors:
        raise UserError(f"depths must hold one depth for each of {factors} factors, not {len(depths)}")


def disentanglement(importance: Floats) -> Floats:  # [units, k] -> [units]
    """1 less the entropy, in units of log k, of the distribution of a latent's importance over factors."""
    shares = importance / np.maximum(importance.sum(1, keepdims=True), np.finfo(float).tiny)
    concentration = 1 + xlogy(shares, shares).sum(1) / np.log(importance.shape[1])
    return np.where(importance.sum(1) > 0, np.clip(concentration, 0, 1), 0.0)


def _score(importance: Floats, skills: list[Skills], arrays: Arrays, params: dict[str, Any]) -> Score:
    notes = []
    total = max(float(importance.sum()), np.finfo(float).tiny)
    parts: dict[str, Any] = {"disentanglement": None, "completeness": None}
    if importance.shape[1] > 1:
        parts["per_latent"] = disentanglement(importance)
        parts["disentanglement"] = float(parts["per_latent"] @ importance.sum(1) / total)
    else:
        notes.append("disentanglement needs at least two factors that vary")
    if importance.shape[0] > 1:
        parts["per_factor"] = disentanglement(importance.T)
        parts["completeness"] = float(parts["per_factor"] @ importance.sum(0) / total)
    else:
        notes.append("completeness needs at least two latents")
    parts["importance"] = importance
    if skills:
        on_train, on_test = ([float(skill) for skill in each] for each in zip(*skills, strict=True))
        parts |= {"informativeness": float(np.mean(on_test)), "informativeness_train": float(np.mean(on_train))}
        parts["informativeness_per_factor"] = on_test
        for kept, column, skill in zip(arrays.kept, arrays.factors, on_test, strict=True):
            chance = 0.0 if params["predictor"] in ("regressor", "lasso") else _chance(column)
            if skill <= chance * 1.05 + 0.01:
                notes.append(f"factor {kept} is predicted no better than by chance: the importances for it are noise")
    value = parts["disentanglement"] if parts["disentanglement"] is not None else float("nan")
    return arrays.score(value, parts, notes, **params)


def _chance(column: Column) -> float:
    return 0.0 if column.continuous else float(np.bincount(column.values).max() / len(column.values))


def _shares(raw: Floats, units: Sequence[Ints], copies: list[Ints]) -> Floats:  # [d] -> [units]
    """Each unit's share of the importance for one factor."""
    for group in copies:
        raw[group] = raw[group].mean()
    each = np.array([np.maximum(raw[unit], 0).sum() for unit in units])  # boosting rounds zeros below 0
    return each / each.sum() if each.sum() > 0 else each


def equally_ordered(codes: Floats) -> list[Ints]:
    """Groups of latents that order the rows in the same or in the opposite way.

    Trees cannot distinguish them. Scikit-learn uses one of them at random in each split, LightGBM always the first: its
    importance is divided among them.
    """
    groups: dict[bytes, list[int]] = {}
    for latent, ranks in enumerate(rankdata(codes, axis=0).T):
        key = min(ranks.tobytes(), (len(ranks) + 1 - ranks).tobytes())
        groups.setdefault(key, []).append(latent)
    return [np.array(group) for group in groups.values() if len(group) > 1]


def _fitted(
    predictor: Predictor,
    codes: Floats,
    column: Column,
    rows: tuple[Ints, Ints],
    *,
    trees: int,
    rounds: int,
    depth: Any,
    seed: int,
) -> tuple[Floats, Callable[[], Skills]]:  # [d]
    """Importances of latents for a factor, and what tells how well they predict it."""
    if column.size and len(np.unique(column.values[rows[0]])) < 2:
        return np.zeros(codes.shape[1]), lambda: (0.0, 0.0)
    if predictor == "lightgbm":
        return _boosted(codes, column, rows, rounds, seed)
    model = _model(predictor, column, trees=trees, depth=depth, seed=seed)
    model.fit(codes[rows[0]], column.values[rows[0]])
    best = getattr(model, "best_estimator_", model)
    raw = best.feature_importances_ if hasattr(best, "feature_importances_") else np.abs(best[-1].coef_)
    train, test = rows
    return raw, lambda: (model.score(codes[train], column.values[train]), model.score(codes[test], column.values[test]))


def _boosted(
    codes: Floats, column: Column, rows: tuple[Ints, Ints], rounds: int, seed: int
) -> tuple[Floats, Callable[[], Skills]]:
    """The same by LightGBM with the trees of scikit-learn's gradient boosting; importance is the total gain.

    Data sets are given the settings too: one without them makes LightGBM use all cores in every thread.
    """
    lightgbm = _lightgbm()
    train, test = rows
    labels, seen = column.values, np.unique(column.values[train])
    if not column.continuous:
        test = test[np.isin(labels[test], seen)]
        labels = np.searchsorted(seen, labels)
    objective, metric_name = ("regression", "l2") if column.continuous else ("multiclass", "multi_error")
    if not column.continuous and len(seen) == 2:
        objective, metric_name = "binary", "binary_error"
    shape = {"num_class": len(seen)} if objective == "multiclass" else {}
    data = lightgbm.Dataset(codes[train], labels[train], params=BOOSTING)
    settings = BOOSTING | shape | {"objective": objective, "metric": metric_name, "seed": seed}
    booster = lightgbm.Booster(settings, data)
    for _ in range(rounds):
        booster.update()

    def skills() -> Skills:
        on_train, on_test = booster.eval_train()[0][2], 1.0
        if len(test):
            booster.add_valid(data.create_valid(codes[test], labels[test], params=BOOSTING), "test")
            on_test = booster.eval_valid()[0][2]
        if column.continuous:
            on_train, on_test = (e / np.var(labels[r]) for e, r in ((on_train, train), (on_test, test)))
        unseen = len(rows[1]) - len(test)
        return 1 - on_train, 1 - (on_test * len(test) + unseen) / len(rows[1])

    return booster.feature_importance("gain"), skills


def _lightgbm() -> Any:
    try:
        import lightgbm
    except OSError as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"LightGBM cannot be loaded ({reason}): on macOS 'brew install libomp', or take predictor='trees'"
        ) from error
    return lightgbm


def _model(predictor: Predictor, column: Column, *, trees: int, depth: int | None, seed: int) -> Any:
    from sklearn import ensemble, linear_model, model_selection, pipeline, preprocessing

    kind = "Regressor" if column.continuous else "Classifier"
    shape: dict[str, Any] = {"n_estimators": trees, "max_features": None, "random_state": seed}
    match predictor:
        case "trees":
            return getattr(ensemble, f"ExtraTrees{kind}")(**shape)
        case "forest":
            return getattr(ensemble, f"RandomForest{kind}")(**shape)
        case "gbt":
            return getattr(ensemble, f"GradientBoosting{kind}")(random_state=seed)
        case "lasso":
            return pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LassoCV(random_state=seed))
    forest = ensemble.RandomForestRegressor(REGRESSOR_TREES, max_depth=depth, random_state=seed)
    grid = {"max_depth": list(range(2, 16))}
    folds = model_selection.KFold(3, shuffle=True, random_state=seed)  # rows may come in the order of their factors
    return forest if depth else model_selection.GridSearchCV(forest, grid, cv=folds)
