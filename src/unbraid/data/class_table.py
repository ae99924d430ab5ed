"""Tables whose rows have a class."""

from __future__ import annotations

from abc import ABC
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Rows, Table, Values


class ClassTable(Table, ABC):
    """One factor, the class, is known for each row. Two views are two rows of one class."""

    gives: tuple[str, ...] = ("Images", "Labelled", "Views")
    labels: NDArray[np.int64]  # [n]

    def __len__(self) -> int:
        return len(self.labels)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """Another row of the same class, or the row itself if its class has no other."""
        return self._by_class.partner(rows, rng)

    @cached_property
    def _by_class(self) -> Classes:
        return Classes(self.labels)


class Classes:
    """Rows sorted by class, to find others of the same class."""

    def __init__(self, labels: NDArray[np.int64]) -> None:
        self.labels, self.order = labels, np.argsort(labels, kind="stable")
        self.sorted = labels[self.order]
        self.place = np.empty_like(self.order)  # of each row in that order
        self.place[self.order] = np.arange(len(labels))

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        first, last = (np.searchsorted(self.sorted, self.labels[rows], side) for side in ("left", "right"))
        shift = rng.integers(1, np.maximum(last - first, 2))
        others: Rows = self.order[first + (self.place[rows] - first + shift) % (last - first)]
        return others
