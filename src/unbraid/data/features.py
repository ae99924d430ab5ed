"""Vectors of features in place of images: two arrays [n, d] on one scale, as images of one row of pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.array_files import Stored, npy, npz
from unbraid.data.table import Factor, Rows, Table, Values
from unbraid.errors import UserError

REACH = 5.0  # standard deviations on either side of the mean; what lies beyond is moved to there


class Vectors(Table):
    """Rows of features, each in [0, 1] and shaped [1, 1, d], with their classes if there are any."""

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
    """Whether a file is an array of two axes."""
    file = Path(path).expanduser()
    return file.suffix.lower() in (".npy", ".npz") and len(_find(file)[0].shape) == 2


def two_tables(target: str, background: str) -> tuple[Vectors, Vectors]:
    """Both sets with each feature standardised over the two together: mean 0.5, standard deviation 0.1.

    The gaussian likelihood has the standard deviation 0.1 too, so that it is a unit Gaussian in these units.
    """
    (first, labels), (second, others) = (_load(Path(path).expanduser()) for path in (target, background))
    if first.shape[1] != second.shape[1]:
        raise UserError(
            f"{target} has {first.shape[1]} features and {background} has {second.shape[1]}: they must agree"
        )
    both = np.concatenate([first, second])
    spread = both.std(0)
    scaled = np.where(spread > 0, (both - both.mean(0)) / np.where(spread > 0, spread, 1), 0)
    unit = (0.5 + np.clip(scaled, -REACH, REACH) / (2 * REACH)).astype(np.float32)
    return Vectors(unit[: len(first)], labels), Vectors(unit[len(first) :], others)


def _load(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    stored, labels = _find(path)
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "fiub":
        raise UserError(
            f"{stored.where} is {stored.dtype.name} {stored.shape}: features are numbers [samples, features]"
        )
    features = stored.load().astype(np.float64)
    if not np.isfinite(features).all():
        row = int(np.argmin(np.isfinite(features).all(1)))
        raise UserError(f"{stored.where} has values that are NaN or infinite, first in row {row}: leave them out")
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


def _find(path: Path) -> tuple[Stored, Stored | None]:
    """The one array of features in a file, and the labels in an npz file that has some."""
    if path.suffix.lower() == ".npy":
        return npy(path), None
    found = npz(path)
    labels = found.pop("labels", None)
    chosen = found.get("features") or found.get("images") or (next(iter(found.values())) if len(found) == 1 else None)
    if chosen is None:
        raise UserError(f"{path} has the arrays {', '.join(found) or 'none'}: name the one that is meant 'features'")
    return chosen, labels
