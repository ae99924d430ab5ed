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
        order, place = self._by_class
        first = np.searchsorted(self.labels[order], self.labels[rows], "left")
        count = np.searchsorted(self.labels[order], self.labels[rows], "right") - first
        shift = rng.integers(1, np.maximum(count, 2))
        others: Rows = order[first + (place[rows] - first + shift) % count]
        return others

    @cached_property
    def _by_class(self) -> tuple[Rows, Rows]:
        """Rows sorted by class, and the position of each row in that order."""
        order = np.argsort(self.labels, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return order, place
