from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.sets.dsprites import DSprites
from unbraid.errors import UserError

FRAMES = Path(__file__).parents[3] / "shared/data/reference_frames/dsprites"


def published(labels: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Factors [n, 5] and images [n, 64, 64] of the frames that the authors published."""
    if not FRAMES.exists():
        pytest.skip("the published frames are not here")
    with (FRAMES / labels).open() as file:
        rows = list(csv.DictReader(file))
    names = [factor.name for factor in DSprites.factors]
    values = np.array([[int(row[name]) for name in names] for row in rows])
    return values, np.stack([np.array(Image.open(FRAMES / row["file"]).convert("L")) > 127 for row in rows])


@pytest.mark.parametrize("labels", ["gif_labels.csv", "notebook_labels.csv"])
def test_equals_the_published_frames(labels: str) -> None:
    values, real = published(labels)
    wrong = (DSprites().render(values)[:, 0] > 127) != real
    assert wrong.sum() <= 0.01 * real.sum()
    assert (wrong.sum((1, 2)) <= 0.05 * real.sum((1, 2))).all(), "one of the frames is another image"


def test_mean_over_the_grid() -> None:
    table = DSprites()
    rows = np.arange(17, len(table), 53)  # 53 has no factor in common with the sizes: it visits all values
    mean = np.mean([table.images(part).mean() / 255 for part in np.array_split(rows, 40)])
    assert mean == pytest.approx(0.0424944, abs=2e-4)  # the original's


def test_is_binary_and_area_averaged_elsewhere() -> None:
    rows = np.random.default_rng(0).integers(0, 737_280, 300)
    full = DSprites().images(rows)[:, 0]
    assert set(np.unique(full)) == {0, 255}
    for size in (32, 16):
        side = 64 // size
        area = full.reshape(-1, size, side, size, side).mean((2, 4))
        assert np.abs(DSprites(size=size).images(rows)[:, 0] - area).max() <= 0.5
    finer = DSprites(size=128).images(rows)[:, 0].mean((1, 2))
    assert np.abs(finer - full.mean((1, 2))).max() < 0.7
    assert np.abs(DSprites(size=45).images(rows)[:, 0].mean((1, 2)) - full.mean((1, 2))).max() < 0.7


def test_moves_and_turns_as_the_factors_say() -> None:
    table = DSprites(size=256)
    grid = np.arange(256) + 0.5

    def middle(*values: int) -> NDArray[np.float64]:
        picture = table.render(np.array([values]))[0, 0] / 255
        centre: NDArray[np.float64] = np.array([picture.sum(0) @ grid, picture.sum(1) @ grid]) / picture.sum()
        return centre

    np.testing.assert_allclose(middle(0, 5, 7, 0, 31), [64, 192], atol=0.1)
    np.testing.assert_allclose(middle(1, 0, 0, 31, 0), [192, 64], atol=0.1)
    turns = table.render(np.array([[2, 5, angle, 16, 16] for angle in range(40)]))
    np.testing.assert_array_equal(turns[0], turns[39])
    assert len(np.unique(turns[:39], axis=0)) == 39
    area = table.render(np.array([[1, scale, 3, 9, 9] for scale in range(6)])).mean((1, 2, 3))
    np.testing.assert_allclose(area / area[-1], np.linspace(0.5, 1, 6) ** 2, rtol=0.01)


def test_refuses_pictures_that_are_too_small() -> None:
    with pytest.raises(UserError, match="size of dsprites must be 8 or more, not 4"):
        DSprites(size=4)
