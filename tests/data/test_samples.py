"""Samples from anything: each kind of input gives the same numbers, and each fault its sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy import sparse

from unbraid.data import samples as module
from unbraid.data.samples import SampleError, expect, read
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (5, 6, 8, 3), dtype=np.uint8)  # [n, h, w, c]
GREY = COLOUR[..., 0]


@pytest.mark.parametrize(
    ("given", "layout"),
    [
        (COLOUR, "hwc"),
        (COLOUR.transpose(0, 3, 1, 2), "chw"),
        (torch.from_numpy(COLOUR.transpose(0, 3, 1, 2).copy()), "chw"),
        ([Image.fromarray(image) for image in COLOUR], "hwc"),
        (list(COLOUR), "hwc"),
    ],
)
def test_images_of_every_kind_become_the_same_bytes(given: Any, layout: str) -> None:
    samples = read(given)
    assert samples.layout == layout
    assert samples.shape == (3, 6, 8)
    batch = samples.batch(slice(1, 4))
    assert batch.flags["C_CONTIGUOUS"]
    assert batch.dtype == np.uint8
    np.testing.assert_array_equal(batch, COLOUR[1:4].transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    "given",
    [
        GREY / 255,
        (GREY / 255).astype(np.float32)[:, None],
        torch.from_numpy(GREY / 255)[:, None].requires_grad_(),
        torch.from_numpy(GREY / 255)[..., None],
    ],
)
def test_floats_stay_floats(given: Any) -> None:
    samples = read(given)
    batch = samples.batch(np.array([4, 0]))
    assert batch.dtype == np.float32
    assert batch.shape == (2, 1, 6, 8)
    np.testing.assert_allclose(batch[:, 0], GREY[[4, 0]] / 255, rtol=1e-6)
    back = samples.like(batch)
    assert isinstance(back, torch.Tensor) == isinstance(given, torch.Tensor)
    assert tuple(back.shape) == (2, *given.shape[1:])


def test_booleans_are_black_and_white_and_bits_of_an_image_too() -> None:
    np.testing.assert_array_equal(read(GREY > 99).batch(slice(None))[:, 0], (GREY > 99).astype(np.float32))
    bits = [Image.fromarray(image > 99) for image in GREY]
    np.testing.assert_array_equal(read(bits).batch(slice(None))[:, 0], (GREY > 99).astype(np.float32))


def test_nothing_is_copied_before_a_batch_is_taken() -> None:
    assert np.shares_memory(read(COLOUR).array, COLOUR)
    tensor = torch.rand(4, 1, 8, 8)
    assert read(tensor).array.ctypes.data == tensor.data_ptr()
    frame = pd.DataFrame(RNG.normal(size=(4, 3)), columns=list("abc"))
    assert np.shares_memory(read(frame).array, frame.to_numpy())


def test_arrays_that_are_read_only_are_copied_for_torch() -> None:
    locked = COLOUR.transpose(0, 3, 1, 2).copy()
    locked.flags.writeable = False
    given = torch.from_numpy(read(locked).batch(slice(0, 2)))  # would warn, which is an error here
    given.zero_()
    assert locked[:2].any(), "the user's own array was changed"


def test_a_frame_keeps_its_columns_and_its_index() -> None:
    frame = pd.DataFrame({"age": [40, 50], "weight": [70.5, 80.5], "smoker": [True, False]}, index=["ann", "bob"])
    samples = read(frame)
    assert samples.columns == ("age", "weight", "smoker")
    np.testing.assert_array_equal(samples.batch(slice(None)), [[40, 70.5, 1], [50, 80.5, 0]])
    back = samples.like(np.zeros((2, 3)))
    assert list(back.index) == ["ann", "bob"]
    assert list(back.columns) == ["age", "weight", "smoker"]


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]})
FAULTS: list[tuple[Any, str]] = [
    (GREY.astype(np.float32), r"has values from 0 to 254: .* divide them by 255"),
    (GREY / 127.5 - 1, r"has values from -1 to 0.9922: .* add 1 and halve them"),
    (GREY * 3.0 - 100, r"has values from -\d+ to \d+: .* scale them"),
    (GREY.astype(np.int64), r"holds int64: .* use .astype\('uint8'\)"),
    (np.where(np.arange(5)[:, None, None] == 3, np.nan, GREY / 255), r"has NaN, first in image 3"),
    (np.zeros((0, 8, 8)), r"has no samples: its shape is \[0, 8, 8\]"),
    (np.zeros((4, 0)), r"has no features: its shape is \[4, 0\]"),
    (np.zeros((4, 8, 8, 4)), r"has the shape \[4, 8, 8, 4\]: images are \[n, h, w\]"),
    (np.zeros(4), r"has the shape \[4\]"),
    (np.array([["a", "b"]]), "holds text: samples are numbers"),
    (np.array([[1j]]), "holds complex numbers"),
    (np.array([[None]]), "holds objects"),
    (np.array([[1.0, np.inf]]), r"has an infinite value, first in row 0, column 1: impute it"),
    (FRAME, r"has NaN, first in row 1, column 'b'"),
    (pd.DataFrame({"a": [1], "name": ["ann"]}), "the column 'name' of X does not hold numbers"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns of X are called 'a'"),
    (
        [Image.new("L", (8, 8)), Image.new("L", (8, 9))],
        "image 1 of X is 9x8 and the first is 8x8: bring them to one size",
    ),
    ([Image.new("RGBA", (8, 8))], r"image 0 of X is RGBA: convert it, with image.convert\('RGB'\)"),
    (Image.new("L", (8, 8)), "X is Image: images are .* a list of PIL images will do too"),
    ("pictures.npy", "X is str"),
    (None, "X is NoneType"),
    (sparse.eye(3).tocsr(), r"X is a sparse array: make it dense first, with .toarray\(\)"),
    (torch.eye(3).to_sparse(), r"X is a sparse tensor: make it dense first"),
]


@pytest.mark.parametrize(("given", "message"), FAULTS, ids=[message[:40] for _, message in FAULTS])
def test_what_cannot_be_used_is_said_in_a_sentence(given: Any, message: str) -> None:
    with pytest.raises(SampleError, match=message) as error:
        read(given)
    assert isinstance(error.value, UserError)
    assert isinstance(error.value, ValueError)
    assert "\n" not in str(error.value)


def test_a_large_array_is_checked_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 7)
    x = np.zeros((50, 2, 3))
    x[49, 1, 2] = np.nan
    with pytest.raises(SampleError, match="NaN, first in image 49"):
        read(x)


@pytest.mark.parametrize(
    ("shape", "features", "message"),
    [
        ((3, 6, 9), False, "X has images of 6x8, and the model was trained on 6x9: resize them"),
        ((1, 6, 8), False, "X has 3 channels, and the model was trained on 1: make them grey"),
        ((1, 1, 4), True, "X has images of 6x8, and the model was trained on 4 features"),
    ],
)
def test_images_that_do_not_fit_a_model_are_refused(shape: Any, features: bool, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        expect(read(COLOUR), shape, features=features)
    expect(read(COLOUR), (3, 6, 8), features=False)


def test_features_that_do_not_fit_a_model_are_refused() -> None:
    frame = pd.DataFrame(np.eye(3), columns=list("abc"))
    expect(read(frame), (1, 1, 3), features=True, columns="abc")
    expect(read(frame.to_numpy()), (1, 1, 3), features=True, columns="abc")
    with pytest.raises(SampleError, match="X has 3 features, and the model was trained on 4 features"):
        expect(read(frame), (1, 1, 4), features=True)
    with pytest.raises(SampleError, match="X has 3 features, and the model was trained on images of 1x3"):
        expect(read(frame), (1, 1, 3), features=False)
    with pytest.raises(SampleError, match="column 1 of X is 'b' and was 'c' in training"):
        expect(read(frame), (1, 1, 3), features=True, columns="acb")
