"""Mutual information between latents and factors, in nats, from counts or from nearest neighbours."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma, xlogy

from unbraid.errors import UserError
from unbraid.metrics.arrays import Arrays, Column, Floats, Ints, extremes, varies, vary_between
from unbraid.metrics.fitting import no_convergence_warnings

Estimator = Literal["equal", "quantile", "knn"]
Counts = NDArray[Any]
NEIGHBOURS = 3
OUTLIER = 20.0  # a range of more standard deviations than this is due to outliers


def information_matrix(
    arrays: Arrays,
    columns: tuple[Column, ...],
    *,
    estimator: Estimator,
    bins: int,
    rng: np.random.Generator,
    neighbours: int = NEIGHBOURS,
) -> Floats:  # [units, k]
    """Mutual information of each latent unit with each factor."""
    if estimator == "knn":
        standard = arrays.codes - arrays.codes.mean(0, dtype=np.float64)
        standard = standard / np.where(varies(arrays.codes), standard.std(0), np.inf)
        each = [[neighbour_information(standard[:, u], c, rng, neighbours) for c in columns] for u in arrays.units]
        return np.array(each)
    cells = discretise(arrays, estimator=estimator, bins=bins, rng=rng)
    return np.array([[table_information(contingency(cell, column)) for column in columns] for cell in cells])


def discretise(arrays: Arrays, *, estimator: Estimator, bins: int, rng: np.random.Generator) -> list[Column]:
    """Each unit as one label for each sample: bins for a single latent, k-means clusters for several."""
    if bins < 2 or arrays.n < bins:
        raise UserError(f"bins must be at least 2 and at most the {arrays.n} samples, not {bins}")
    return [
        Column(bin_labels(arrays.codes[:, unit[0]], estimator, bins), bins)
        if len(unit) == 1
        else Column(_clusters(arrays.codes[:, unit], bins, rng), bins)
        for unit in arrays.units
    ]


def bin_labels(x: Floats, estimator: Estimator, bins: int) -> Ints:  # [n] -> [n]
    """The number of the bin, 0 .. bins - 1; a bin includes its left edge. A constant latent has a single bin."""
    x = np.ascontiguousarray(x)
    low, high = x.min(), x.max()
    if not vary_between(low, high):
        return np.zeros(len(x), np.int64)
    if estimator == "quantile":
        return np.searchsorted(np.quantile(x, np.linspace(0, 1, bins + 1)[1:-1]), x, side="right")
    edges = np.linspace(low, high, bins + 1, dtype=x.dtype)
    if (high - low) / bins < 4 * np.spacing(max(abs(low), abs(high))) or not np.isfinite(high - low):
        return np.searchsorted(edges[1:-1], x, side="right")
    labels: Ints = ((x - low) * (bins / (high - low))).astype(np.int64)  # right, or one off by rounding
    np.minimum(labels, bins - 1, out=labels)
    labels -= x < edges[labels]
    labels += (x >= edges[labels + 1]) & (labels < bins - 1)
    return labels


def contingency(a: Column, b: Column) -> Counts:  # [a.size, b.size]
    """How often each pair of labels occurs."""
    return np.bincount(a.values * b.size + b.values, minlength=a.size * b.size).reshape(a.size, b.size)


def table_information(counts: Counts) -> float:
    """Mutual information of the two labels of a table of counts."""
    n = counts.sum()
    return max(float(xlogy(counts, counts).sum() - _row_sums(counts) + xlogy(n, n)) / float(n), 0.0)


def entropy(column: Column) -> float:
    """Entropy of a discrete factor, from its counts."""
    p = np.bincount(column.values) / len(column.values)
    return float(-xlogy(p, p).sum())


def neighbour_information(
    x: Floats, column: Column, rng: np.random.Generator, neighbours: int = NEIGHBOURS
) -> float:  # [n, m]
    """Ross (PLOS ONE 2014): real x against labels, from the distance to the third neighbour of the same label.

    Labels with a single sample are left out; ties are broken by noise of 1e-10 standard deviations.
    """
    counts = np.bincount(column.values, minlength=column.size)
    rows = np.flatnonzero(counts[column.values] > 1)
    if not varies(x).any() or not len(rows):
        return 0.0
    x = np.asarray(x[rows] + 1e-10 * rng.standard_normal((len(rows), x.shape[1])), np.float64)
    labels, radius = column.values[rows], np.empty(len(rows))
    if x.shape[1] == 1:  # neighbours in memory too
        order = np.argsort(x[:, 0])
        x, labels = x[order], labels[order]
    slack = 8 * np.finfo(float).eps * np.abs(x).max()  # excludes the neighbour itself despite rounding
    k = np.minimum(neighbours, counts[labels] - 1)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        radius[own] = np.maximum(_neighbour_distance(x[own], int(k[own[0]])) - slack, 0)
    near = _within(x, radius)
    terms = digamma(len(rows)) + _mean_digamma(k) - _mean_digamma(counts[labels]) - _mean_digamma(near)
    return max(float(terms), 0.0)


def _mean_digamma(values: Ints) -> float:
    times = np.bincount(values)
    seen = np.flatnonzero(times)
    return float(times[seen] @ digamma(seen) / len(values))


def _neighbour_distance(x: Floats, k: int) -> Floats:  # [n, m] -> [n]
    """Largest coordinate difference to the k-th nearest other row."""
    if x.shape[1] > 1:
        return np.asarray(cKDTree(x).query(x, k=[k + 1], p=np.inf)[0][:, 0])
    order = np.argsort(x[:, 0], kind="stable")
    n, here, beyond = len(x), x[order, 0], np.full(k, np.inf)
    padded = np.concatenate([-beyond, here, beyond])
    windows = [np.maximum(here - padded[s : s + n], padded[s + k : s + k + n] - here) for s in range(k + 1)]
    distance = np.empty(n)
    distance[order] = np.min(windows, 0)
    return distance


def _within(x: Floats, radius: Floats) -> Ints:  # [n, m], [n] -> [n]
    """How many rows, each one included, lie within the radius of each."""
    if x.shape[1] > 1:
        return np.asarray(cKDTree(x).query_ball_point(x, radius, p=np.inf, return_length=True))
    values = np.sort(x[:, 0], kind="stable")
    above = np.searchsorted(values, x[:, 0] + radius, side="right")
    return np.asarray(above - np.searchsorted(values, x[:, 0] - radius, side="left"))


def histogram_warnings(arrays: Arrays, columns: tuple[Column, ...], *, estimator: Estimator, bins: int) -> list[str]:
    """Warnings about mutual information that is estimated from a histogram."""
    if estimator == "knn":
        return []
    notes = []
    for kept, column in zip(arrays.kept, columns, strict=True):
        h = entropy(column)
        if (bias := (bins - 1) * (column.size - 1) / (2 * arrays.n)) > 0.05 * h:
            notes.append(
                f"{arrays.n} samples are few for {bins} bins by {column.size} values of factor {kept}: "
                f"chance alone gives about {bias:.2f} of its {h:.2f} nats"
            )
        if np.log(bins) < h * 0.99:
            notes.append(
                f"factor {kept} has {column.size} values and a latent {bins} bins: "
                f"even a perfect latent has at most {np.log(bins) / h:.0%} of its entropy"
            )
    if estimator == "equal":
        low, high = extremes(arrays.codes)
        spread = high - low > OUTLIER * arrays.codes.std(0, dtype=np.float64)
        stretched = np.flatnonzero(spread & vary_between(low, high))
        notes += [
            f"outliers of latent {j} leave most rows in a few bins: estimator 'quantile' is not affected"
            for j in stretched
        ]
    return notes


def _row_sums(counts: Counts) -> float:
    rows, columns = counts.sum(1), counts.sum(0)
    return float(xlogy(rows, rows).sum() + xlogy(columns, columns).sum())


def _clusters(x: Floats, bins: int, rng: np.random.Generator) -> Ints:
    from sklearn.cluster import KMeans

    scaled = (x - x.mean(0)) / np.where(varies(x), x.std(0), 1.0)
    distinct = len(np.unique(scaled, axis=0))
    cluster = KMeans(min(bins, distinct), n_init=1, max_iter=50, random_state=int(rng.integers(2**31)))
    with no_convergence_warnings():
        return np.asarray(cluster.fit_predict(scaled), np.int64)
