"""FactorVAE score: whether the latent that varies least predicts which factor is held fixed.

Kim and Mnih, "Disentangling by factorising" (ICML 2018). In a batch that shares the value of a random factor, the
latent with the smallest variance relative to its variance over all rows casts a vote; a majority table from latent to
factor, made of some votes, is scored on others. Batches are looked up among the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.config import Size, Weight
from unbraid.metrics.arrays import Arrays, Bools, Column, Floats, Ints, check_arrays, varies
from unbraid.metrics.contract import Codes, Factors, Score, metric
from unbraid.metrics.interventions import RowsByValue, chunk_of, rare_value_warnings


@metric
def factor_vae_score(
    codes: Codes,
    factors: Factors,
    rng: np.random.Generator,
    *,
    batch: Size = 64,
    votes: Size = 10_000,
    test_votes: Size = 5_000,
    prune: Weight = 0.0,
    factor_bins: Size = 20,
    reference: bool = False,
    units: Sequence[int] | None = None,
) -> Score:
    """How often the latent with the least variance predicts the factor that is held fixed.

    Args:
        batch: rows that share a value in each vote
        votes: votes that make the table from latent to factor
        test_votes: votes that score the table
        prune: latents with a smaller standard deviation cast no vote; constant ones never do
        factor_bins: quantile bins for a continuous factor
        reference: prune at 0.05, whatever the scale of the codes, as in the published tables
        units: the unit that each latent belongs to; None: each latent is a unit
    """
    arrays = check_arrays(codes, factors, units)
    columns, limit = [factor.binned(factor_bins) for factor in arrays.factors], 0.05 if reference else prune
    params = {"batch": batch, "votes": votes, "prune": limit, "factor_bins": factor_bins}
    if len(columns) < 2:
        return arrays.undefined("the FactorVAE score needs at least two factors that vary", **params)
    spread = np.where(varies(arrays.codes), arrays.codes.std(0, ddof=1, dtype=np.float64), 0.0)
    active = np.array([spread[unit].max() > limit for unit in arrays.units])
    pruned = f"latents {np.flatnonzero(~active).tolist()} do not vary by more than {limit} and cast no vote"
    notes = [*rare_value_warnings(arrays, columns), *([] if active.all() else [pruned])]
    if not active.any():
        return arrays.score(0, {"active_latents": []}, notes, **params)
    scaled = (arrays.codes - arrays.codes.mean(0)) / np.where(spread > limit, spread, np.inf)
    held = rng.integers(len(columns), size=votes + test_votes)
    cast = _all_votes(scaled, columns, held, batch, arrays, active, rng)
    right, parts = majority(cast, held, votes, (len(active), len(columns)))
    return arrays.score(right.mean(), parts | {"active_latents": np.flatnonzero(active)}, notes, **params)


def majority(cast: Ints, held: Ints, votes: int, shape: tuple[int, int]) -> tuple[Bools, dict[str, Any]]:
    """Which test votes the majorities of the first `votes` predict correctly, and the parts of the score."""
    table = np.zeros(shape, np.int64)
    np.add.at(table, (cast[:votes], held[:votes]), 1)
    right = table.argmax(1)[cast] == held
    test = right[votes:]
    each = np.array([test[held[votes:] == k].mean() for k in range(shape[1])])
    return test, {"train": right[:votes].mean(), "votes": table, "per_factor": each}


def _all_votes(
    scaled: Floats,
    columns: list[Column],
    held: Ints,
    batch: int,
    arrays: Arrays,
    active: Bools,
    rng: np.random.Generator,
) -> Ints:  # like held
    """The unit that each batch votes for, given the factor that is held fixed in it."""
    cast = np.empty(len(held), np.int64)
    for k, column in enumerate(columns):
        cast[held == k] = _votes(scaled, RowsByValue(column), int((held == k).sum()), batch, arrays, active, rng)
    return cast


def _votes(
    scaled: Floats, lookup: RowsByValue, m: int, batch: int, arrays: Arrays, active: Bools, rng: np.random.Generator
) -> Ints:  # [m]
    variances = batch_variances(scaled, lookup, m, batch, arrays.units, rng)
    return np.asarray(np.where(active, variances, np.inf).argmin(1))


def batch_variances(
    scaled: Floats, lookup: RowsByValue, m: int, batch: int, units: Sequence[Ints], rng: np.random.Generator
) -> Floats:  # [m, units]
    """The variance of each unit, up to a common scale, in m batches of rows that share a value."""
    found = [np.empty((0, len(units)))]
    chunk = chunk_of(batch * scaled.shape[1])
    for start in range(0, m, chunk):
        rows = scaled[lookup.batches(min(chunk, m - start), batch, rng)]  # [m, batch, d]
        variance = np.einsum("mbd,mbd->md", rows, rows) - rows.sum(1) ** 2 / batch
        found.append(np.stack([variance[:, unit].mean(1) for unit in units], 1))
    return np.concatenate(found)
