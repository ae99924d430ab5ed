"""Two sets of rows to be told apart: a target with something added, and a background without it."""

from __future__ import annotations

from abc import ABC

import numpy as np
from numpy.typing import NDArray

from unbraid.data.split import part
from unbraid.data.table import Bytes, Rows, Table, Values
from unbraid.errors import UserError


class Contrast(Table, ABC):
    """The rows are the target's; their one factor is what was added."""

    target: Table
    labels: NDArray[np.int64]  # [n]

    def __len__(self) -> int:
        return len(self.labels)

    def images(self, rows: Rows) -> Bytes:
        return self.target.images(rows)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def take(self, table: Table, target: Rows, labels: NDArray[np.int64], background: Rows) -> None:
        """Makes this set of a table: the rows of the target with their classes, and the rows of the background."""
        if not len(target) or not len(background):
            raise UserError(
                f"{self.name} found {len(target)} target and {len(background)} background rows: it needs both"
            )
        self.shape, self.labels = table.shape, labels
        self.target, self.background = part(table, target), part(table, background)


def some(rows: Rows, count: int, rng: np.random.Generator) -> Rows:
    """As many of these rows as are wanted or there, in their old order."""
    if count < 1:
        raise UserError(f"at least 1 row must be taken, not {count}")
    return np.sort(rng.permutation(rows)[:count])
