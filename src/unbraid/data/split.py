"""Parts of a table: held-out rows, rows with correlated factors, any chosen rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unbraid.data.arrays import PairTable
from unbraid.data.class_table import Classes, ClassTable
from unbraid.data.moves import until_found
from unbraid.data.table import Bytes, Product, Rows, Table, Values, arguments_of_part
from unbraid.errors import UserError


class Subset(Table):
    """Some rows of a table, in a given order, possibly with repeats."""

    labels: NDArray[np.int64] | None  # the class of each row, where views are rows of one class

    def __init__(self, table: Table, rows: Rows) -> None:
        self.arguments, self.of_files = arguments_of_part(table, rows), table.of_files
        self.table, self.chosen = table, rows
        self.name, self.shape, self.factors, self.gives = table.name, table.shape, table.factors, table.gives
        self.label, self.nuisances, self.groups, self.shared = table.label, table.nuisances, table.groups, table.shared
        self.background, self.files = table.background, tuple(table.files[row] for row in rows if table.files)
        self.scaling, self.origin, self.class_names = table.scaling, table.origin, table.class_names
        self.order = np.argsort(rows, kind="stable")
        self.labels = (
            table.labels[rows] if isinstance(table, ClassTable | Subset) and table.labels is not None else None
        )

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def changeable(self) -> int:
        return self.table.changeable

    def images(self, rows: Rows) -> Bytes:
        return self.table.images(self.chosen[rows])

    def values(self, rows: Rows) -> Values:
        return self.table.values(self.chosen[rows])

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        return until_found(lambda rows, k: self._find(self.table.change(self.chosen[rows], k, rng)), rows, k)

    def follow(self, rows: Rows, rate: float, rng: np.random.Generator) -> Rows:
        try:
            return until_found(lambda rows, _: self._find(self.table.follow(self.chosen[rows], rate, rng)), rows, rows)
        except UserError as error:
            raise UserError(
                f"{error}; in films the next frame may be held out: hold out whole films, by hold_out(where=...)"
            ) from error

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        if self._classes is not None:
            return self._classes.partner(rows, rng)
        return until_found(lambda rows, _: self._find(self.table.partner(self.chosen[rows], rng)), rows, rows)

    @cached_property
    def _classes(self) -> Classes | None:
        return None if self.labels is None else Classes(self.labels)

    def _find(self, wanted: Rows) -> Rows:
        place = np.searchsorted(self.chosen, wanted, sorter=self.order)
        rows: Rows = self.order[np.minimum(place, len(self) - 1)]
        rows[self.chosen[rows] != wanted] = -1
        return rows


def select_rows(table: Table, rows: Rows) -> Table:
    """The table with only these rows."""
    return table.with_rows(rows) if isinstance(table, Product | PairTable) else Subset(table, rows)


def hold_out(
    table: Table,
    *,
    fraction: float = 0.0,
    count: int = 0,
    where: Mapping[str, Collection[int]] | None = None,
    seed: int = 0,
) -> Table:
    """The table without some rows, which become its `test`. Exactly one of the first three arguments is needed.

    Args:
        fraction: share of the rows to hold out, drawn at random
        count: number of rows to hold out, drawn at random
        where: factor -> its held-out values; with several factors, their combinations
        seed: seed of the draw
    """
    if sum(map(bool, (fraction, count, where))) != 1:
        raise UserError("hold_out needs exactly one of fraction, count and where")
    if count < 0 or not 0 <= fraction <= 1:
        raise UserError(f"hold_out needs a fraction between 0 and 1 or a count above 0, not {fraction or count}")
    if where:
        values = table.values(np.arange(len(table)))
        out = np.all([np.isin(values[:, table.column(name)], list(chosen)) for name, chosen in where.items()], 0)
        test, train = np.flatnonzero(out), np.flatnonzero(~out)
    else:
        count = count or round(fraction * len(table))
        order = np.random.default_rng(seed).permutation(len(table))
        test, train = order[:count], order[count:]
    if not len(test) or not len(train):
        rest = "which leaves none to train on" if len(test) else "and nothing to test on"
        raise UserError(f"this would hold out {len(test):,} of the {len(table):,} rows of '{table.name}', {rest}")
    kept = select_rows(table, np.sort(train))
    kept.test = select_rows(table, np.sort(test))
    return kept


def correlation(sizes: tuple[int, int], strength: float) -> NDArray[np.float64]:
    """p(a, b) ~ exp(-(a - b)^2 / 2 sigma^2) with both factors scaled to [0, 1] (Träuble et al., 2021, section 3)."""
    if not strength > 0:
        raise UserError(
            f"sigma, the width of a correlation, must be more than 0, not {strength}: 0.1 is strong, 0.4 mild"
        )
    a, b = (np.linspace(0, 1, size) for size in sizes)
    p = np.exp(-((a[:, None] - b) ** 2) / (2 * strength**2))
    return np.asarray(p / p.sum())


def correlate(table: Table, factors: tuple[str, str], strength: float, *, count: int = 0, seed: int = 0) -> Table:
    """Rows drawn with replacement so that two factors follow `correlation`; the other factors are drawn as before.

    Args:
        count: number of rows to draw; 0: as many as the table has
        seed: seed of the draw
    """
    first, second = (table.column(name) for name in factors)
    if first == second:
        raise UserError(f"{factors[0]} cannot be correlated with itself")
    if count < 0:
        raise UserError(f"the number of correlated rows must be more than 0, not {count}")
    sizes = (table.factors[first].size, table.factors[second].size)
    values = table.values(np.arange(len(table)))
    cells = values[:, first] * sizes[1] + values[:, second]  # [rows]
    order, counts = np.argsort(cells, kind="stable"), np.bincount(cells, minlength=sizes[0] * sizes[1])
    p = correlation(sizes, strength).ravel() * (counts > 0)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(p), count or len(table), p=p / p.sum())
    rows = order[np.cumsum(counts)[drawn] - counts[drawn] + rng.integers(0, counts[drawn])]
    correlated = select_rows(table, rows)
    correlated.test = table.test
    return correlated


def restrict(table: Product, to: Table) -> None:
    """Reduces a table, in place, to one of its own parts and the `test` of that part."""
    assert isinstance(to, Product)
    table.chosen, table.test = to.chosen, to.test
    table.drop_cached()
