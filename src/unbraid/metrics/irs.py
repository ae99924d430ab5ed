"""Interventional robustness score: how little a latent changes when all factors but its own change.

Suter, Miladinovic, Schölkopf and Bauer, "Robustly disentangled causal mechanisms" (ICML 2019). For latent i and factor
j: over the rows that share a value of factor j, the quantile of |z_i - its mean there|; the mean of that over values,
divided by the largest |z_i - mean z_i|, is subtracted from 1. Each latent takes its best factor, and is weighted by its
largest deviation. Interventions are taken from the given rows.

It lies between -1 and 1: within a group of rows deviations are taken from the mean of that group, and can be larger
than any deviation from the mean of all codes. Entangled codes can therefore score less than noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.config import Count, Share
from unbraid.metrics.arrays import Arrays, Column, Floats, check_arrays, labelled
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.information import bin_labels
from unbraid.metrics.interventions import rare_value_warnings, sorted_by_value


@metric
def irs(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    quantile: Share = 0.99,
    factor_bins: Count = 20,
    units: Sequence[int] | None = None,
) -> Score:
    """How little each latent changes while one factor is held fixed and the others change.

    Args:
        quantile: of the deviations; 1 is the maximum of the paper
        factor_bins: equal-width bins for every factor, as in the published tables; 0 keeps all values of a discrete
            factor and cuts continuous ones at 20 quantiles
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns = [_binned(factor, factor_bins) for factor in arrays.factors]
    alive = np.flatnonzero(arrays.alive)
    notes = rare_value_warnings(arrays, columns)
    settings = {"quantile": quantile, "factor_bins": factor_bins, "range": (-1.0, 1.0)}
    if not len(alive):
        notes.append("every latent is constant")
        return arrays.score(0, {"active_latents": []}, notes, **settings)
    latents = np.ascontiguousarray(arrays.codes.T)  # [d, n]; in the precision of the codes, as the published values
    widest = _length(latents - latents.mean(1, keepdims=True), arrays).max(1)  # [units]
    held = np.stack([_deviation(column, arrays, quantile) for column in columns], 1)  # [units, k]
    matrix = np.where(arrays.alive[:, None], 1 - held / np.maximum(widest, np.finfo(float).tiny)[:, None], 0.0)
    per_latent = matrix.max(1)
    parts = {
        "unweighted": float(per_latent[alive].mean()),
        "per_latent": per_latent,
        "parent": [int(k) if live else None for k, live in zip(matrix.argmax(1), arrays.alive, strict=True)],
        "matrix": matrix,
        "active_latents": alive,
    }
    value = np.average(per_latent[alive], weights=widest[alive])
    return arrays.score(value, parts, notes, **settings)


def _binned(factor: Column, bins: int) -> Column:
    if not bins:
        return factor.binned(20)
    if factor.continuous:
        return labelled(bin_labels(factor.values, "equal", bins))
    return labelled(bin_labels(np.arange(factor.size, dtype=np.float64), "equal", bins)[factor.values])


def _deviation(column: Column, arrays: Arrays, quantile: float) -> Floats:  # [units]
    """The quantile of the deviation within each value, averaged over values."""
    order, starts, counts = sorted_by_value(column)
    rows = arrays.codes[order]  # [n, d]
    total = np.zeros(len(arrays.units))
    for start, count in zip(starts, counts, strict=True):
        group = rows[start : start + count]
        difference = np.ascontiguousarray((group - group.mean(0)).T)  # [d, m]; summed row by row, as published values
        total += _quantile(_length(difference, arrays), quantile)
    return total / column.size


def _length(difference: Floats, arrays: Arrays) -> Floats:  # [d, n] -> [units, n]
    if len(arrays.units) == len(difference):
        return np.abs(difference)
    return np.stack([np.sqrt((difference[unit] ** 2).sum(0)) for unit in arrays.units])


def _quantile(x: Floats, q: float) -> Floats:  # [d, m] -> [d]
    """Linear interpolation between order statistics; np.quantile gives the same and takes far longer."""
    place = q * (x.shape[1] - 1)
    below = int(place)
    above = min(below + 1, x.shape[1] - 1)
    ordered = np.partition(x, (below, above), 1)
    return np.asarray(ordered[:, below] + (place - below) * (ordered[:, above] - ordered[:, below]))
