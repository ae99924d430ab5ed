"""Samples from anything: what users have becomes what methods take, or one sentence says what is wrong with it.

    images      [n, h, w], [n, h, w, c] or [n, c, h, w] with 1 or 3 channels; bytes (uint8), or floats in [0, 1]
    features    [n, d], any finite numbers

each as a numpy array (memory-mapped ones are read piece by piece), a torch tensor on any device, with or without
gradient, a DataFrame (features, whose columns keep their names), or a list of PIL images, arrays or tensors.

`read(x)` checks them and gives `Samples`, of which `batch(rows)` is what a method takes; `expect` compares them with
what a model was trained on. A tensor that goes in comes out as a tensor, a frame as a frame: `Samples.like`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Rows
from unbraid.errors import UserError

Layout = Literal["features", "hw", "hwc", "chw"]
CHANNELS = (1, 3)
PIECE = 1 << 24  # numbers that are looked at together
HOW = "images are bytes (uint8), or floats in [0, 1]"
FORMS = "images are [n, h, w], [n, h, w, c] or [n, c, h, w] with 1 or 3 channels, and features are [n, d]"


class SampleError(UserError, ValueError):
    """Samples that cannot be used; also a ValueError, which is what callers of scikit-learn's estimators expect."""


@dataclass(frozen=True)
class Samples:
    """Checked samples; nothing has been copied yet."""

    array: NDArray[Any]  # images [n, c, h, w], a view of what was given, or features [n, d]
    layout: Layout
    columns: tuple[str, ...] = ()  # names of the features
    given: Any = None  # the tensor or frame that they came as

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width; features are images with a single row of pixels."""
        return (1, 1, self.array.shape[1]) if self.layout == "features" else self.array.shape[1:]

    def batch(self, rows: Rows | slice) -> NDArray[Any]:
        """Images as bytes or float32 [b, c, h, w], features as float64 [b, d]; contiguous and writable, for torch."""
        part = self.array[rows]
        kind = np.float64 if self.layout == "features" else np.uint8 if part.dtype == np.uint8 else np.float32
        return np.require(part, kind, ["C", "W"])

    def like(self, found: NDArray[Any]) -> Any:
        """Samples that a model drew (images [n, c, h, w] or features [n, d]), in the layout and kind of these."""
        return as_given(laid_out(found, self.layout), self.given, self.columns)


def laid_out(found: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """Images [n, c, h, w] in another layout; features as they are."""
    if layout == "hw":
        return found[:, 0]
    return found.transpose(0, 2, 3, 1) if layout == "hwc" else found


def as_given(found: NDArray[Any], given: Any, columns: Sequence[str]) -> Any:
    """An array as a tensor on the device of `given`, or a frame with its index, where that is one."""
    if _is_tensor(given):
        import torch

        return torch.from_numpy(np.ascontiguousarray(found)).to(given.device)
    if _is_frame(given):
        import pandas as pd

        return pd.DataFrame(found, index=given.index, columns=list(columns))
    return found


def read(x: Any, what: str = "X") -> Samples:
    """Checks samples of any of the kinds above.

    Args:
        what: their name in messages
    """
    if _is_frame(x):
        return _checked(Samples(_frame_values(x, what), "features", tuple(map(str, x.columns)), x), what)
    array = to_array(x, what)
    if array.dtype.kind in "OSUMmcV":
        raise SampleError(f"{what} holds {_kind(array)}: samples are numbers")
    return _checked(_samples(array, x if _is_tensor(x) else None, what), what)


def expect(
    samples: Samples, shape: tuple[int, int, int], *, features: bool, columns: Sequence[str] = (), what: str = "X"
) -> None:
    """Refuses samples of another kind, size, number of channels or order of columns than a model was trained on."""
    channels, height, width = samples.shape
    if features != (samples.layout == "features") or (features and samples.shape != shape):
        given = f"{width} features" if samples.layout == "features" else f"images of {height}x{width}"
        wanted = f"{shape[2]} features" if features else f"images of {shape[1]}x{shape[2]}"
        raise SampleError(f"{what} has {given}, and the model was trained on {wanted}")
    if (height, width) != shape[1:]:
        raise SampleError(
            f"{what} has images of {height}x{width}, and the model was trained on {shape[1]}x{shape[2]}: resize them"
        )
    if channels != shape[0]:
        how = "make them grey" if shape[0] == 1 else "repeat the channel three times"
        raise SampleError(f"{what} has {channels} channels, and the model was trained on {shape[0]}: {how}")
    for i, (name, trained) in enumerate(zip(samples.columns, columns, strict=False)):
        if name != trained:
            raise SampleError(
                f"column {i} of {what} is '{name}' and was '{trained}' in training: "
                "give the same columns in the same order"
            )


def to_array(x: Any, what: str) -> NDArray[Any]:
    """A numpy array of whatever was given; a view wherever that can be."""
    if _is_tensor(x):
        if x.is_sparse:
            raise SampleError(f"{what} is a sparse tensor: make it dense first, with .to_dense()")
        plain = x.detach().cpu()
        return np.asarray((plain.float() if str(plain.dtype) == "torch.bfloat16" else plain).numpy())
    if type(x).__module__.startswith("scipy.sparse"):
        raise SampleError(f"{what} is a sparse array: make it dense first, with .toarray()")
    if isinstance(x, list | tuple) and len(x):
        return _stacked(x, what)
    if isinstance(x, str | bytes | dict) or x is None or type(x).__module__.startswith("PIL"):
        raise SampleError(f"{what} is {type(x).__name__}: {FORMS}; a list of PIL images will do too")
    return np.asarray(x)


def pieces(array: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """An array by pieces of its rows, each with the number of its first row."""
    step = max(1, PIECE // max(1, int(np.prod(array.shape[1:]))))
    for start in range(0, len(array), step):
        yield start, array[start : start + step]


def _stacked(parts: Sequence[Any], what: str) -> NDArray[Any]:
    """Images of a list as one array."""
    from PIL.Image import Image

    if not any(isinstance(part, Image) or _is_tensor(part) or np.ndim(part) > 1 for part in parts):
        return np.asarray(parts)
    arrays: list[NDArray[Any]] = []
    for i, part in enumerate(parts):
        if isinstance(part, Image) and part.mode not in ("1", "L", "RGB"):
            raise SampleError(f"image {i} of {what} is {part.mode}: convert it, with image.convert('RGB')")
        array = to_array(part, what) if _is_tensor(part) else np.asarray(part)
        if arrays and array.shape != arrays[0].shape:
            shown, first = ("x".join(map(str, a.shape)) for a in (array, arrays[0]))
            raise SampleError(
                f"image {i} of {what} is {shown} and the first is {first}: bring them to one size and mode"
            )
        arrays.append(array)
    return np.stack(arrays)


def _frame_values(frame: Any, what: str) -> NDArray[Any]:
    import pandas as pd

    for name in frame.columns:
        column = frame[name]
        if getattr(column, "ndim", 1) != 1:
            raise SampleError(f"two columns of {what} are called '{name}': rename one of them")
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
            raise SampleError(
                f"the column '{name}' of {what} does not hold numbers: leave it out, or encode it as numbers"
            )
    kinds = set(frame.dtypes)
    if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return np.asarray(frame.to_numpy())
    return np.asarray(frame.to_numpy(np.float64, na_value=np.nan))


def _samples(array: NDArray[Any], given: Any, what: str) -> Samples:
    if 0 in array.shape:
        missing = "samples" if not len(array) else "features" if array.ndim == 2 else "pixels"
        raise SampleError(f"{what} has no {missing}: its shape is {list(array.shape)}")
    if array.ndim == 2:
        return Samples(array, "features", given=given)
    if array.ndim == 3:
        return Samples(array[:, None], "hw", given=given)
    if array.ndim == 4 and array.shape[3] in CHANNELS:
        return Samples(array.transpose(0, 3, 1, 2), "hwc", given=given)
    if array.ndim == 4 and array.shape[1] in CHANNELS:
        return Samples(array, "chw", given=given)
    raise SampleError(f"{what} has the shape {list(array.shape)}: {FORMS}")


def _checked(samples: Samples, what: str) -> Samples:
    array, features = samples.array, samples.layout == "features"
    if not features and array.dtype.kind in "iu" and array.dtype != np.uint8:
        raise SampleError(
            f"{what} holds {array.dtype.name}: {HOW}; where its values are 0 to 255, use .astype('uint8')"
        )
    if array.dtype.kind != "f":
        return samples
    for start, piece in pieces(array):
        low, high = piece.min(), piece.max()
        if not (np.isfinite(low) and np.isfinite(high)):
            raise SampleError(
                f"{what} has {_first_gap(samples, piece, start)}: impute it, or remove such rows or columns"
            )
        if not features and not (low >= 0 and high <= 1):
            remedy = (
                "divide them by 255"
                if low >= 0
                else "add 1 and halve them"
                if low >= -1 and high <= 1
                else "scale them"
            )
            raise SampleError(f"{what} has values from {low:.4g} to {high:.4g}: {HOW}; {remedy}")
    return samples


def _first_gap(samples: Samples, piece: NDArray[Any], start: int) -> str:
    """Where the first value lies that is NaN or infinite."""
    row, *rest = np.argwhere(~np.isfinite(piece))[0]
    value = "NaN" if np.isnan(piece[(row, *rest)]) else "an infinite value"
    if samples.layout != "features":
        return f"{value}, first in image {start + row}"
    column = f"'{samples.columns[rest[0]]}'" if samples.columns else str(rest[0])
    return f"{value}, first in row {start + row}, column {column}"


def _kind(array: NDArray[Any]) -> str:
    names = {
        "O": "objects",
        "S": "text",
        "U": "text",
        "M": "dates",
        "m": "times",
        "c": "complex numbers",
        "V": "records",
    }
    return names[array.dtype.kind]


def _is_tensor(x: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def _is_frame(x: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(x, pandas.DataFrame)
