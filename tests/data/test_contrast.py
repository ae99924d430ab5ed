"""Sets with a target and a background."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data.batch import TargetBackground
from unbraid.data.compose import digits
from unbraid.data.compose.photographs import GreyPhotographs
from unbraid.data.compose.texture import Patches, any_picture, cut_squares
from unbraid.data.samplers import sampler
from unbraid.data.sets.affectnet_emotions import AffectNetEmotions
from unbraid.data.sets.celeba import ATTRIBUTES, CelebA
from unbraid.data.sets.celeba_hats_glasses import CelebAHatsGlasses
from unbraid.data.sets.cifar10 import CIFAR10, CLASSES
from unbraid.data.sets.grassy_mnist import GrassyMNIST
from unbraid.data.sets.photo_mnist import PhotoMNIST
from unbraid.data.sets.two_folders import TwoFolders
from unbraid.data.table import Table
from unbraid.errors import UserError

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(folder))
        with warnings.catch_warnings(action="ignore"):
            digits.load()
        yield folder


def texture(path: Path, *, channels: int) -> str:
    """Dark on the left, light on the right, each with the whole range of its half."""
    pixels = RNG.integers(0, 128, (90, 140, channels), dtype=np.uint8)
    pixels[:, 70:] += 128
    Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels).save(path)
    return str(path)


def shades(table: Table | None) -> list[int]:
    assert table is not None
    return [int(x.mean()) for x in table.images(np.arange(len(table)))]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("combine", ["linear", "nonlinear"])
def test_digits_are_mixed_with_grass(tmp_path: Path, combine: str, channels: int) -> None:
    table = GrassyMNIST(texture=texture(tmp_path / "t.png", channels=channels), combine=combine, ratio=0.4)  # type: ignore[arg-type]
    assert table.shape == (channels, 28, 28)
    rows = RNG.integers(0, len(table), 30)
    y, t = table.behind.images(rows) / 255, table.digits[rows][:, None] / 255
    expected = 0.4 * y + 0.6 * t
    if combine == "nonlinear":
        expected[y <= 0.3] = 0
        assert (expected == 0).mean() > 0.3
    assert np.abs(table.images(rows) / 255 - expected).max() < 0.51 / 255


def test_target_and_background_come_from_disjoint_halves(tmp_path: Path) -> None:
    table = GrassyMNIST(texture=texture(tmp_path / "t.png", channels=1), patches=500)
    assert table.background is not None
    assert len(table.background) == 500
    grass = table.behind.images(np.arange(len(table)))
    assert grass.max() < 128 <= table.background.images(np.arange(500)).min()
    assert len(np.unique(grass, axis=0)) > 1000


def test_without_halves_both_sets_come_from_all_of_the_texture(tmp_path: Path) -> None:
    """A picture whose left half is dark: patches of both sets come from either half, at the corners that were drawn."""
    file = texture(tmp_path / "t.png", channels=1)
    table, pixels = GrassyMNIST(texture=file, halves=False, patches=500), np.asarray(Image.open(file))
    assert table.background is not None
    for part in (table.behind, table.background):
        assert isinstance(part, Patches)
        cut = part.images(np.arange(300))
        assert 0.1 < (cut.max((1, 2, 3)) < 128).mean() < 0.5 and 0.1 < (cut.min((1, 2, 3)) >= 128).mean() < 0.5
        for i in range(20):
            top, left = (part.corners[i] * (np.array(pixels.shape) - 27)).astype(int)
            np.testing.assert_array_equal(cut[i, 0], pixels[top : top + 28, left : left + 28])
    narrow = np.zeros((90, 50), np.uint8)  # too narrow for halves
    Image.fromarray(narrow).save(tmp_path / "narrow.png")
    assert GrassyMNIST(texture=str(tmp_path / "narrow.png"), halves=False, per_class=1).shape == (1, 28, 28)


def test_patches_come_from_all_textures(tmp_path: Path) -> None:
    shades = {"a.png": 10, "b.png": 90, "c.jpg": 200}
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "notes.txt").write_text("no picture")
    for name, shade in shades.items():
        Image.fromarray(np.full((60, 80 + shade, 3), shade, np.uint8)).save(tmp_path / "more" / name)
    folder, files = str(tmp_path / "more"), ",".join(str(tmp_path / "more" / name) for name in shades)
    for given in (folder, files):
        table = GrassyMNIST(texture=given, patches=3000, per_class=100)
        assert table.arguments["texture"] == given and table.shape == (3, 28, 28)
        for part in (table.behind, table.background):
            assert part is not None
            found = part.images(np.arange(len(part))).reshape(len(part), -1)
            values, counts = np.unique(found[:, 0], return_counts=True)
            assert (found == found[:, :1]).all() and values.tolist() == [10, 90, 200]
            np.testing.assert_allclose(counts / len(part), 1 / 3, atol=0.06)  # each as often, whatever its size
    one = texture(tmp_path / "grey.png", channels=1)
    mixed = GrassyMNIST(texture=f"{one},{tmp_path / 'more' / 'b.png'}", per_class=50)
    assert mixed.shape == (1, 28, 28)  # all are grey if one is
    rows = np.array([5, 400, 5, *range(60, 80)])  # each row has its own patch, whatever it is drawn with
    assert len(np.unique(mixed.behind.images(rows), axis=0)) > 5
    alone = [mixed.behind.images(rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(mixed.behind.images(rows), np.concatenate(alone))
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match=r"none has no image in it"):
        GrassyMNIST(texture=str(tmp_path / "none"))


def test_the_default_cuts_the_patches_that_it_always_cut(tmp_path: Path) -> None:
    """One picture, its halves: digits, then the corners of targets, then those of backgrounds, in this order."""
    file = texture(tmp_path / "t.png", channels=1)
    table, pixels = GrassyMNIST(texture=file, per_class=7, patches=9), np.asarray(Image.open(file))
    labels, rng = digits.load()[1], np.random.default_rng(0)
    for y in range(10):
        rng.permutation(np.flatnonzero(labels == y))
    corners = rng.random((70, 2), np.float32), rng.random((9, 2), np.float32)
    for part, where, half in zip(
        (table.behind, table.background), corners, (pixels[:, :70], pixels[:, 70:]), strict=True
    ):
        assert part is not None
        np.testing.assert_array_equal(part.images(np.arange(9)), cut_squares(half[None], where[:9], 28))


def test_patches_reach_every_corner_of_a_picture() -> None:
    picture = RNG.integers(0, 256, (3, 40, 60), dtype=np.uint8)
    below_one = np.nextafter(np.float32(1), np.float32(0))
    where = np.array([[0, 0], [below_one, below_one], [0, below_one], [0.5, 0.25]], np.float32)
    found = cut_squares(picture, where, 28)
    for piece, (top, left) in zip(found, [(0, 0), (12, 32), (0, 32), (6, 8)], strict=True):
        np.testing.assert_array_equal(piece, picture[:, top : top + 28, left : left + 28])


def test_digits_are_balanced_and_drawn_once(tmp_path: Path) -> None:
    file = texture(tmp_path / "t.png", channels=1)
    table = GrassyMNIST(texture=file, per_class=50)
    labels = table.values(np.arange(len(table)))[:, 0]
    assert np.bincount(labels).tolist() == [50] * 10
    most = GrassyMNIST(texture=file)  # fewer digits are there than asked for
    assert (
        np.bincount(most.values(np.arange(len(most)))[:, 0]).tolist() == [int(np.bincount(digits.load()[1]).min())] * 10
    )
    np.testing.assert_array_equal(
        table.images(np.arange(20)), GrassyMNIST(texture=file, per_class=50).images(np.arange(20))
    )
    batch = sampler(table, TargetBackground, batch=32, seed=0)(3)
    assert isinstance(batch, TargetBackground)
    assert batch.background.min() >= 128
    assert batch.target.shape == batch.background.shape == (32, 1, 28, 28)


def test_zoom_shows_a_smaller_part_of_the_texture(tmp_path: Path) -> None:
    ramp = np.repeat(np.linspace(0, 255, 120).astype(np.uint8)[None], 90, 0)  # lighter to the right
    Image.fromarray(ramp).save(tmp_path / "ramp.png")
    spans = []
    for zoom in (1, 3):
        patches = GrassyMNIST(texture=str(tmp_path / "ramp.png"), per_class=5, zoom=zoom).behind.images(np.arange(50))
        spans.append(np.median(patches[:, 0, 0, -1].astype(int) - patches[:, 0, 0, 0]))
    assert spans[0] == pytest.approx(3 * spans[1], rel=0.06)


def test_digits_are_mixed_with_photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CIFAR10, "per_class", (("train", 6), ("test", 1)))
    for number, name in enumerate(CLASSES):
        for file in (*(f"train/{name}/{i}.png" for i in range(6)), f"test/{name}/0.png"):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((32, 32, 3), (200, 20 * number, 10), np.uint8)).save(tmp_path / file)
    table = PhotoMNIST(path=str(tmp_path), ratio=0.25, per_class=3, photographs=20)
    assert set(shades(table.background)) <= {round(0.299 * 200 + 0.587 * 20 * n + 0.114 * 10) for n in range(10)}
    rows = np.arange(len(table))
    behind, digit = table.behind.images(rows).astype(float), np.zeros((30, 1, 32, 32))
    digit[:, 0, 2:30, 2:30] = table.digits[:, 2:30, 2:30]
    np.testing.assert_array_equal(table.images(rows), np.rint(0.25 * behind + 0.75 * digit))
    assert isinstance(table.background, GreyPhotographs)
    assert (np.bincount(table.values(rows)[:, 0]).tolist(), len(table.background)) == ([3] * 10, 20)
    assert not set(table.behind.chosen) & set(table.background.chosen)
    with pytest.raises(UserError, match="30 targets and 31 backgrounds are more than the 60 photographs available"):
        PhotoMNIST(path=str(tmp_path), per_class=3, photographs=31)


def test_grass_comes_from_the_root_or_from_a_photograph(root: Path) -> None:
    with pytest.warns(UserWarning, match=r"grass\.png does not exist: using a photograph"):
        assert GrassyMNIST(per_class=1).shape == (3, 28, 28)
    texture(root / "grass.png", channels=1)
    assert GrassyMNIST(per_class=1).shape == (1, 28, 28)


def test_what_cannot_be_mixed_is_said(tmp_path: Path) -> None:
    file = texture(tmp_path / "t.png", channels=1)
    with pytest.raises(UserError, match=r"must be .*nonlinear, not 'nonlinar'"):
        GrassyMNIST(texture=file, combine="nonlinar")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="ratio of grassy_mnist must be from 0 to 1, not 2"):
        GrassyMNIST(texture=file, ratio=2)
    with pytest.raises(UserError, match="per_class of grassy_mnist must be 1 or more, not 0"):
        GrassyMNIST(texture=file, per_class=0)
    Image.fromarray(np.zeros((90, 50), np.uint8)).save(tmp_path / "narrow.png")
    with pytest.raises(UserError, match=r"narrow\.png is too small"):
        GrassyMNIST(texture=str(tmp_path / "narrow.png"))


def test_hats_and_glasses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CelebA, "count", 12)
    folder = root / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    signs = np.full((12, 40), -1)
    signs[[0, 1, 2, 3], ATTRIBUTES.index("Wearing_Hat")] = 1
    signs[[3, 4, 5], ATTRIBUTES.index("Eyeglasses")] = 1
    names = [f"{i + 1:06}.jpg" for i in range(12)]
    for i, name in enumerate(names):
        Image.fromarray(np.full((218, 178, 3), 20 * i, np.uint8)).save(folder / "img_align_celeba" / name)
    lines = [f"{name} " + " ".join(map(str, row)) for name, row in zip(names, signs, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join(["12", " ".join(ATTRIBUTES), *lines]) + "\n")
    table = CelebAHatsGlasses(size=16)
    assert shades(table) == [0, 20, 40, 80, 100]  # face 3 has both
    assert table.values(np.arange(5))[:, 0].tolist() == [0, 0, 0, 1, 1]
    assert shades(table.background) == [120, 140, 160, 180, 200, 220]
    few = CelebAHatsGlasses(size=16, per_class=1, others=2)
    assert (len(few), len(shades(few.background))) == (2, 2)
    assert few.values(np.arange(2))[:, 0].tolist() == [0, 1]


def test_emotions_and_neutral_faces(root: Path) -> None:
    folder = root / "affectnet"
    (folder / "Manually_Annotated_Images").mkdir(parents=True)
    rows = []
    for i, expression in enumerate([0, 3, 7, 0, 1, 9]):
        Image.fromarray(np.full((20, 20, 3), 30 * i, np.uint8)).save(folder / f"Manually_Annotated_Images/{i}.png")
        rows.append(f"{i}.png,0,0,20,20,1;2,{expression},0.1,0.2")
    (folder / "training.csv").write_text("\n".join(rows[:4]) + "\n")
    (folder / "validation.csv").write_text("\n".join([*rows[3:], rows[0]]) + "\n")
    table = AffectNetEmotions(size=12)
    assert (shades(table), table.values(np.arange(2))[:, 0].tolist()) == ([30, 60], [2, 6])
    assert shades(table.background) == [0, 90]
    assert table.test is not None
    assert (shades(table.test), table.test.values(np.arange(1))[:, 0].tolist()) == ([120], [0])
    assert shades(table.test.background) == [90, 0]
    (folder / "training.csv").write_text(rows[0] + "\n")
    with pytest.raises(UserError, match="affectnet_emotions found 0 target and 1 background rows: it needs both"):
        AffectNetEmotions()


def test_any_two_folders(tmp_path: Path) -> None:
    for name, shade in (("more/a/1.png", 10), ("more/b/2.png", 20), ("less/3.png", 30), ("grey/4.png", 40)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(np.full((12, 12, 3), shade, np.uint8))
        (picture.convert("L") if "grey" in name else picture).save(tmp_path / name)
    more, less, grey = (str(tmp_path / name) for name in ("more", "less", "grey"))
    table = TwoFolders(target=more, background=less, size=8)
    assert (shades(table), shades(table.background)) == ([10, 20], [30])
    assert (table.label, table.values(np.arange(2)).tolist(), "Labelled" in table.gives) == ("class", [[0], [1]], True)
    assert "Labelled" not in TwoFolders(target=less, background=less, size=8).gives
    with pytest.raises(UserError, match=r"is in colour and .*grey is grey: set color to rgb or grey"):
        TwoFolders(target=more, background=grey, size=8)
    assert TwoFolders(target=more, background=grey, size=8, color="grey").shape == (1, 8, 8)


def test_rows_of_both_folders_are_held_out(tmp_path: Path) -> None:
    for i in range(12):
        for name, shade in (("more", 10 * i), ("less", 10 * i + 5)):
            (tmp_path / name).mkdir(exist_ok=True)
            Image.fromarray(np.full((8, 8), shade, np.uint8)).save(tmp_path / name / f"{i:02}.png")
    table = TwoFolders(target=str(tmp_path / "more"), background=str(tmp_path / "less"), size=8, test_rows=5)
    assert table.test is not None
    for kept, held, first in (
        (table, table.test, 0),
        (table.background, table.test.background, 5),
    ):
        assert kept is not None
        assert held is not None
        assert (len(kept), len(held)) == (7, 5)
        assert sorted(shades(kept) + shades(held)) == [10 * i + first for i in range(12)]
        assert [int(Path(name).stem) for name in held.files] == [shade // 10 for shade in shades(held)]
    with pytest.raises(UserError, match="this would hold out 12 of the 12 rows"):
        TwoFolders(target=str(tmp_path / "more"), background=str(tmp_path / "less"), size=8, test_rows=12)


def test_folders_of_training_and_test_rows(tmp_path: Path) -> None:
    names = ("more/train/1", "more/test/2", "less/train/3", "less/test/4", "plain/5", "plain/6")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 10 * int(name[-1]), np.uint8)).save(tmp_path / f"{name}.png")
    more, less, plain = (str(tmp_path / name) for name in ("more", "less", "plain"))
    table = TwoFolders(target=more, background=less, size=8)
    assert table.test is not None
    parts = (table, table.background, table.test, table.test.background)
    assert [shades(part) for part in parts] == [[10], [30], [20], [40]]
    with pytest.raises(UserError, match="one has a folder 'test' and the other has none"):
        TwoFolders(target=more, background=plain, size=8)
    with pytest.raises(UserError, match="has a folder 'test' already: leave test_rows out"):
        TwoFolders(target=more, background=less, size=8, test_rows=1)


def test_textures_of_16_bits_are_scaled_and_not_cut(tmp_path: Path) -> None:
    wide = np.random.default_rng(0).integers(0, 2**16, (40, 40), dtype=np.uint16)
    Image.fromarray(wide).save(tmp_path / "wide.png")
    np.testing.assert_array_equal(any_picture(tmp_path / "wide.png")[0], wide >> 8)
