"""Features in place of images: two arrays [n, d] on a common scale, stored as images with a single row of pixels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import StoredArray, npy, npz
from unbraid.data.table import Factor, Rows, Table, Values
from unbraid.errors import UserError

REACH = 5.0  # standard deviations on either side of the mean; what lies beyond is clipped
OUTLIER = 100  # factor by which a single value may enlarge the standard deviation of its column without a warning


class FeatureTable(Table):
    """Rows of features, each in [0, 1] and shaped [1, 1, d], with their classes, if known."""

    name = "vectors"

    def __init__(self, features: NDArray[np.float32], labels: NDArray[np.int64] | None) -> None:
        self.features, self.labels = features, labels
        self.shape = (1, 1, features.shape[1])
        if labels is not None and labels.max(initial=0) > 0:
            self.factors, self.label = (Factor("class", int(labels.max()) + 1),), "class"

    def __len__(self) -> int:
        return len(self.features)

    def images(self, rows: Rows) -> NDArray[Any]:
        return self.features[rows][:, None, None]

    def values(self, rows: Rows) -> Values:
        if not self.factors or self.labels is None:
            return np.zeros((len(rows), 0), np.int64)
        return self.labels[rows][:, None]


def is_features(path: str) -> bool:
    """Whether a file is an array with two axes."""
    file = Path(path).expanduser()
    return file.suffix.lower() in (".npy", ".npz") and len(_find(file)[0].shape) == 2


def two_tables(target: str, background: str) -> tuple[FeatureTable, FeatureTable]:
    """Both sets with each feature standardised over the two together: mean 0.5, standard deviation 0.1.

    The gaussian likelihood also has a standard deviation of 0.1, so that it is a unit Gaussian in these units.
    """
    (first, labels), (second, others) = (_load(Path(path).expanduser()) for path in (target, background))
    if first.shape[1] != second.shape[1]:
        raise UserError(
            f"{target} has {first.shape[1]} features and {background} has {second.shape[1]}: they must agree"
        )
    unit = standardised(np.concatenate([first, second]), [(target, len(first)), (background, len(second))])
    return FeatureTable(unit[: len(first)], labels), FeatureTable(unit[len(first) :], others)


def standardised(features: NDArray[np.float64], files: list[tuple[str, int]]) -> NDArray[np.float32]:
    """Features [n, d] brought to mean 0.5 and standard deviation 0.1, clipped to [0, 1]; constant ones become 0.5.

    Args:
        files: the files that the rows come from, each with its number of rows, for messages
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = features.std(0)
    if not np.isfinite(spread).all():
        column = int(np.argmin(np.isfinite(spread)))
        row = int(np.abs(features[:, column]).argmax())
        raise UserError(f"{_cell(features, row, column, files)} is too large to be standardised: correct or remove it")
    _warn_of_outliers(features, spread, files)
    scaled = np.where(spread > 0, (features - features.mean(0)) / np.where(spread > 0, spread, 1), 0)
    return (0.5 + np.clip(scaled, -REACH, REACH) / (2 * REACH)).astype(np.float32)


def _warn_of_outliers(features: NDArray[np.float64], spread: NDArray[np.float64], files: list[tuple[str, int]]) -> None:
    """Warns of a feature in which a single value makes up nearly all of the variance and the others become alike."""
    extreme = np.abs(features - features.mean(0)).argmax(0)  # [d]
    rest = features.copy()
    rest[extreme, np.arange(features.shape[1])] = np.nan
    if len(features) < 3:
        return
    others = np.nanstd(rest, 0)
    for column in np.flatnonzero((others > 0) & (others * OUTLIER < spread)):
        warnings.warn(
            f"{_cell(features, int(extreme[column]), int(column), files)} lies so far from the others of that column "
            "that they become indistinguishable when it is standardised: correct or remove it",
            stacklevel=4,
        )


def _cell(features: NDArray[np.float64], row: int, column: int, files: list[tuple[str, int]]) -> str:
    value, start = features[row, column], 0
    for file, count in files:
        if row < start + count:
            return f"the value {value:g} in row {row - start}, column {column} of {file}"
        start += count
    raise IndexError(row)


def _load(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    stored, labels = _find(path)
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "fiub":
        raise UserError(
            f"{stored.where} is {stored.dtype.name} {stored.shape}: features are numbers of shape [samples, features]"
        )
    features = stored.load().astype(np.float64)
    if not np.isfinite(features).all():
        row, column = np.argwhere(~np.isfinite(features))[0]
        raise UserError(
            f"{stored.where} has values that are NaN or infinite, the first in row {row}, column {column}: "
            "impute them, or remove such rows or columns"
        )
    if labels is None:
        return features, None
    if labels.shape != (len(features),) or labels.dtype.kind not in "iu":
        raise UserError(
            f"{labels.where} is {labels.dtype.name} {labels.shape} instead of whole numbers ({len(features)},)"
        )
    found = labels.load().astype(np.int64)
    if not 0 <= found.min() <= found.max() < len(found):
        raise UserError(f"{labels.where} has values from {found.min()} to {found.max()}: number the classes from 0")
    return features, found


def _find(path: Path) -> tuple[StoredArray, StoredArray | None]:
    """The array of features in a file, and the labels if it is an npz file that has some."""
    if path.suffix.lower() == ".npy":
        return npy(path), None
    found = npz(path)
    labels = found.pop("labels", None)
    chosen = found.get("features") or found.get("images") or (next(iter(found.values())) if len(found) == 1 else None)
    if chosen is None:
        raise UserError(
            f"{path} has the arrays {', '.join(found) or 'none'}: call the one with the features 'features'"
        )
    return chosen, labels
