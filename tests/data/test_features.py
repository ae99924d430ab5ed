from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unbraid.data.arrays import ArrayTable
from unbraid.data.batch import Images, TargetBackground
from unbraid.data.samplers import sampler
from unbraid.data.sets.two_folders import TwoFolders
from unbraid.errors import UserError


def tables(folder: Path, **arrays: Any) -> TwoFolders:
    paths = {}
    for name, array in arrays.items():
        path = folder / (f"{name}.npz" if isinstance(array, dict) else f"{name}.npy")
        np.savez(path, **array) if isinstance(array, dict) else np.save(path, np.asarray(array))
        paths[name] = str(path)
    return TwoFolders(target=paths["target"], background=paths["background"])


def test_each_feature_is_standardised_over_both_sets_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    target, background = rng.normal(1000, 50, (40, 3)), rng.normal(900, 20, (60, 3))
    both = np.concatenate([target, background])
    table = tables(tmp_path, target=target, background=background)
    assert table.shape == (1, 1, 3)
    assert isinstance(table.background, ArrayTable)
    x = np.concatenate([table.images(np.arange(40)), table.background.images(np.arange(60))])[:, 0, 0]
    z = (both - both.mean(0)) / both.std(0)
    assert np.abs(z).max() < 5
    np.testing.assert_allclose(x, 0.5 + z / 10, atol=1e-6)


def test_outliers_are_moved_to_the_edge_and_constants_to_the_middle(tmp_path: Path) -> None:
    target, background = np.random.default_rng(0).normal(size=(200, 2)), np.zeros((200, 2))
    target[3, 0] = 1e6
    target[:, 1] = 7
    background[:, 1] = 7
    with pytest.warns(UserWarning, match=r"the value 1e\+06 in row 3, column 0 of .*target\.npy lies so far"):
        table = tables(tmp_path, target=target, background=background)
    x = table.images(np.arange(200))[:, 0, 0]
    assert x[3, 0] == 1
    assert (x[:, 1] == 0.5).all()


def test_features_go_through_both_samplers_as_floats(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = tables(tmp_path, target=rng.normal(size=(30, 4)), background=rng.normal(size=(20, 4)))
    for kind in (Images, TargetBackground):
        drawn = sampler(table, kind, batch=8, seed=0)(0).on("cpu")
        x = drawn.x if isinstance(drawn, Images) else drawn.target  # type: ignore[attr-defined]
        rows = drawn.index.numpy()[:4]
        np.testing.assert_array_equal(x[:4].numpy(), table.images(rows))


def test_labels_in_an_npz_file_are_the_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(30) % 3
    target = {"features": rng.normal(size=(30, 4)), "labels": labels}
    table = tables(tmp_path, target=target, background=np.eye(4))
    assert table.label == "class"
    assert table.factors[0].size == 3
    np.testing.assert_array_equal(table.values(np.arange(30))[:, 0], labels)


def test_one_value_that_outweighs_its_column_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    target, background = rng.normal(size=(50, 3)), rng.normal(size=(60, 3))
    background[7, 2] = 1e30
    with pytest.warns(UserWarning, match=r"the value 1e\+30 in row 7, column 2 of .*background\.npy lies so far"):
        tables(tmp_path, target=target, background=background)
    background[7, 2] = 1e200
    with pytest.raises(UserError, match=r"1e\+200 in row 7, column 2 of .*background\.npy is too large"):
        tables(tmp_path, target=target, background=background)
    background[:, 2], target[:, 2] = 0, 0
    background[7, 2] = 1  # a rare event is not an outlier: the others were alike before
    tables(tmp_path, target=target, background=background)


def test_features_against_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"target\.npy holds features and .*background\.npy holds images"):
        tables(tmp_path, target=np.zeros((5, 3)), background=np.zeros((5, 8, 8), np.uint8))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.zeros((5, 3)), "has 3 features and .* has 4"),
        (np.full((5, 4), np.nan), "NaN or infinite, the first in row 0, column 0"),
        (np.zeros((0, 4)), "features are numbers"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, target: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tables(tmp_path, target=target, background=np.zeros((6, 4)))
