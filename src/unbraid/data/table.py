"""A data set is a table: rows of images with their factors, addressed by row number.

A table says which batch kinds it `gives` (names of the records in batch.py) and implements what those need:

    Images              images()
    Labelled            `label` and `nuisances` name the factors that are class and known nuisances
    Pairs               change(): rows that differ from given rows in exactly k factors
    Views               partner(): rows that show the same thing in another way
    TargetBackground    `background`: the other table
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.configured import Configured

Rows = NDArray[np.int64]  # [n]
Bytes = NDArray[np.uint8]  # [n, c, h, w]
Values = NDArray[np.int64]  # [n, k]


@dataclass(frozen=True)
class Factor:
    """A generative factor with the values 0 .. size - 1."""

    name: str
    size: int


@dataclass(frozen=True)
class Spec:
    """All that a method may know of a data set before it sees a batch."""

    shape: tuple[int, int, int]  # channels, height, width
    n_train: int
    classes: int = 0
    nuisances: tuple[int, ...] = ()  # number of values of each known nuisance


class Table(Configured, ABC):
    """The constructor's keyword arguments are the data set's configuration."""

    name: str
    shape: tuple[int, int, int]
    factors: tuple[Factor, ...] = ()  # empty where nothing is known
    gives: tuple[str, ...] = ("Images",)
    label: str | None = None
    nuisances: tuple[str, ...] = ()
    background: Table | None = None
    test: Table | None = None  # held-out rows; scores are taken there where it is set

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def images(self, rows: Rows) -> Bytes:
        """The images of these rows, [n, c, h, w]."""

    def values(self, rows: Rows) -> Values:
        """The factors of these rows, [n, k]."""
        return np.zeros((len(rows), 0), np.int64)

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """For each row, another that differs from it in exactly k factors."""
        raise TypeError(f"{self.name} gives no pairs")

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """For each row, another that shares what the table's views share."""
        raise TypeError(f"{self.name} gives no views")

    def column(self, name: str) -> int:
        """Where a factor stands among the columns of `values`."""
        return [factor.name for factor in self.factors].index(name)

    @property
    def spec(self) -> Spec:
        sizes = {factor.name: factor.size for factor in self.factors}
        classes = sizes[self.label] if self.label else 0
        return Spec(self.shape, len(self), classes, tuple(sizes[name] for name in self.nuisances))


class Grid(Table, ABC):
    """Every combination of the factors exists once; rows count through them, the last factor fastest."""

    gives = ("Images", "Pairs")

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    def __len__(self) -> int:
        return int(np.prod(self.sizes))

    @abstractmethod
    def render(self, values: Values) -> Bytes:
        """Images of these combinations of factors, [n, c, h, w]."""

    def images(self, rows: Rows) -> Bytes:
        return self.render(self.values(rows))

    def values(self, rows: Rows) -> Values:
        return np.stack(np.unravel_index(rows, self.sizes), -1)

    def rows(self, values: Values) -> Rows:
        """The inverse of `values`."""
        columns: Any = tuple(values.T)
        return np.ravel_multi_index(columns, self.sizes).astype(np.int64)

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        values, sizes = self.values(rows), np.array(self.sizes)
        order = rng.random(values.shape) + (sizes == 1)  # a factor with one value cannot change
        chosen = order.argsort(1).argsort(1) < k[:, None]  # [n, k]
        shift = rng.integers(1, np.maximum(sizes, 2), values.shape)
        return self.rows(np.where(chosen, (values + shift) % sizes, values))
