"""Rows that share the value of a factor: interventions taken from the given rows, not drawn from a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unbraid.metrics.arrays import Arrays, Column, Ints

FEW = 20  # a value with fewer rows is warned of


def sorted_by_value(column: Column) -> tuple[Ints, Ints, Ints]:
    """Rows sorted by value, where each value starts, how many rows it has."""
    counts = np.bincount(column.values, minlength=column.size)
    order = np.argsort(column.values.astype(np.min_scalar_type(column.size)), kind="stable")
    return order, np.cumsum(counts) - counts, counts


def chunk_of(numbers: int) -> int:
    """How many pieces of so many numbers to work on at a time: 2,048, or fewer of more than 128 MB."""
    return max(1, min(2048, (1 << 24) // numbers))


class RowsByValue:
    """Draws rows at random, and other rows with the same value of one factor."""

    def __init__(self, column: Column) -> None:
        self.values = column.values
        self.order, self.starts, self.counts = sorted_by_value(column)
        self.place = np.empty(len(self.order), np.int64)  # of a row among those of its value
        self.place[self.order] = np.arange(len(self.order)) - np.repeat(self.starts, self.counts)

    def batches(self, m: int, size: int, rng: np.random.Generator) -> Ints:  # [m, size]
        """In each batch all rows share the value of one row drawn at random, and none occurs twice.

        Rows that are drawn without replacement from a table of independent rows are themselves independent, so a batch
        has the distribution of newly drawn rows. Values with fewer rows than a batch are drawn with replacement.
        """
        value = self.values[rng.integers(len(self.values), size=m)]
        rows = np.empty((m, size), np.int64)
        for v in np.unique(value):
            wanted, pool = np.flatnonzero(value == v), self.order[self.starts[v] : self.starts[v] + self.counts[v]]
            if len(pool) < size:
                rows[wanted] = rng.choice(pool, (len(wanted), size))
                continue
            cuts = len(pool) // size
            decks = rng.permuted(np.tile(pool, (-(-len(wanted) // cuts), 1)), axis=1)
            rows[wanted] = decks[:, : cuts * size].reshape(-1, size)[: len(wanted)]
        return rows

    def pairs(self, m: int, size: int, rng: np.random.Generator) -> tuple[Ints, Ints]:  # [m, size] twice
        """Rows drawn at random, each with another row of its value (itself if it is the only one)."""
        first = rng.integers(len(self.values), size=(m, size))
        value = self.values[first]
        counts = self.counts[value]
        shift = 1 + (rng.random((m, size)) * (counts - 1)).astype(np.int64)
        second = self.starts[value] + (self.place[first] + shift) % counts
        return first, np.asarray(self.order[second])


def rare_value_warnings(arrays: Arrays, columns: Sequence[Column]) -> list[str]:
    """A warning for each factor that has values with few rows."""
    notes = []
    for kept, column in zip(arrays.kept, columns, strict=True):
        counts = np.bincount(column.values, minlength=column.size)
        if counts.min() < FEW:
            rare = (counts < FEW).sum()
            notes.append(f"{rare} of {column.size} values of factor {kept} have fewer than {FEW} rows")
    return notes
