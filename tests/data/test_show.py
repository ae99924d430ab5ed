from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.toys import Squares

from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.two_folders import TwoFolders
from unbraid.data.split import correlation
from unbraid.errors import UserError
from unbraid.figures.data_sheet import MARGIN, contact_sheet, joint, joint_picture


def test_a_line_of_the_sheet_moves_one_factor(tmp_path: Path) -> None:
    sheet = np.asarray(Image.open(contact_sheet(Squares(), tmp_path / "new" / "sheet.png", columns=8)))
    height = 5 * 12 + 2  # enlarged to about 64 pixels
    assert sheet.shape == (9 * height, MARGIN + 8 * height, 3)  # 2 random, 4 factors, 2 of views, background
    line = sheet[2 * height : 3 * height, MARGIN:]  # x moves
    cells = [line[2:60:5, 2 + i * height : 60 + i * height : 5, 0] for i in range(8)]
    left = [int(np.flatnonzero((cell > 0).any(0))[0]) for cell in cells]
    assert left == list(range(8))
    sides = sheet[4 * height : 5 * height, MARGIN:]  # only three values
    assert (sides[:60, 3 * height :] == 255).all()


def test_the_joint_distribution_of_a_correlated_set(tmp_path: Path) -> None:
    table = DSprites(correlated=0.2)
    found = joint(table, "posX", "scale")
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - correlation((32, 6), 0.2)).max() < 0.002
    assert joint(DSprites(), "posX", "scale") == pytest.approx(np.full((32, 6), 1 / 192), abs=0.001)
    picture = np.asarray(Image.open(joint_picture(table, "posX", "scale", tmp_path / "joint.png")))
    corner = picture[6, MARGIN + 6], picture[6, MARGIN + 300]  # small x with small scale, small x with large scale
    assert corner[0] < 60
    assert corner[1] > 240
    with pytest.raises(UserError, match="no factor of 'dsprites' is called 'colour'"):
        joint(table, "colour", "scale")


def test_what_cannot_be_a_picture_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sheet\.xyz: its name must end in \.png"):
        contact_sheet(Squares(), tmp_path / "sheet.xyz")
    np.save(tmp_path / "features.npy", np.random.default_rng(0).random((20, 5)))
    own = str(tmp_path / "features.npy")
    with pytest.raises(UserError, match="features, not images"):
        contact_sheet(TwoFolders(target=own, background=own), tmp_path / "sheet.png")
