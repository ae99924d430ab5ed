"""A data set is a table: rows of images with their factors, identified by row number.

A table says which batch kinds it `gives` (names of the records in batch.py) and implements what those need:

    Images              images()
    Labelled            `label` and `nuisances` name the factors that are class and known nuisances
    Pairs               change(): rows that differ from given rows in exactly k factors
    Transitions         follow(): rows that come after given rows in time
    Views               `shared` names the factors that two views share, partner(): rows that share them
    TargetBackground    `background`: the other table
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unbraid import machine
from unbraid.config import Configured
from unbraid.data.moves import changed, moved, until_found
from unbraid.errors import UserError, unknown

if TYPE_CHECKING:
    from unbraid.data.counts import Counts
    from unbraid.data.features import Scaling

PART = "chosen_rows"  # among the arguments of a part of a table: a digest of its rows
Rows = NDArray[np.int64]  # [n]
Bytes = NDArray[np.uint8]  # [n, c, h, w]
Values = NDArray[np.int64]  # [n, k]


@dataclass(frozen=True)
class Factor:
    """A generative factor with the values 0 .. size - 1."""

    name: str
    size: int
    ordered: bool = True  # a quantity; otherwise its values are kinds, such as shapes or classes


@dataclass(frozen=True)
class Spec:
    """What a method may know about a data set before it sees a batch."""

    shape: tuple[int, int, int]  # channels, height, width
    n_train: int
    classes: int = 0
    nuisances: tuple[int, ...] = ()  # number of values of each known nuisance
    shared: tuple[int, ...] = ()  # number of values of each factor that two views share
    n_background: int = 0
    library: float = 0.0  # median of the sums of rows, where samples are counts


class Table(Configured, ABC):
    """The constructor's keyword arguments are the data set's configuration."""

    name: str
    shape: tuple[int, int, int]
    factors: tuple[Factor, ...] = ()  # empty if none are known
    gives: tuple[str, ...] = ("Images",)
    label: str | None = None
    class_names: tuple[str, ...] = ()  # of the values of the label, if they have names
    nuisances: tuple[str, ...] = ()  # known ones; a factor that is neither class nor listed here is an unknown nuisance
    groups: tuple[str, ...] = ()  # together with the class they define the groups for worst-group accuracy
    shared: tuple[str, ...] = ()
    background: Table | None = None
    files: tuple[str, ...] = ()  # the file or name of each row, if rows have one
    scaling: Scaling | Counts | None = None  # of features, which `images` gives in [0, 1], or of counts as log(1 + x)
    origin: str | None = None  # where it was loaded from, if it is a user's own: 'file.py:Class'
    sampling: Mapping[str, Any] = MappingProxyType({})  # arguments of samplers, where others are not given
    of_files: bool = False  # whether it is read from a user's files, which may change under the same name
    test: Table | None = None  # held-out rows; if set, scores are computed on them

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
        raise TypeError(f"{self.name} does not give pairs")

    def follow(self, rows: Rows, rate: float, rng: np.random.Generator) -> Rows:
        """For each row, one that comes after it in time; where the time is made up, most factors move little."""
        raise TypeError(f"{self.name} does not give transitions")

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """For each row, another that shows other instances of the shared factors' classes."""
        raise TypeError(f"{self.name} does not give views")

    def copy(self) -> Self:
        """A shallow copy, which can be changed without changing this table."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def drop_cached(self) -> None:
        """Drops cached properties, which belong to the rows chosen before."""
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)]:
            del self.__dict__[name]

    @property
    def changeable(self) -> int:
        """The number of factors in which the images of a pair can differ."""
        return sum(factor.size > 1 for factor in self.factors)

    def shared_label(self, rows: Rows) -> NDArray[np.int64]:
        """The values of the factors that views share, or of the label, as one number in row-major order, [n]."""
        values = self.values(rows)
        places = [self.column(name) for name in self.shared or (self.label,) if name]
        columns: Any = tuple(values[:, place] for place in places)
        labels: NDArray[np.int64] = np.ravel_multi_index(columns, [self.factors[i].size for i in places])
        return labels.astype(np.int64)

    def column(self, name: str) -> int:
        """The column of a factor in `values`."""
        names = [factor.name for factor in self.factors]
        if name not in names:
            raise unknown(f"factor of '{self.name}'", name, names)
        return names.index(name)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The factors whose values have no order: those that say so, and the class."""
        return tuple(factor.name for factor in self.factors if not factor.ordered or factor.name == self.label)

    def content(self) -> str:
        """A digest of the names and factors of all rows, and of the samples of as many as hold a million numbers."""
        count = min(len(self), max(64, 10**6 // math.prod(self.shape)))
        digest = hashlib.sha256("\n".join(self.files).encode())
        digest.update(self.values(np.arange(len(self))).tobytes())
        digest.update(self.images(np.linspace(0, len(self) - 1, count).astype(np.int64)).tobytes())
        return digest.hexdigest()[:16] + (self.background.content() if self.background else "")

    @property
    def spec(self) -> Spec:
        """What a method is built from; refused if not even two samples fit into memory as floats."""
        size = " x ".join(f"{side:,}" for side in self.shape)
        machine.require_memory(8 * math.prod(self.shape), f"two samples of {size} numbers", "choose a smaller size")
        sizes = {factor.name: factor.size for factor in self.factors}
        classes = sizes[self.label] if self.label else 0
        nuisances, shared = (tuple(sizes[name] for name in names) for names in (self.nuisances, self.shared))
        n_background = 0 if self.background is None else len(self.background)
        library = getattr(self.scaling, "library", 0.0)
        return Spec(self.shape, len(self), classes, nuisances, shared, n_background, library)


def arguments_of_part(table: Table, rows: Rows) -> dict[str, Any]:
    """The arguments of a table with a digest of these rows of it, so that no run of a part is taken for another's."""
    digest = hashlib.sha256(str(table.arguments.get(PART, "")).encode() + rows.tobytes())
    return table.arguments | {PART: digest.hexdigest()[:16]}


class Product(Table, ABC):
    """Rows count through every combination of positions on some axes, one for each factor, the last varying fastest.

    If `chosen` is set, the rows are only those combinations, in that order, possibly with repeats.
    """

    chosen: Rows | None = None  # numbers of combinations
    fixed: tuple[str, ...] = ()  # factors in which the images of a pair never differ

    @property
    @abstractmethod
    def axes(self) -> tuple[int, ...]:
        """The number of positions on each axis."""

    def __len__(self) -> int:
        return math.prod(self.axes) if self.chosen is None else len(self.chosen)

    def with_rows(self, rows: Rows) -> Self:
        """The same table with only these rows."""
        part = self.copy()
        part.chosen = rows if self.chosen is None else self.chosen[rows]
        part.arguments, part.test = arguments_of_part(self, rows), None
        part.drop_cached()
        return part

    def positions(self, rows: Rows) -> Values:
        """The positions of these rows on each axis, [n, axes]."""
        return np.stack(np.unravel_index(rows if self.chosen is None else self.chosen[rows], self.axes), -1)

    def find(self, positions: Values) -> Rows:
        """The inverse of `positions`; -1 for combinations that are not in the table."""
        columns: Any = tuple(positions.T)
        numbers: Rows = np.ravel_multi_index(columns, self.axes).astype(np.int64)
        if self.chosen is None:
            return numbers
        place = np.searchsorted(self.chosen, numbers, sorter=self._order)
        rows: Rows = self._order[np.minimum(place, len(self.chosen) - 1)]
        rows[self.chosen[rows] != numbers] = -1
        return rows

    @cached_property
    def _order(self) -> Rows:
        assert self.chosen is not None
        return np.argsort(self.chosen, kind="stable")

    @property
    def free(self) -> NDArray[np.bool_]:
        """Whether the images of a pair can differ on each axis, [axes]."""
        return np.array([n > 1 and f.name not in self.fixed for n, f in zip(self.axes, self.factors, strict=True)])

    @property
    def changeable(self) -> int:
        return int(self.free.sum())

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        def propose(rows: Rows, k: NDArray[np.int64]) -> Rows:
            return self.find(changed(self.positions(rows), k, np.array(self.axes), self.free, rng))

        return until_found(propose, rows, k)

    def follow(self, rows: Rows, rate: float, rng: np.random.Generator) -> Rows:
        ordered = np.array([factor.ordered for factor in self.factors])
        if not (self.free & ordered).any():
            raise UserError(f"'{self.name}' has no factor that could move: none is a quantity")

        def propose(rows: Rows, _: NDArray[np.int64]) -> Rows:
            return self.find(moved(self.positions(rows), np.array(self.axes), self.free & ordered, rate, rng))

        return until_found(propose, rows, rows)


class Grid(Product, ABC):
    """Every combination of the factors exists once; rows count through them, the last factor varying fastest."""

    gives: tuple[str, ...] = ("Images", "Pairs", "Transitions")

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    @property
    def axes(self) -> tuple[int, ...]:
        return self.sizes

    @abstractmethod
    def render(self, values: Values) -> Bytes:
        """Images of these combinations of factors, [n, c, h, w]."""

    def images(self, rows: Rows) -> Bytes:
        return self.render(self.values(rows))

    def values(self, rows: Rows) -> Values:
        return self.positions(rows)

    def number(self, values: Values) -> Rows:
        """The numbers of these combinations among all, whether or not they are rows of the table."""
        columns: Any = tuple(values.T)
        numbers: Rows = np.ravel_multi_index(columns, self.axes).astype(np.int64)
        return numbers

    def rows(self, values: Values) -> Rows:
        """The inverse of `values`; -1 for combinations that are not in the table."""
        return self.find(values)
