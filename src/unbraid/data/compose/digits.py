"""Handwritten digits for the composed sets: MNIST if it is on disk, else those that ship with scikit-learn."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid.data.io.paths import source_of
from unbraid.data.sets.mnist import MNIST
from unbraid.data.table import Bytes

Digits = tuple[Bytes, NDArray[np.int64], Bytes, NDArray[np.int64]]


def load(tuning: bool = False) -> Digits:
    """Training images [n, 28, 28] and labels [n], test images and labels.

    Args:
        tuning: the last sixth of the training digits take the place of the test digits
    """
    folder = source_of(MNIST.name, "")
    found = _mnist(folder) if folder.is_dir() else _from_sklearn(folder)
    if not tuning:
        return found
    images, labels, *_ = found
    first = len(images) * 5 // 6
    return images[:first], labels[:first], images[first:], labels[first:]


def pool() -> tuple[Bytes, NDArray[np.int64]]:
    """Training and test digits together."""
    images, labels, more, their = load()
    return np.concatenate([images, more]), np.concatenate([labels, their])


@cache
def _mnist(folder: Path) -> Digits:
    train = MNIST(path=str(folder))
    assert isinstance(train.test, MNIST)
    images, more = (table.images(np.arange(len(table)))[:, 0] for table in (train, train.test))
    return images, train.labels, more, train.test.labels


@cache
def _from_sklearn(folder: Path) -> Digits:
    """Real digits of 8 x 8 pixels, enlarged to 20 x 20 and centred in 28 x 28 like MNIST; every sixth is a test row."""
    from PIL import Image
    from sklearn.datasets import load_digits

    warnings.warn(
        f"MNIST is not in {folder}: using the 1,797 smaller digits of scikit-learn instead; "
        "`unbraid data fetch mnist` downloads it",
        stacklevel=3,
    )
    small, labels = load_digits(return_X_y=True)
    pictures = np.rint(small.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    large = [np.asarray(Image.fromarray(p).resize((20, 20), Image.Resampling.BICUBIC)) for p in pictures]
    images = np.pad(np.stack(large), ((0, 0), (4, 4), (4, 4)))
    test = np.arange(len(labels)) % 6 == 5
    labels = labels.astype(np.int64)
    return images[~test], labels[~test], images[test], labels[test]
