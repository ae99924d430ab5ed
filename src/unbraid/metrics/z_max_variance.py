"""Z-max variance: whether the latent that varies most predicts which factor alone varies.

Kim, Wang, Sahu and Pavlovic, "Relevance Factor-VAE" (2019), under the name that Carbonneau, Zaidi, Boilard and Gagnon,
"Measuring disentanglement: a review of metrics" (2020) give it. The opposite intervention to that of the FactorVAE
score (Z-min variance): in a batch all factors but one, k, are held, and the latent with the largest variance relative
to its variance over all rows casts a vote,

    vote  = argmax over i of Var_batch(z_i) / Var(z_i)
    value = share of test votes with majority(vote) = k

where majority is the table from latent to factor made of other votes. As for the FactorVAE score the value is the
accuracy itself, 1 / K by chance; the review's code rescales it to (value - 1/K) / (1 - 1/K), given as `rescaled`.

Batches are looked up among the rows: groups of rows that agree in all factors but k and have at least two values of k.
A group is drawn in proportion to its rows. Continuous factors are held within 3 bins, as in the review's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.config import Size
from unbraid.metrics.arrays import Arrays, Column, Ints, check_arrays, labelled, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.factor_vae_score import batch_variances, majority
from unbraid.metrics.interventions import RowsByValue

FEW = 0.1  # a smaller share of usable rows is warned of


@metric
def z_max_variance(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    batch: Size = 64,
    votes: Size = 5_000,
    test_votes: Size = 5_000,
    factor_bins: Size = 3,
    units: Sequence[int] | None = None,
) -> Score:
    """How often the latent with the most variance predicts the only factor that varies.

    Args:
        batch: rows in each vote; drawn with replacement from a group that has fewer
        votes: votes that make the table from latent to factor
        test_votes: votes that score the table
        factor_bins: quantile bins for a continuous factor
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns = [factor.binned(factor_bins) for factor in arrays.factors]
    params: dict[str, Any] = {"batch": batch, "votes": votes, "factor_bins": factor_bins}
    if len(columns) < 2:
        return arrays.undefined("the Z-max variance needs at least two factors that vary", **params)
    groups = [_groups(columns, k) for k in range(len(columns))]
    usable = {k: len(rows) / arrays.n for k, (rows, _) in zip(arrays.kept, groups, strict=True)}
    if lost := [f"factor {k}" for k, share in usable.items() if share == 0]:
        return arrays.undefined(f"no two rows differ in {' or '.join(lost)} alone: give more rows", **params)
    notes = [
        f"only {share:.1%} of the rows have another that differs in factor {k} alone"
        for k, share in usable.items()
        if share < FEW
    ]
    parts: dict[str, Any] = {"usable_rows": list(usable.values())}
    if not arrays.alive.any():
        return arrays.score(0, parts, [*notes, "all latents are constant and cast no vote"], **params)
    varied = rng.integers(len(columns), size=votes + test_votes)
    cast = _votes(arrays, groups, varied, batch, rng)
    right, found = majority(cast, varied, votes, (len(arrays.units), len(columns)))
    chance = 1 / len(columns)
    parts |= found | {"rescaled": (right.mean() - chance) / (1 - chance)}
    return arrays.score(right.mean(), parts, notes, **params)


def _votes(
    arrays: Arrays, groups: list[tuple[Ints, Column]], varied: Ints, batch: int, rng: np.random.Generator
) -> Ints:  # like varied
    """The unit that each batch votes for, given the factor that varies in it."""
    spread = np.where(varies(arrays.codes), arrays.codes.std(0, dtype=np.float64), np.inf)
    scaled = (arrays.codes - arrays.codes.mean(0)) / spread
    cast = np.empty(len(varied), np.int64)
    for k, (rows, column) in enumerate(groups):
        lookup, m = RowsByValue(column), int((varied == k).sum())
        variances = batch_variances(scaled[rows], lookup, m, batch, arrays.units, rng)
        cast[varied == k] = np.where(arrays.alive, variances, -np.inf).argmax(1)
    return cast


def _groups(columns: Sequence[Column], k: int) -> tuple[Ints, Column]:
    """The rows that agree with another one in all factors but k and differ from it in k; the group of each."""
    ids: Any = np.zeros(len(columns[k].values), np.int64)
    for j, column in enumerate(columns):
        if j != k:
            ids = labelled(ids * column.size + column.values).values
    pairs = labelled(ids * columns[k].size + columns[k].values)
    first_of_pair = np.unique(pairs.values, return_index=True)[1]
    values_in_group = np.bincount(ids[first_of_pair])
    rows = np.flatnonzero(values_in_group[ids] > 1)
    return rows, (labelled(ids[rows]) if len(rows) else Column(ids[rows], 1))
