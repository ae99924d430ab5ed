"""A target set, in which something is added, against a background set without it."""

from __future__ import annotations

from abc import ABC

import numpy as np
from numpy.typing import NDArray

from unbraid.data.split import select_rows
from unbraid.data.table import Bytes, Rows, Table, Values
from unbraid.errors import UserError


class TargetTable(Table, ABC):
    """The rows are those of the target; their only factor is what was added."""

    target: Table
    labels: NDArray[np.int64]  # [n]

    def __len__(self) -> int:
        return len(self.labels)

    def images(self, rows: Rows) -> Bytes:
        return self.target.images(rows)

    def values(self, rows: Rows) -> Values:
        return self.labels[rows][:, None]

    def build_from(self, table: Table, target: Rows, labels: NDArray[np.int64], background: Rows) -> None:
        """Builds this set from rows of a table: the target's rows with their classes, and the background's rows."""
        if not len(target) or not len(background):
            raise UserError(
                f"{self.name} found {len(target)} target and {len(background)} background rows: it needs both"
            )
        self.shape, self.labels = table.shape, labels
        self.target, self.background = select_rows(table, target), select_rows(table, background)


def draw_rows(rows: Rows, count: int, rng: np.random.Generator) -> Rows:
    """At most `count` of these rows, drawn at random, in their original order."""
    return np.sort(rng.permutation(rows)[:count])
