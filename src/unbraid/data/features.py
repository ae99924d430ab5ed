"""The scaling of features [n, d], which methods see as images with a single row of pixels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.samples import PIECE, pieces
from unbraid.errors import UserError

REACH = 5.0  # standard deviations on either side of the mean; what lies beyond is clipped
OUTLIER = 100  # factor by which a single value may enlarge the standard deviation of its column without a warning


@dataclass(frozen=True)
class Scaling:
    """Brings each feature to mean 0.5 and standard deviation 0.1, clipped to [0, 1]; a constant one becomes 0.5.

    The gaussian likelihood also has one of 0.1 by default (`sigma`), so that it is a unit Gaussian in these units.
    """

    mean: NDArray[np.float64]  # [d]
    spread: NDArray[np.float64]  # [d] standard deviations
    names: tuple[str, ...] = ()  # of the features, where they are known

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each feature: x0, x1, ... where they have none."""
        return self.names or tuple(f"x{i}" for i in range(len(self.mean)))

    def apply(self, features: NDArray[Any]) -> NDArray[np.float32]:
        """[n, d] -> [n, 1, 1, d]"""
        spread = np.where(self.spread > 0, self.spread, 1)
        scaled = np.where(self.spread > 0, (np.asarray(features, np.float64) - self.mean) / spread, 0)
        return (0.5 + np.clip(scaled, -REACH, REACH) / (2 * REACH)).astype(np.float32)[:, None, None]

    def undo(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """[n, 1, 1, d] -> [n, d], but for what was clipped."""
        return self.mean + self.spread * (2 * REACH) * (x.reshape(len(x), -1).astype(np.float64) - 0.5)

    @property
    def log_volume(self) -> float:
        """log |d features / d x|: a log density of x minus this is one of the features as they were given."""
        return float(np.log(2 * REACH * self.spread[self.spread > 0]).sum())


def learn_scaling(sources: Sequence[tuple[str, NDArray[Any]]], names: tuple[str, ...] = ()) -> Scaling:
    """The scaling of features over all rows of some arrays [n, d] together, which are read piece by piece.

    Args:
        sources: the arrays, each with its name in messages
        names: of the features
    """
    n = sum(len(array) for _, array in sources)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(piece.sum(0) for _, piece in _pieces(sources)) / n
        spread = np.sqrt(sum(((piece - mean) ** 2).sum(0) for _, piece in _pieces(sources)) / n)
    far, at = _farthest(sources, mean)
    if not np.isfinite(spread).all():
        column = int(np.argmin(np.isfinite(spread)))
        raise UserError(f"{_cell(sources, at[column], column)} is too large to be standardised: correct or remove it")
    _warn_of_outliers(sources, spread, far, at)
    return Scaling(mean, spread, names)


def _pieces(sources: Sequence[tuple[str, NDArray[Any]]]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """The rows of all arrays as float64, each piece with the number of its first row; one piece where that is small."""
    arrays = [array for _, array in sources]
    if sum(array.size for array in arrays) <= PIECE:
        yield 0, np.concatenate(arrays).astype(np.float64)
        return
    first = 0
    for array in arrays:
        for start, piece in pieces(array):
            yield first + start, piece.astype(np.float64)
        first += len(array)


def _farthest(sources: Sequence[tuple[str, NDArray[Any]]], mean: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The largest distance from the mean in each column, and its row."""
    far, at = np.full(len(mean), -1.0), np.zeros(len(mean), np.int64)
    columns = np.arange(len(mean))
    for first, piece in _pieces(sources):
        distance = np.abs(piece - mean)
        row = distance.argmax(0)
        found = distance[row, columns]
        at = np.where(~(found <= far), first + row, at)
        far = np.where(~(found <= far), found, far)
    return far, at


def _warn_of_outliers(
    sources: Sequence[tuple[str, NDArray[Any]]],
    spread: NDArray[np.float64],
    far: NDArray[np.float64],
    at: NDArray[np.int64],
) -> None:
    """Warns of a feature in which a single value makes up nearly all of the variance and the others become alike."""
    n = sum(len(array) for _, array in sources)
    if n < 3:
        return
    rest = n * spread**2 - n / (n - 1) * far**2  # squares of the others about their mean, but for rounding
    for column in np.flatnonzero((spread > 0) & (rest < 1.1 * (n - 1) * (spread / OUTLIER) ** 2)):
        values = np.concatenate([np.asarray(array[:, column], np.float64) for _, array in sources])
        others = np.delete(values, at[column]).std()
        if 0 < others * OUTLIER < spread[column]:
            warnings.warn(
                f"{_cell(sources, int(at[column]), int(column))} lies so far from the others of that column "
                "that they become indistinguishable when it is standardised: correct or remove it",
                stacklevel=4,
            )


def _cell(sources: Sequence[tuple[str, NDArray[Any]]], row: int, column: int) -> str:
    for name, array in sources:
        if row < len(array):
            return f"the value {array[row, column]:g} in row {row}, column {column} of {name}"
        row -= len(array)
    raise IndexError(row)
