"""Tables from torch data sets: samples are read when they are first drawn, and kept in memory up to 1 GB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.data.arrays import ArrayTable, digest_of
from unbraid.data.io.image_files import ImageCache
from unbraid.data.known import known_of
from unbraid.data.samples import SampleError, read
from unbraid.errors import UserError

PROBES = 32  # samples that the digest of a data set is made of


def from_torch(dataset: Any, *, label: Any = None) -> ArrayTable:
    """A table of a `torch.utils.data.Dataset` whose items are images, or images and labels.

    Its length must be known. Items are kept in memory up to 1 GB, and read again beyond that: random augmentation in
    them is drawn once in the first case, and anew in the second. Labels come from `targets`
    of the data set where it has them (as those of torchvision do), from its `tensors`, or from reading all items. The
    run is named after the length and 32 of the items.

    Args:
        dataset: of images (tensors, arrays or PIL images, as in `from_arrays`), or of tuples of an image and a label
        label: the class of each item [n], in place of the data set's own
    """
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise UserError("the data set has no length, or no items by number: give one with __len__ and __getitem__")
    n = len(dataset)
    if not n:
        raise UserError("the data set is empty: there is nothing to draw batches from")
    first, labelled = _image(dataset, 0), isinstance(dataset[0], tuple | list) and len(dataset[0]) > 1

    def item(row: int) -> NDArray[Any]:
        found = _image(dataset, row)
        if found.shape != first.shape:
            raise SampleError(f"item {row} of the data set is {list(found.shape)} and the first is {list(first.shape)}")
        return found

    cache = ImageCache(item, n, first.shape, dtype=first.dtype)
    probes = cache(np.unique(np.linspace(0, n - 1, PROBES).astype(np.int64)))
    if label is None and labelled:
        label = _labels(dataset, n)
    digest = f"{n} {digest_of(probes)}"
    shape: Any = first.shape
    return ArrayTable(cache, shape, digest, known_of(n, None, None, label, (), None))


def _image(dataset: Any, row: int) -> NDArray[Any]:
    """One image, [c, h, w], bytes or float32."""
    found = _item(dataset, row)
    image = found[0] if isinstance(found, tuple | list) else found
    samples = read([image], f"item {row} of the data set")
    if samples.layout == "features":
        raise SampleError("the items of the data set are no images: give features to from_arrays, all at once")
    pixels: NDArray[Any] = samples.batch(slice(None))[0]
    return pixels


def _item(dataset: Any, row: int) -> Any:
    try:
        return dataset[row]
    except IndexError as error:
        raise UserError(f"the data set says that it has {len(dataset)} items, and has no item {row}") from error


def _labels(dataset: Any, n: int) -> Any:
    given = getattr(dataset, "targets", None)
    if given is None and hasattr(dataset, "tensors"):
        given = dataset.tensors[1]
    found = given if given is not None else [_item(dataset, row)[1] for row in range(n)]
    return np.array([value.item() if hasattr(value, "item") else value for value in found])
