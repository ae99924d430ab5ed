"""Single-neuron classification (SNC): how well each factor is read off one latent of its own by a cut into intervals.

Mahon, Sha and Lukasiewicz, "Correcting flaws in common disentanglement metrics" (TMLR 2024). For a factor with m values
each latent is cut into m bins of equal numbers of training rows. Latents are matched one to one with factors so that
the sum of the mutual information I(bin; factor) is largest; the bins of the matched latent are named one to one by
values so that most training rows are named correctly; a_k is the accuracy of these names on test rows. With r_k the
accuracy of always naming the most common value,

    SNC = 1/K sum_k max((a_k - r_k) / (1 - r_k), 0)

so that chance is about 0; `accuracy` has a_k. A classifier with more freedom than one cut could read an entangled
factor off a single latent, which is the flaw that the paper corrects. A factor without a latent counts 0.

Where a latent has repeated values, they go to the bin of their middle rank (the paper leaves this open), so that a
latent that is a factor is cut correctly even if its values are not equally frequent in the training rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from unbraid.config import Size
from unbraid.metrics.arrays import Column, Floats, Ints, check_arrays
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.fitting import split_rows
from unbraid.metrics.information import contingency, table_information
from unbraid.metrics.mcc import best_match


@metric
def single_neuron_classification(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    factor_bins: Size = 20,
    train: Size | None = None,
) -> Score:
    """The accuracy of naming each factor by intervals of one latent, above that of the most common value.

    Args:
        factor_bins: quantile bins for a continuous factor
        train: number of leading rows that train, the others test; None draws two thirds
    """
    arrays = check_arrays(codes, factors)
    columns = [factor.binned(factor_bins) for factor in arrays.factors]
    rows = split_rows(arrays.n, train, rng)
    matched, matrix = matched_latents(arrays.codes, columns, rows[0])
    accuracy, base = [], []
    for latent, column in zip(matched, columns, strict=True):
        base.append(most_common_accuracy(column, rows))
        accuracy.append(base[-1] if latent is None else _accuracy(arrays.codes[:, latent], column, rows))
    each = above_chance(np.array(accuracy), np.array(base))
    notes = unmatched_warnings(matched)
    parts: dict[str, Any] = {"per_factor": each, "accuracy": accuracy, "most_common": base}
    parts |= {"matched_latent": matched, "mutual_information": matrix}
    return arrays.score(each.mean(), parts, notes, factor_bins=factor_bins, train=len(rows[0]))


def matched_latents(codes: Floats, columns: list[Column], train: Ints) -> tuple[list[int | None], Floats]:  # [d, k]
    """The latent of each factor under the matching with the most information, and the informations."""
    matrix = np.zeros((codes.shape[1], len(columns)))
    for k, column in enumerate(columns):
        labels = Column(column.values[train], column.size)
        for i in range(codes.shape[1]):
            cells = Column(equal_cells(codes[train, i], codes[train, i], column.size), column.size)
            matrix[i, k] = table_information(contingency(cells, labels))
    return best_match(matrix), matrix


def equal_cells(fitted: Floats, x: Floats, cells: int) -> Ints:  # [n], [m] -> [m]
    """The cell of each x among cells of equally many fitted values; equal values go where their middle rank belongs."""
    ordered = np.sort(fitted)
    twice_rank = np.searchsorted(ordered, x, side="left") + np.searchsorted(ordered, x, side="right")
    return np.asarray(np.minimum(twice_rank * cells // (2 * len(ordered)), cells - 1))


def most_common_accuracy(column: Column, rows: tuple[Ints, Ints]) -> float:
    """The share of test rows that have the most common value of the training rows."""
    train, test = rows
    return float((column.values[test] == np.bincount(column.values[train]).argmax()).mean())


def above_chance(accuracy: Floats, base: Floats) -> Floats:
    """The share of the way from the base accuracy to 1; 0 where the base is 1."""
    return np.asarray(np.maximum(accuracy - base, 0) / np.where(base < 1, 1 - base, 1.0))


def unmatched_warnings(matched: list[int | None]) -> list[str]:
    missing = matched.count(None)
    return [f"{missing} of {len(matched)} factors have no latent to match and count 0"] if missing else []


def _accuracy(x: Floats, column: Column, rows: tuple[Ints, Ints]) -> float:
    train, test = rows
    size = column.size
    cells = Column(equal_cells(x[train], x[train], size), size)
    counts = contingency(cells, Column(column.values[train], size))
    named = linear_sum_assignment(counts, maximize=True)[1]  # the value of each cell
    return float((named[equal_cells(x[train], x[test], size)] == column.values[test]).mean())
