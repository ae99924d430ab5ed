"""DCI-ES: explicitness E, how little capacity a probe needs to read the factors, and size S; the value is E.

Eastwood, Nicolicioiu, von Kügelgen, Kekić, Träuble, Dittadi and Schölkopf, "DCI-ES: an extended disentanglement
framework with connections to identifiability" (ICLR 2023). Probes of growing capacity c_1 < ... < c_m predict a factor;
l(c) is the lowest loss on test rows of the probes up to capacity c, l_b that of a constant prediction. Over x = log c

    E_k = 1 - AULCC / Z,  AULCC = integral of l - l* over x,  Z = (x_m - x_1) (l_b - l*) / 2,  E = mean over factors
    S   = K / L, the number of factors over the number of latents

1: the smallest probe suffices; 0: the loss falls evenly, in a straight line; -1: no probe learns anything.

As in the paper the loss is 1 - R2 for a quantity and 1 - accuracy for a kind, a factor whose values have no order. What
it leaves open is chosen as follows. l* = 0 is the best possible loss, so that a code without information has E = -1.
The authors' code takes the area above the lowest loss of the curve itself, so that such a code has E = 1
(`reference=True`). Probes are linear models (ridge or logistic regression) of the standardised latents and of 0, 16, 64
and 256 random Fourier features of a Gaussian kernel of width sqrt(L); capacity is the number of inputs. The first probe
is linear, so that E = 1 for codes that are linear in the factors, rotated or not. D, C and I are those of `dci`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.config import Count, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Arrays, Column, Floats, Ints, check_arrays, quantities, standardised, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel, split_rows
from unbraid.metrics.single_neuron_classification import most_common_accuracy


@metric
def dci_es(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    features: Sequence[int] = (0, 16, 64, 256),
    kinds: Sequence[int] = (),
    points: Size = 5_000,
    reference: bool = False,
    train: Size | None = None,
    jobs: Count = 0,
) -> Score:
    """How soon the loss of probes falls as their capacity grows; parts hold size, curves and informativeness.

    Args:
        features: numbers of random Fourier features of the probes, in ascending order
        kinds: places of factors that are numbers without order; all others with more than two values are quantities
        points: training rows that are used at most
        reference: the area above the lowest loss of the curve, not above 0, as in the authors' code
        train: number of leading rows that train, the others test; None draws two thirds
        jobs: threads; 0 uses one for each available core
    """
    _check_features(features)
    arrays = check_arrays(codes, factors)
    columns = _columns(arrays, quantities(arrays, factors, kinds))
    train_rows, test = split_rows(arrays.n, train, rng)
    rows = rng.permutation(train_rows)[:points], test
    inputs = _inputs(standardised(arrays.codes, rows[0]), max(features), rng)
    capacities = arrays.codes.shape[1] + np.array(features)
    work = [(column, int(capacity)) for column in columns for capacity in capacities]
    with no_convergence_warnings():
        flat = parallel(lambda item: _loss(inputs[:, : item[1]], item[0], rows), work, jobs)
    losses = np.array(flat).reshape(len(columns), -1)  # [k, probes]
    base = np.array([_base_loss(column, rows) for column in columns])
    each = explicitness_of_curves(np.log(capacities), losses, base, above_lowest=reference)
    parts: dict[str, Any] = {"explicitness": float(each.mean()), "size": len(columns) / arrays.codes.shape[1]}
    parts |= {"informativeness": float(1 - losses.min(1).mean()), "per_factor": each}
    parts |= {"losses": losses, "capacities": capacities, "base_losses": base}
    params: dict[str, Any] = {"features": list(features), "points": len(rows[0]), "reference": reference}
    return arrays.score(each.mean(), parts, train=len(train_rows), range=(-1.0, 1.0), **params)


def explicitness_of_curves(x: Floats, losses: Floats, base: Floats, *, above_lowest: bool) -> Floats:  # [k, m] -> [k]
    """E of each curve of losses at capacities x; losses are those of the best probe so far, and none exceeds the base.

    A factor that has one value only among the test rows has nothing to learn: its base is 0, and E is 0.
    """
    best = np.minimum.accumulate(np.minimum(losses, base[:, None]), 1)
    floor = best.min(1, keepdims=True) if above_lowest else 0.0
    area = ((best[:, 1:] + best[:, :-1]) / 2 - floor) @ np.diff(x)
    largest = (x[-1] - x[0]) * base / 2
    return np.asarray(np.where(base > 0, 1 - area / np.where(base > 0, largest, 1.0), 0.0))


def _columns(arrays: Arrays, ordered: list[bool]) -> list[Column]:
    """The factors, with quantities as real numbers."""
    pairs = zip(arrays.factors, ordered, strict=True)
    return [Column(c.values.astype(np.float64), 0) if quantity else c for c, quantity in pairs]


def _check_features(features: Sequence[int]) -> None:
    if len(features) < 2 or min(features) < 0 or any(np.diff(features) <= 0):
        raise UserError(f"features must be two or more whole numbers from 0 in ascending order, not {list(features)}")


def _inputs(scaled: Floats, features: int, rng: np.random.Generator) -> Floats:  # [n, d] -> [n, d + features]
    """The latents, then random Fourier features of them; their width leaves constant latents out."""
    alive = max(int(varies(scaled).sum()), 1)
    directions = rng.standard_normal((scaled.shape[1], features)) / alive**0.5
    waves = np.cos(scaled @ directions + rng.uniform(0, 2 * np.pi, features))
    return np.concatenate([scaled, 2**0.5 * waves], 1)


def _loss(x: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    from sklearn.linear_model import LogisticRegression, Ridge

    train, test = rows
    y = column.values
    if np.ptp(y[train]) == 0:
        return _base_loss(column, rows)
    if column.continuous:
        return float(1 - Ridge(1e-3).fit(x[train], y[train]).score(x[test], y[test])) if np.ptp(y[test]) else 0.0
    model = LogisticRegression(C=1e3, solver="lbfgs", tol=1e-3, max_iter=200).fit(x[train], y[train])
    return float((model.predict(x[test]) != y[test]).mean())


def _base_loss(column: Column, rows: tuple[Ints, Ints]) -> float:
    """The loss of a constant prediction."""
    return float(np.ptp(column.values[rows[1]]) > 0) if column.continuous else 1 - most_common_accuracy(column, rows)
