from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data.compose import room
from unbraid.data.io.array_cache import load_array, save_array
from unbraid.data.sets.shapes3d import Shapes3D, geometries
from unbraid.errors import UserError

FRAMES = Path(__file__).parents[3] / "shared/data/reference_frames/3dshapes"


def test_equals_the_published_frames() -> None:
    if not FRAMES.exists():
        pytest.skip("the published frames are not here")
    with (FRAMES / "notebook_labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    values = np.array([[int(row[factor.name]) for factor in Shapes3D.factors] for row in rows])
    real = np.stack([np.array(Image.open(FRAMES / row["file"]).convert("RGB")) for row in rows]).transpose(0, 3, 1, 2)
    error = np.abs(Shapes3D().render(values).astype(float) - real)[:, :, 1:-1, 1:-1]  # the axes' frame tints the ring
    assert error.mean() <= 2.5
    assert error.mean((1, 2, 3)).max() <= 5, "one of the frames is another image"


def test_half_the_size_is_the_average_of_the_full_size() -> None:
    rows = np.random.default_rng(0).integers(0, 480_000, 50)
    full = Shapes3D().images(rows).astype(float)
    area = full.reshape(50, 3, 32, 2, 32, 2).mean((3, 5))
    unsaturated = full.reshape(50, 3, 32, 2, 32, 2).max((3, 5)) < 255
    assert unsaturated.mean() > 0.7
    assert np.abs(Shapes3D(size=32).images(rows) - area)[unsaturated].max() <= 1


def test_rays_from_above_meet_the_top_of_a_body_or_nothing() -> None:
    start, down = room._single([0, 3], [0, 0], [5, 5]), room._single([1e-5, 1e-5], [0, 0], [-1, -1])
    for shape, top in enumerate((2 * 0.3535, 2 * 0.3542, 2 * 0.4265, 2 * (0.3265 + 0.3241))):
        depth, normal = room._hit(shape, 1.0, start, down)
        assert depth[0] == pytest.approx(5 - top, abs=1e-5)
        assert depth[1] == np.inf
        assert [float(axis[0]) for axis in normal] == pytest.approx([0, 0, 1], abs=1e-3)


def test_colours_follow_the_hues() -> None:
    values = np.array([[0, 3, 7, 3, 2, 7], [5, 3, 7, 3, 2, 7], [0, 8, 7, 3, 2, 7], [0, 3, 1, 3, 2, 7]])
    base, floor, wall, body = Shapes3D().render(values).astype(int)
    places = [(62, 2), (20, 2), (40, 32)]  # on the floor, on the wall, on the body
    for picture, changed in ((floor, 0), (wall, 1), (body, 2)):
        assert [bool((picture[:, y, x] != base[:, y, x]).any()) for y, x in places] == [i == changed for i in range(3)]
    assert base[0, 62, 2] > 100
    assert base[1, 62, 2] == base[2, 62, 2] == 0  # hue 0 is red


def test_geometries_are_kept_and_a_torn_file_is_made_anew(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    traced = np.random.default_rng(0).random((8, 4, 15, 5, 8, 8)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path))
        patch.setattr(room, "geometries", lambda size: traced.copy())
        geometries.cache_clear()
        first = geometries(8)
        assert capsys.readouterr().err.count("\n") == 1
        (kept,) = (tmp_path / "rendered").iterdir()
        whole = kept.read_bytes()
        geometries.cache_clear()
        np.testing.assert_array_equal(geometries(8), first)
        assert capsys.readouterr().err == ""
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        for torn in (whole[: len(whole) // 2], b"", bytes(changed)):
            kept.write_bytes(torn)
            geometries.cache_clear()
            np.testing.assert_array_equal(geometries(8), first)
            assert "rendering the geometries" in capsys.readouterr().err
            assert kept.read_bytes() == whole
            assert [file.name for file in kept.parent.iterdir()] == [kept.name]
        geometries.cache_clear()


def test_any_damaged_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    traced = np.random.default_rng(0).random((8, 4, 15, 5, 8, 8)).astype(np.float32)
    save_array(tmp_path / "kept.npz", traced)
    whole = (tmp_path / "kept.npz").read_bytes()
    noticed = 0
    for place in [*range(0, 200, 2), *range(201, len(whole) - 120, 90_001), *range(len(whole) - 120, len(whole), 2)]:
        for flip in (1, 128):
            damaged = bytearray(whole)
            damaged[place] ^= flip
            (tmp_path / "kept.npz").write_bytes(damaged)
            found = load_array(tmp_path / "kept.npz", traced.shape)
            noticed += found is None
            assert found is None or np.array_equal(found, traced)
    assert noticed > 150


def test_works_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path / "file"))
        patch.setattr(room, "geometries", lambda size: np.ones((8, 4, 15, 5, 8, 8), np.float32))
        geometries.cache_clear()
        with pytest.warns(UserWarning, match=r"shapes3d-8-.* cannot be written to .*set UNBRAID_CACHE"):
            assert (geometries(8)[:, :4] == 1).all()
        geometries.cache_clear()


def test_new_colours_and_correlated_hues() -> None:
    table = Shapes3D(size=8, new_colours=True)
    assert len(table) == 240_000
    assert table.test is not None
    assert set(table.values(np.arange(len(table)))[:, 2]) == set(range(5))
    assert set(table.test.values(np.arange(len(table.test)))[:, 2]) == set(range(5, 10))
    table = Shapes3D(size=8, correlated=0.1, train_rows=20_000, test_rows=10_000)
    assert table.test is not None
    assert (len(table), len(table.test)) == (20_000, 10_000)
    train, test = (t.values(np.arange(len(t)))[:, :2] for t in (table, table.test))
    expected = np.exp(-(((np.arange(10)[:, None] - np.arange(10)) / 9) ** 2) / 0.02)
    seen = np.zeros((10, 10))
    np.add.at(seen, tuple(train.T), 1 / len(train))
    assert np.abs(seen - expected / expected.sum()).max() < 0.005
    assert abs(np.cov(test.T)[0, 1]) < 0.2
    assert np.cov(train.T)[0, 1] > 5
    with pytest.raises(UserError, match="choose one"):
        Shapes3D(correlated=0.1, new_colours=True)
