from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data.compose.row_noise import uniform, uniform_bytes, words
from unbraid.data.sets.color_dsprites import ColorDSprites
from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.noisy_dsprites import NoisyDSprites
from unbraid.data.sets.scream_dsprites import ScreamDSprites
from unbraid.data.table import Grid
from unbraid.errors import UserError

ROWS = np.random.default_rng(0).integers(0, 737_280, 400)
INSIDE = DSprites().images(ROWS)[:, 0] == 255


@pytest.mark.parametrize("kind", [ColorDSprites, NoisyDSprites, ScreamDSprites])
def test_a_row_is_the_same_picture_in_any_batch(kind: type[Grid]) -> None:
    table = kind()
    np.testing.assert_array_equal(table.images(ROWS[:9]), kind().images(ROWS[::-1])[::-1][:9])
    other = kind(draw=1).images(ROWS[:9])
    assert (other != table.images(ROWS[:9])).any((1, 2, 3)).all()
    assert table.shape == (3, 64, 64)


def test_color_is_one_colour_of_at_least_a_half() -> None:
    pictures = ColorDSprites().images(ROWS).transpose(0, 2, 3, 1)
    assert not pictures[~INSIDE].any()
    first = np.stack([picture[inside][0] for picture, inside in zip(pictures, INSIDE, strict=True)])
    np.testing.assert_array_equal(pictures[INSIDE], np.repeat(first, INSIDE.sum((1, 2)), 0))
    assert 127 <= first.min() < 135
    assert first.mean() == pytest.approx(0.75 * 255, abs=3)
    assert np.abs(np.cov(first.T.astype(float)) - np.eye(3) * 127.5**2 / 12).max() < 250


def test_random_numbers_are_those_of_splitmix() -> None:
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # the sequence from 0
    assert words(np.array([0]), 0, 3).tolist() == [published]
    assert uniform_bytes(np.array([0]), 0, 9).tolist() == [[*published[0].to_bytes(8, "little"), 0xF4]]
    numbers = uniform(np.arange(2000), 5, 50)
    assert 0 <= numbers.min() < numbers.max() < 1
    assert np.histogram(numbers, 20, (0, 1))[0] / numbers.size == pytest.approx([0.05] * 20, abs=0.005)
    assert np.abs(np.corrcoef(numbers.T) - np.eye(50)).max() < 0.12
    assert np.abs(np.corrcoef(numbers[:200]) - np.eye(200)).max() < 0.7
    assert len(np.unique(words(np.arange(300), 0, 100))) == 30_000


def test_noise_is_uniform_round_a_white_sprite() -> None:
    pictures = NoisyDSprites().images(ROWS[:50]).transpose(0, 2, 3, 1)
    assert (pictures[INSIDE[:50]] == 255).all()
    noise = pictures[~INSIDE[:50]] / 255  # [pixels, 3]
    assert noise.mean() == pytest.approx(0.5, abs=0.005)
    assert noise.var() == pytest.approx(1 / 12, abs=0.002)
    assert abs(float((noise[:, 0] * noise[:, 1]).mean()) - 0.25) < 0.005


def test_sprites_are_negatives_of_a_tinted_piece(tmp_path: Path) -> None:
    plain = np.full((80, 80, 3), (10, 200, 90), np.uint8)
    Image.fromarray(plain).save(tmp_path / "plain.png")
    pictures = ScreamDSprites(picture=str(tmp_path / "plain.png")).images(ROWS).astype(int)
    for picture, inside in zip(pictures, INSIDE, strict=True):
        background, sprite = picture[:, ~inside], picture[:, inside]
        assert (np.ptp(background, 1) == 0).all()
        assert np.abs(background[:, :1] + sprite - 255).max() <= 1
        tint = 2 * background[:, 0] - plain[0, 0]
        assert tint.min() >= -1
        assert tint.max() <= 256


def test_pieces_come_from_the_whole_picture(tmp_path: Path) -> None:
    """Where the dark quarter of an image ends in a piece tells where the piece was cut."""
    quarter = np.full((100, 100, 3), 200, np.uint8)
    quarter[:50, :50] = 0
    Image.fromarray(quarter).save(tmp_path / "quarter.png")
    pictures = ScreamDSprites(picture=str(tmp_path / "quarter.png")).images(ROWS)[:, 0].astype(int)
    across, down = ((edge != edge[:, :1]).argmax(1) for edge in (pictures[:, 0], pictures[:, :, 0]))  # no sprites there
    for cut in (50 - across, 50 - down):
        assert (cut.min(), cut.max()) == (0, 36)
        assert np.bincount(cut, minlength=37).max() < 0.08 * len(ROWS)
    assert abs(np.cov(across, down)[0, 1]) < 15


def test_refuses_what_is_no_picture(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(UserError, match=r"text\.png cannot be read as an image"):
        ScreamDSprites(picture=str(tmp_path / "text.png"))
    with pytest.raises(UserError, match=r"none\.png cannot be read"):
        ScreamDSprites(picture=str(tmp_path / "none.png"))
    Image.fromarray(np.zeros((20, 90), np.uint8)).save(tmp_path / "small.png")
    with pytest.raises(UserError, match="too small"):
        ScreamDSprites(picture=str(tmp_path / "small.png"))
