"""Tables of counts: what is a count, what a method sees of it, and that nothing is lost on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unbraid
from unbraid.data.counts import Counts, check_counts, learn_counts
from unbraid.data.table import Table
from unbraid.errors import UserError

X = np.random.default_rng(0).poisson([0.3, 2.0, 50.0, 0.0], (40, 4)) + np.array([0, 1, 0, 0])


def two_sets(folder: Path, target: str, background: str) -> Table:
    files = {"target": str(folder / target), "background": str(folder / background)}
    return unbraid.load_data("two_folders", **files, counts=True)


def test_methods_see_the_logarithm_and_get_back_every_count() -> None:
    large = np.array([[0, 1, 7, 123_456], [3, 99_999, 800_000, 1]])
    counts = learn_counts([("x", large)])
    seen = counts.apply(large)
    assert seen.shape == (2, 1, 1, 4) and seen.dtype == np.float32
    np.testing.assert_allclose(seen[:, 0, 0], np.log(1 + large), rtol=1e-6)
    assert (np.rint(counts.undo(seen)) == large).all()


def test_the_typical_row_and_the_spread_are_those_of_both_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.data.samples.PIECE", 12)
    found = learn_counts([("x", X[:30]), ("the background", X[30:])], ("a", "b", "c", "d"))
    assert found.library == np.median(X.sum(1)) and found.labels == ("a", "b", "c", "d")
    np.testing.assert_allclose(found.spread, np.log1p(X).std(0), rtol=1e-9, atol=1e-12)
    assert found.spread[3] == 0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, r"x has -1 in row 7, column 'b': counts are whole numbers from 0 on"),
        (
            0.5,
            r"x has 0\.5 in row 7, column 'b': counts are whole numbers from 0 on.* not normalised and not their log",
        ),
    ],
)
def test_what_is_no_count_is_refused(value: float, message: str) -> None:
    wrong = X.astype(np.float64)
    wrong[7, 1] = value
    with pytest.raises(UserError, match=message):
        check_counts(wrong, "x", ("a", "b", "c", "d"))


def test_a_row_without_counts_is_refused() -> None:
    empty = X.copy()
    empty[5] = 0
    with pytest.raises(UserError, match="row 5 of the background has no counts at all: remove such rows"):
        unbraid.from_arrays(X, background=empty, counts=True)


def test_images_are_no_counts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"counts are features \[n, d\], and these are images"):
        unbraid.from_arrays(np.zeros((5, 8, 8), np.uint8), counts=True)
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.zeros((5, 8, 8), np.uint8))
    with pytest.raises(UserError, match=r"counts are features of tables, and .* holds images"):
        unbraid.load_data(
            "two_folders", target=str(tmp_path / "a.npy"), background=str(tmp_path / "b.npy"), counts=True
        )


def test_files_of_counts(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame[["d", "c", "b", "a"]].iloc[::2].to_csv(tmp_path / "y.csv", index=False)
    one = unbraid.load_data("table", path=str(tmp_path / "x.csv"), counts=True)
    assert isinstance(one.scaling, Counts) and one.spec.library == np.median(X.sum(1))
    np.testing.assert_allclose(one.images(np.arange(40))[:, 0, 0], np.log1p(X), rtol=1e-6)
    two = unbraid.load_data(
        "two_folders", target=str(tmp_path / "x.csv"), background=str(tmp_path / "y.csv"), counts=True
    )
    assert two.background is not None and two.spec.library == np.median(np.concatenate([X, X[::2]]).sum(1))
    np.testing.assert_allclose(two.background.images(np.arange(20))[:, 0, 0], np.log1p(X[::2]), rtol=1e-6)
    assert unbraid.load_data("table", path=str(tmp_path / "x.csv")).spec.library == 0


def test_counts_and_standardised_features_have_other_names() -> None:
    assert unbraid.from_arrays(X, counts=True).arguments != unbraid.from_arrays(X).arguments
