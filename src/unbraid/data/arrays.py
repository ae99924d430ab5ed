"""Tables of a user's own samples: arrays, tensors, lists of images, DataFrames, torch data sets, and pairs of them.

What samples may be is in samples.py. A run is named after a digest of what it was trained on, so that the same call
with the same samples continues it, and one with others does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.class_table import ClassTable
from unbraid.data.counts import Counts, learn_counts
from unbraid.data.features import Scaling, learn_scaling
from unbraid.data.known import Known, known_of
from unbraid.data.moves import changed, until_found
from unbraid.data.samples import Samples, expect, pieces, read
from unbraid.data.table import Rows, Values, arguments_of_part
from unbraid.errors import UserError, unknown

if TYPE_CHECKING:
    from pandas import DataFrame

Reader = Callable[[Rows], NDArray[Any]]


class ArrayTable(ClassTable):
    """A user's own samples. With a label it gives Labelled and Views, with factors that vary Pairs."""

    name = "arrays"

    def __init__(
        self,
        rows: Reader,
        shape: tuple[int, int, int],
        digest: str,
        known: Known,
        scaling: Scaling | Counts | None = None,
    ) -> None:
        self._read, self.shape, self.scaling, self._values = rows, shape, scaling, known.values
        self.factors, self.label, self.nuisances = known.factors, known.label, known.nuisances
        self.class_names, self.files = known.classes, known.names
        self.shared = (known.label,) if known.label else ()
        self.labels = (
            self._values[:, self.column(known.label)] if known.label else np.zeros(len(known.values), np.int64)
        )
        self.arguments = {"digest": _joined(digest, known)} | ({"counts": True} if isinstance(scaling, Counts) else {})
        self.sizes = np.array([factor.size for factor in self.factors], np.int64)
        countable = float(np.prod(self.sizes, dtype=np.float64)) < 2**62
        labelled, paired = ("Labelled", "Views") if self.label else (), ("Pairs",) if self.changeable else ()
        self.gives = ("Images", *labelled, *(paired if countable else ()))

    def images(self, rows: Rows) -> NDArray[Any]:
        return self._read(rows)

    def values(self, rows: Rows) -> Values:
        return self._values[rows]

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        """Another row, any of those that differ in exactly k factors where there are several of one combination."""
        numbers, order = self._combinations

        def propose(rows: Rows, k: NDArray[np.int64]) -> Rows:
            wanted = _number(changed(self._values[rows], k, self.sizes, self.sizes > 1, rng), self.sizes)
            first, last = (np.searchsorted(numbers, wanted, side) for side in ("left", "right"))
            place = first + rng.integers(0, np.maximum(last - first, 1))
            found: Rows = np.where(last > first, order[np.minimum(place, len(order) - 1)], -1)
            return found

        return until_found(propose, rows, k)

    @cached_property
    def _combinations(self) -> tuple[NDArray[np.int64], Rows]:
        """The number of each row's combination of factors, sorted, and the rows in that order."""
        numbers = _number(self._values, self.sizes)
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order


class PairTable(ArrayTable):
    """Pairs that were given: row i of the first samples and row i of the second, which are rows n + i here."""

    def __init__(self, *of_all_samples: Any, differing: int) -> None:
        super().__init__(*of_all_samples)
        self.differing, self.gives = differing, ("Images", "Pairs", "Transitions")
        self.sampling = {"changed": differing}

    @property
    def changeable(self) -> int:
        return getattr(self, "differing", 0)

    def with_rows(self, rows: Rows) -> PairTable:
        """Only these pairs."""
        part, n = self.copy(), len(self)
        part._read = lambda wanted: self._read(rows[wanted % len(rows)] + n * (wanted // len(rows)))
        part._values, part.labels = self._values[rows], self.labels[rows]
        part.files = tuple(self.files[row] for row in rows) if self.files else ()
        part.arguments, part.test = arguments_of_part(self, rows), None
        part.drop_cached()
        return part

    def values(self, rows: Rows) -> Values:
        return self._values[rows % len(self)]

    def change(self, rows: Rows, k: NDArray[np.int64], rng: np.random.Generator) -> Rows:
        if (k != self.differing).any():
            raise UserError(f"these pairs differ in {self.differing} factors: leave `changed` of the sampling out")
        return rows + len(self)

    def follow(self, rows: Rows, rate: float, rng: np.random.Generator) -> Rows:
        return rows + len(self)


def from_arrays(
    x: Any,
    *,
    factors: Any = None,
    factor_names: Sequence[str] | None = None,
    label: Any = None,
    nuisances: Sequence[str] = (),
    background: Any = None,
    names: Sequence[str] | None = None,
    counts: bool = False,
) -> ArrayTable:
    """A table of images or features: a numpy array, tensor, DataFrame or list of PIL images (data/samples.py).

    Args:
        x: the samples
        factors: what is known of each sample, [n, k]: whole numbers or text, an array or a DataFrame
        factor_names: names of the factors; those of the frame's columns, or factor0, factor1, ..., unless given
        label: the class of each sample [n], or the name of the factor that is the class
        nuisances: names of the factors that are known nuisances
        background: samples without what is salient in x; features are then scaled over both together
        names: of the samples, which stand in codes.csv
        counts: the features are counts, for the likelihood negative_binomial: they are not standardised
    """
    samples = read(x, "x")
    others = read(background, "the background") if background is not None else None
    if others is not None:
        features = samples.layout == "features"
        expect(others, samples.shape, features=features, columns=samples.columns, what="the background")
    sources = [("x", samples.array)] + ([("the background", others.array)] if others is not None else [])
    scaling = _learnt(sources, samples, counts)
    known = known_of(len(samples), factors, factor_names, label, tuple(nuisances), names)
    table = ArrayTable(_reader(samples, scaling), samples.shape, digest_of(samples.array), known, scaling)
    if others is not None:
        nothing = Known(np.zeros((len(others), 0), np.int64))
        digest = digest_of(others.array)
        table.background = ArrayTable(_reader(others, scaling), samples.shape, digest, nothing, scaling)
        table.gives += ("TargetBackground",)
        table.arguments["background"] = table.background.arguments["digest"]
    return table


def from_pairs(first: Any, second: Any, *, changed: int = 1, label: Any = None, counts: bool = False) -> PairTable:
    """A table of pairs: sample i of `first` and sample i of `second` differ in `changed` factors.

    Args:
        first: the samples, as in `from_arrays`
        second: their partners
        changed: number of factors in which the two samples of a pair differ
        label: the class that both samples of a pair have, [n]
        counts: the features are counts, as in `from_arrays`
    """
    samples, others = read(first, "the first samples"), read(second, "the second samples")
    features = samples.layout == "features"
    expect(others, samples.shape, features=features, columns=samples.columns, what="the second samples")
    if len(samples) != len(others):
        raise UserError(f"there are {len(samples)} first and {len(others)} second samples: they are pairs")
    if changed < 1:
        raise UserError(f"the samples of a pair differ in one factor or more, not in {changed}")
    sources = [("the first samples", samples.array), ("the second samples", others.array)]
    scaling = _learnt(sources, samples, counts)
    readers, n = (_reader(samples, scaling), _reader(others, scaling)), len(samples)

    def both(rows: Rows) -> NDArray[Any]:
        found = np.empty((len(rows), *samples.shape), readers[0](rows[:0]).dtype)
        for late, reader in enumerate(readers):
            chosen = (rows >= n) == late
            found[chosen] = reader(rows[chosen] - late * n)
        return found

    known = known_of(n, None, None, label, (), None)
    digest = digest_of(samples.array) + digest_of(others.array)
    return PairTable(both, samples.shape, digest, known, scaling, differing=int(changed))


def from_frame(
    frame: DataFrame,
    *,
    label: str | None = None,
    factors: Sequence[str] = (),
    nuisances: Sequence[str] = (),
    ignore: Collection[str] = (),
    id: str | None = None,
    background: DataFrame | None = None,
    counts: bool = False,
) -> ArrayTable:
    """A table of features from a DataFrame: all columns but those named here.

    Args:
        frame: a row for each sample
        label: the column with the class
        factors: columns with what else is known of each sample
        nuisances: columns with known nuisances
        ignore: columns to leave out
        id: the column with the name of each sample
        background: rows without what is salient in the others; its features are the columns of the same names
        counts: the features are counts, as in `from_arrays`
    """
    known = list(dict.fromkeys([*([label] if label else []), *factors, *nuisances]))
    for name in (*known, *ignore, *([id] if id else [])):
        if name not in frame.columns:
            raise unknown("column", name, map(str, frame.columns))
    features = [name for name in frame.columns if name not in (*known, *ignore, id)]
    if not features:
        raise UserError("the frame has no column left to be a feature")
    if background is not None:
        missing = [name for name in features if name not in background.columns]
        if missing:
            raise UserError(f"the background has no column '{missing[0]}', which is a feature of the others")
    return from_arrays(
        frame[features],
        factors=frame[known] if known else None,
        label=label,
        nuisances=nuisances,
        background=background[features] if background is not None else None,
        names=[str(name) for name in frame[id]] if id else None,
        counts=counts,
    )


def _learnt(sources: Sequence[tuple[str, NDArray[Any]]], samples: Samples, counts: bool) -> Scaling | Counts | None:
    if samples.layout != "features":
        if counts:
            raise UserError("counts are features [n, d], and these are images")
        return None
    return learn_counts(sources, samples.columns) if counts else learn_scaling(sources, samples.columns)


def _reader(samples: Samples, scaling: Scaling | Counts | None) -> Reader:
    return samples.batch if scaling is None else lambda rows: scaling.apply(samples.array[rows])


def _number(values: Values, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    columns: Any = tuple(values.T)
    numbers: NDArray[np.int64] = np.ravel_multi_index(columns, sizes).astype(np.int64)
    return numbers


def digest_of(array: NDArray[Any]) -> str:
    """A digest of shape, type and content, read piece by piece."""
    digest = hashlib.sha256(f"{array.shape} {array.dtype}".encode())
    for _, piece in pieces(array):
        digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()[:16]


def _joined(digest: str, known: Known) -> str:
    told = f"{known.factors} {known.label} {known.nuisances} {digest_of(known.values)}"
    return hashlib.sha256((digest + told).encode()).hexdigest()[:16]
