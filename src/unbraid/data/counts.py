"""Features [n, d] that are counts, which methods see as log(1 + count): rows of cells and genes, documents and words.

They are not standardised: the sum of a row, its library size, and whole numbers mean something to a likelihood of
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.samples import SampleError, pieces

HOW = "counts are whole numbers from 0 on, as they were counted, not normalised and not their logarithm"


@dataclass(frozen=True)
class Counts:
    """What is known of a table of counts; its part in a model is that of `Scaling`."""

    spread: NDArray[np.float64]  # [d] standard deviations of log(1 + count)
    library: float  # median of the sums of rows: a typical library size
    names: tuple[str, ...] = ()  # of the features, where they are known

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each feature: x0, x1, ... where they have none."""
        return self.names or tuple(f"x{i}" for i in range(len(self.spread)))

    def apply(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """[n, d] -> [n, 1, 1, d]"""
        return np.log1p(np.asarray(features, np.float64)).astype(np.float32)[:, None, None]

    def undo(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """[n, 1, 1, d] -> [n, d]"""
        counts: NDArray[np.float64] = np.expm1(x.reshape(len(x), -1).astype(np.float64))
        return counts


def learn_counts(sources: Sequence[tuple[str, NDArray[Any]]], names: tuple[str, ...] = ()) -> Counts:
    """The typical library size and the spread of each feature over all rows of some arrays [n, d] together.

    Args:
        sources: the arrays, each with its name in messages
        names: of the features
    """
    totals, squares = np.zeros(sources[0][1].shape[1]), np.zeros(sources[0][1].shape[1])
    libraries = []
    for name, array in sources:
        check_counts(array, name, names)
        for _, piece in pieces(array):
            logs = np.log1p(piece.astype(np.float64))
            totals, squares = totals + logs.sum(0), squares + (logs**2).sum(0)
            libraries.append(piece.sum(1, dtype=np.float64))
    sums = np.concatenate(libraries)
    variance = squares / len(sums) - (totals / len(sums)) ** 2
    return Counts(np.sqrt(variance.clip(0)), float(np.median(sums)), names)


def check_counts(array: NDArray[Any], what: str, names: Sequence[str] = ()) -> None:
    """Refuses features [n, d] that are not counts, and rows without a single one."""
    for first, piece in pieces(array):
        wrong = (piece < 0) | (piece != np.rint(piece))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            at = f"'{names[column]}'" if names else str(column)
            raise SampleError(f"{what} has {piece[row, column]:g} in row {first + row}, column {at}: {HOW}")
        empty = piece.sum(1) == 0
        if empty.any():
            raise SampleError(f"row {first + int(empty.argmax())} of {what} has no counts at all: remove such rows")
