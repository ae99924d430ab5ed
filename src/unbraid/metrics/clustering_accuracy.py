"""Clustering accuracy: k-means on a t-SNE plane, clusters matched one to one with the values of a factor.

The accuracy and silhouette columns of tables on contrastive analysis: codes are mapped to a plane by t-SNE (van der
Maaten and Hinton, JMLR 2008), k-means finds as many clusters as the factor has values, and the best one-to-one matching
(Hungarian method) assigns them to values. Silhouettes (Rousseeuw 1987) on the plane are given both for the true values
and for the clusters, since published tables do not say which they print. The value is the mean over factors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from unbraid.config import Count, Rate, Size
from unbraid.errors import UserError
from unbraid.metrics.arrays import Column, Floats, Ints, check_arrays, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings
from unbraid.metrics.information import contingency
from unbraid.metrics.plane import tsne_plane


@metric
def clustering_accuracy(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    plane: bool = True,
    perplexity: Rate = 30.0,
    most: Size = 5000,
    factor_bins: Size = 20,
    resamplings: Count = 200,
) -> Score:
    """The share of rows in the cluster that is matched to their value.

    Args:
        plane: cluster on the t-SNE plane; otherwise cluster the codes themselves
        perplexity: of t-SNE
        most: the largest number of rows; of more, a random subset is used
        factor_bins: quantile bins for a continuous factor
        resamplings: of the rows, with the same clusters, for the interval
    """
    arrays = check_arrays(codes, factors)
    columns = [factor.binned(factor_bins) for factor in arrays.factors]
    rows = np.sort(rng.permutation(arrays.n)[:most])
    space: Floats = arrays.codes[rows][:, varies(arrays.codes)].astype(np.float64)
    if not space.shape[1] or len(rows) <= max(c.size for c in columns) or (plane and perplexity >= len(rows)):
        raise UserError(f"{len(rows)} rows of {space.shape[1]} latents that vary are too few to cluster")
    seed = int(rng.integers(2**31))
    space = tsne_plane(space, perplexity=perplexity, seed=seed) if plane else space
    found = [_clusters(space, Column(column.values[rows], column.size), seed) for column in columns]
    per_row = np.mean([right for right, _ in found], 0)
    low, high = interval_of_mean(per_row, resamplings, rng)
    shuffled = [Column(rng.permutation(c.values[rows]), c.size) for c in columns]
    null = np.mean([matched(p["clusters"], c).mean() for (_, p), c in zip(found, shuffled, strict=True)])
    each = [float(right.mean()) for right, _ in found]
    silhouettes = {name: [p[name] for _, p in found] for name in ("silhouette_values", "silhouette_clusters")}
    notes = [f"{most} of {arrays.n} rows are used"] if arrays.n > most else []
    params = {"plane": plane, "perplexity": perplexity, "interval": "bootstrap of the rows with the same clusters"}
    score = arrays.score(np.mean(each), {"per_factor": each} | silhouettes, notes, **params)
    return replace(score, low=low, high=high, null=float(null), n=len(rows))


def interval_of_mean(
    values: Floats, resamplings: int, rng: np.random.Generator
) -> tuple[float, float] | tuple[None, None]:
    """The 95 % bootstrap interval of a mean over rows."""
    picks = rng.integers(len(values), size=(resamplings, len(values)))
    if not resamplings:
        return None, None
    low, high = np.quantile(values[picks].mean(1), [0.025, 0.975]).tolist()
    return low, high


def matched(clusters: Column, truth: Column) -> Floats:  # [n]
    """1 where a row's cluster is the one matched to its value, else 0."""
    table = contingency(clusters, truth)
    name = np.full(clusters.size, -1)
    cluster, value = linear_sum_assignment(table, maximize=True)
    name[cluster] = value
    return np.asarray(name[clusters.values] == truth.values, np.float64)


def _clusters(space: Floats, truth: Column, seed: int) -> tuple[Floats, dict[str, Any]]:
    from sklearn.cluster import KMeans

    with no_convergence_warnings():  # fewer distinct points than values
        labels = KMeans(truth.size, n_init=10, random_state=seed).fit_predict(space).astype(np.int64)
    clusters = Column(labels, truth.size)
    parts = {
        "clusters": clusters,
        "silhouette_values": _silhouette(space, truth.values),
        "silhouette_clusters": _silhouette(space, labels),
    }
    return matched(clusters, truth), parts


def _silhouette(space: Floats, labels: Ints) -> float | None:
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(space, labels)) if 1 < len(np.unique(labels)) < len(labels) else None
