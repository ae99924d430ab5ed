"""Tables of a user's own arrays, frames, pairs and torch data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import unbraid
from unbraid.data import features, samples
from unbraid.data.batch import Labelled, Pairs, TargetBackground, Views
from unbraid.data.features import learn_scaling
from unbraid.data.samplers import sampler
from unbraid.data.split import hold_out
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (24, 8, 8, 3), dtype=np.uint8)
COLOURS, SIZES = np.repeat([0, 1, 2], 8), np.tile([5, 7], 12)


def drawn(table: Any, kind: Any, **sampling: Any) -> Any:
    return sampler(table, kind, batch=16, seed=0, **sampling)(0)


def test_images_come_out_channels_first() -> None:
    table = unbraid.from_arrays(IMAGES)
    assert table.spec.shape == (3, 8, 8)
    assert table.gives == ("Images",)
    np.testing.assert_array_equal(table.images(np.array([3, 1])), IMAGES[[3, 1]].transpose(0, 3, 1, 2))


def test_a_label_gives_classes_and_views_of_the_same_class() -> None:
    table = unbraid.from_arrays(IMAGES, label=["cat", "dog", "owl"] * 8)
    assert table.class_names == ("cat", "dog", "owl")
    assert not table.factors[0].ordered
    assert table.spec.classes == 3
    batch = drawn(table, Labelled)
    np.testing.assert_array_equal(batch.y, batch.index % 3)
    assert "Views" in table.gives
    assert len(drawn(table, Views).x2) == 16


def test_pairs_differ_in_as_many_factors_as_asked_for_and_repeats_are_all_used() -> None:
    names = ["colour", "size"]
    table = unbraid.from_arrays(IMAGES, factors=np.stack([COLOURS, SIZES], 1), factor_names=names, label="size")
    assert [(f.name, f.size, f.ordered) for f in table.factors] == [("colour", 3, True), ("size", 2, False)]
    rows, rng = np.zeros(300, np.int64), np.random.default_rng(1)
    for k in (1, 2):
        others = table.change(rows, np.full(300, k), rng)
        differing = (table.values(rows) != table.values(others)).sum(1)
        assert (differing == k).all()
    values = table.values(np.arange(24))
    able = np.flatnonzero((values != values[0]).sum(1) == 2)
    assert set(others) == set(able)  # of the four samples of each combination, all
    assert (drawn(table, Pairs, changed=2).k == 2).all()


def test_known_nuisances_are_in_the_batch() -> None:
    frame = pd.DataFrame({"colour": COLOURS, "size": SIZES})
    table = unbraid.from_arrays(IMAGES, factors=frame, label="size", nuisances=["colour"])
    batch = drawn(table, Labelled)
    np.testing.assert_array_equal(batch.s[:, 0], COLOURS[batch.index])


def test_features_are_scaled_over_target_and_background_and_can_be_taken_back() -> None:
    target, background = RNG.normal(100, 7, (40, 3)), RNG.normal(90, 3, (60, 3))
    target[:, 2] = background[:, 2] = 4
    table = unbraid.from_arrays(target, background=torch.from_numpy(background))
    assert table.scaling is not None and table.background is not None
    assert table.shape == (1, 1, 3)
    both = np.concatenate([target, background])[:, :2]
    x = np.concatenate([table.images(np.arange(40)), table.background.images(np.arange(60))])[:, 0, 0]
    np.testing.assert_allclose(x[:, :2], 0.5 + (both - both.mean(0)) / both.std(0) / 10, atol=1e-6)
    assert (x[:, 2] == 0.5).all()
    np.testing.assert_allclose(table.scaling.undo(table.images(np.arange(40))), target, rtol=1e-5)
    assert drawn(table, TargetBackground).background.shape == (16, 1, 1, 3)
    assert hold_out(table, fraction=0.5).scaling is table.scaling


def test_a_scaling_that_is_learnt_by_pieces_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = RNG.normal(3, 2, (101, 4)).astype(np.float32), RNG.normal(size=(50, 4)).astype(np.float32)
    y[33, 1] = 1e5
    for size in (1 << 24, 40):
        monkeypatch.setattr(features, "PIECE", size)
        monkeypatch.setattr(samples, "PIECE", size)
        with pytest.warns(UserWarning, match=r"the value 100000 in row 33, column 1 of y lies so far"):
            found = learn_scaling([("x", x), ("y", y)])
        both = np.concatenate([x, y]).astype(np.float64)
        np.testing.assert_allclose(found.mean, both.mean(0), rtol=1e-12)
        np.testing.assert_allclose(found.spread, both.std(0), rtol=1e-12)


def test_a_frame_says_which_columns_are_what() -> None:
    frame = pd.DataFrame(
        {"who": list("abcdef"), "x": range(6), "kind": list("ppqqpp"), "note": "-", "y": np.linspace(0, 1, 6)}
    )
    table = unbraid.from_frame(frame, label="kind", ignore=["note"], id="who")
    assert table.scaling is not None
    assert table.scaling.names == ("x", "y")
    assert table.files == tuple("abcdef")
    assert table.class_names == ("p", "q")
    with pytest.raises(UserError, match="no column is called 'kindd': did you mean 'kind'"):
        unbraid.from_frame(frame, label="kindd")
    with pytest.raises(UserError, match="'a' stands for two samples"):
        unbraid.from_frame(pd.concat([frame, frame]), label="kind", ignore=["note"], id="who")
    with pytest.raises(UserError, match="the column 'note' of x does not hold numbers"):
        unbraid.from_frame(frame, label="kind", id="who")
    with pytest.raises(UserError, match="the background has no column 'y'"):
        unbraid.from_frame(frame[["x", "y"]], background=frame[["x"]])


def test_given_pairs_stay_together() -> None:
    first, second = IMAGES[:12], IMAGES[12:]
    table = unbraid.from_pairs(first, second, changed=2, label=COLOURS[:12])
    batch = drawn(table, Pairs)
    assert (batch.k == 2).all()
    np.testing.assert_array_equal(batch.x1, first[batch.index].transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(batch.x2, second[batch.index].transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(batch.y, COLOURS[batch.index])
    with pytest.raises(UserError, match="these pairs differ in 2 factors: leave `changed` of the sampling out"):
        drawn(table, Pairs, changed=1)
    counts = np.arange(24).reshape(12, 2)
    assert unbraid.from_pairs(counts, counts + 1, counts=True).arguments["counts"] is True
    with pytest.raises(UserError, match="12 first and 5 second samples"):
        unbraid.from_pairs(first, second[:5])


def test_runs_are_named_after_the_content() -> None:
    def digest(x: Any, **known: Any) -> Any:
        return unbraid.from_arrays(x, **known).arguments

    other = IMAGES.copy()
    other[-1, -1, -1, -1] ^= 1
    assert digest(IMAGES) == digest(IMAGES.copy()) == digest(list(IMAGES))
    different = [digest(IMAGES), digest(other), digest(IMAGES, label=COLOURS), digest(IMAGES, label=SIZES)]
    different += [digest(IMAGES, background=IMAGES), digest(IMAGES, background=other)]
    assert len({str(arguments) for arguments in different}) == 6
    folds = [hold_out(unbraid.from_arrays(IMAGES), fraction=0.5, seed=seed).arguments for seed in (0, 1)]
    assert folds[0] != folds[1]  # parts of equal size are different runs


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"factors": np.zeros((5, 2))}, r"factors have the shape \[5, 2\]: it is \[samples, factors\], with 24"),
        ({"factors": np.zeros((24, 2)), "factor_names": ["a"]}, "there are 2 factors and the names a"),
        ({"factors": np.linspace(0, 1, 24)}, "the factor 'factor0' has fractions: cut it into a few classes"),
        ({"factors": np.full(24, np.nan)}, "the factor 'factor0' has NaN or infinite values"),
        ({"label": [1, 2]}, r"the label has the shape \[2\]: it is \[24\]"),
        ({"label": "kind"}, "no factor is called 'kind': there are: none"),
        ({"factors": COLOURS, "nuisances": ["factor1"]}, "no factor is called 'factor1': did you mean 'factor0'"),
        ({"background": IMAGES[:, :4]}, "the background has images of 4x8, and the model was trained on 8x8"),
        ({"names": ["a"]}, "there are 1 for 24 samples"),
    ],
)
def test_what_does_not_fit_the_samples_is_refused(known: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        unbraid.from_arrays(IMAGES, **known)


class Pictures(Dataset[Any]):
    """Counts how often it is read."""

    def __init__(self, missing: int = 99, size: int = 8) -> None:
        self.reads, self.missing, self.size = 0, missing, size

    def __len__(self) -> int:
        return 24

    def __getitem__(self, i: int) -> Any:
        self.reads += 1
        if i >= self.missing:
            raise IndexError(i)
        return Image.fromarray(IMAGES[i][: self.size if i > 20 else 8]), int(COLOURS[i])


def test_a_torch_data_set_is_read_once_and_its_labels_are_the_classes() -> None:
    dataset = Pictures()
    table = unbraid.from_torch(dataset)
    before = dataset.reads
    for _ in range(3):
        np.testing.assert_array_equal(table.images(np.arange(24)), IMAGES.transpose(0, 3, 1, 2))
    assert dataset.reads == before  # the digest reads all of so few
    np.testing.assert_array_equal(table.labels, COLOURS)
    assert table.spec.classes == 3


def test_a_torch_data_set_of_tensors_without_labels() -> None:
    floats = torch.rand(40, 1, 8, 8)
    table = unbraid.from_torch(TensorDataset(floats))
    assert table.gives == ("Images",)
    np.testing.assert_array_equal(table.images(np.array([39, 2])), floats[[39, 2]].numpy())


def test_a_torch_data_set_that_shrinks_while_it_is_used(tmp_path: Path) -> None:
    dataset = Shrinking()
    table = unbraid.from_torch(dataset)
    method = unbraid.build("vae", table, width=2, latents=2)
    dataset.items = 60
    with pytest.raises(UserError, match=r"says that it has 60 items, and has no item \d+"):
        unbraid.fit(method, table, steps=50, out=str(tmp_path), show=False)


class Shrinking(Dataset[Any]):
    """Of 100 items, which are not all read at the start."""

    items = 100

    def __len__(self) -> int:
        return self.items

    def __getitem__(self, i: int) -> Any:
        if i >= self.items:
            raise IndexError(i)
        return IMAGES[i % 24]


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield IMAGES[0]


def test_torch_data_sets_that_cannot_be_used() -> None:
    with pytest.raises(UserError, match="the data set has no length"):
        unbraid.from_torch(Endless())
    with pytest.raises(UserError, match="says that it has 24 items, and has no item 20"):
        unbraid.from_torch(Pictures(missing=20))
    with pytest.raises(UserError, match=r"item 21 of the data set is \[3, 4, 8\] and the first is \[3, 8, 8\]"):
        unbraid.from_torch(Pictures(size=4))
    with pytest.raises(UserError, match="the data set is empty"):
        unbraid.from_torch(TensorDataset(torch.zeros(0, 1, 8, 8)))
    with pytest.raises(UserError, match="no images: give features to from_arrays"):
        unbraid.from_torch(TensorDataset(torch.zeros(5, 3)))
    with pytest.raises(UserError, match="item 0 of the data set has values from 0 to 255"):
        unbraid.from_torch(TensorDataset(torch.arange(256.0).reshape(1, 1, 16, 16)))
