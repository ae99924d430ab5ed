"""A user's own images: every accepted layout, and every refused one with its sentence."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.batch import Labelled
from unbraid.data.samplers import sampler
from unbraid.data.sets.images import Images
from unbraid.data.table import Bytes, Factor
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
COLOR = RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)


pytestmark = pytest.mark.usefixtures("root", "cache")


def save(path: Path, pixels: NDArray[Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


def png(pixels: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def every(table: Any) -> Bytes:
    found: Bytes = table.images(np.arange(len(table)))
    return found


def test_flat_folder_in_the_order_of_names(tmp_path: Path) -> None:
    for i, name in enumerate(["b.png", "a.bmp", "c.PNG"]):
        save(tmp_path / "set" / name, COLOR // (i + 1))
    (tmp_path / "set" / ".hidden").write_text("x")
    (tmp_path / "set" / "README.txt").write_text("x")
    table = Images(path=str(tmp_path / "set"), size=8)
    expected = np.stack([COLOR // 2, COLOR, COLOR // 3]).transpose(0, 3, 1, 2)
    assert np.array_equal(every(table), expected)
    assert np.array_equal(table.images(np.array([2, 0, 2])), expected[[2, 0, 2]])
    assert (table.factors, list(table.gives), table.test) == ((), ["Images", "Transitions"], None)
    assert table.values(np.arange(3)).shape == (3, 0)


@pytest.mark.parametrize("packed", [False, True])
def test_class_folders_with_train_and_test(tmp_path: Path, packed: bool) -> None:
    for i, name in enumerate(["train/cat/1", "train/ant/7", "train/ant/8", "test/cat/1"]):
        save(tmp_path / "set" / "mine" / f"{name}.png", np.full((8, 8), i, np.uint8))
    path = tmp_path / "set"
    if packed:
        path = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "set"))
    table = Images(path=str(path), size=4)
    assert table.shape == (1, 4, 4)
    assert table.factors == (Factor("class", 2),)
    assert table.class_names == ("ant", "cat")
    assert table.values(np.arange(3)).tolist() == [[0], [0], [1]]
    assert every(table)[:, 0, 0, 0].tolist() == [1, 2, 0]
    assert table.test is not None
    assert table.test.values(np.arange(1)).tolist() == [[1]]
    assert every(table.test)[0, 0, 0, 0] == 3
    batch = sampler(table, Labelled, batch=50, seed=0)(3)
    assert isinstance(batch, Labelled)
    assert all((x == [1, 2, 0][int(i)]).all() for x, i in zip(batch.x, batch.index, strict=True))
    assert (batch.y == (batch.index == 2)).all()


def test_a_crop_is_centred_and_resizing_keeps_the_mean(tmp_path: Path) -> None:
    wide = np.zeros((4, 10), np.uint8)
    wide[:, 3:7] = np.arange(16).reshape(4, 4)
    save(tmp_path / "a.png", wide)
    table = Images(path=str(tmp_path), size=4)
    assert np.array_equal(every(table)[0, 0], wide[:, 3:7])
    smooth = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    save(tmp_path / "a.png", smooth)
    small = every(Images(path=str(tmp_path), size=16))[0, 0]
    blocks = smooth.reshape(16, 4, 16, 4).mean((1, 3))
    assert np.abs(small[2:-2, 2:-2] - blocks[2:-2, 2:-2]).max() <= 1


def test_pixels_of_every_kind_of_file(tmp_path: Path) -> None:
    grey = COLOR[:, :, 0]
    deep = grey.astype(np.uint16) * 256 + (255 - grey)
    save(tmp_path / "grey" / "sixteen.png", deep)
    save(tmp_path / "grey" / "plain.pgm", grey)
    save(tmp_path / "grey" / "tiff.tif", grey)
    assert (every(Images(path=str(tmp_path / "grey"), size=8)) == grey).all()
    folder = tmp_path / "color"
    save(folder / "a.png", np.dstack([COLOR, np.full((8, 8), 255, np.uint8)]))
    Image.fromarray(COLOR // 64 * 64).quantize(256).save(folder / "b.gif")
    turned = Image.fromarray(COLOR).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[274] = 6  # show it turned clockwise
    turned.save(folder / "c.png", exif=exif)
    found = every(Images(path=str(folder), size=8)).transpose(0, 2, 3, 1)
    assert np.array_equal(found[0], COLOR)
    assert np.array_equal(found[1], COLOR // 64 * 64)
    assert np.array_equal(found[2], COLOR)


@pytest.mark.parametrize("color", ["grey", "rgb"])
def test_grey_among_colour_is_refused_or_converted(tmp_path: Path, color: Any) -> None:
    save(tmp_path / "a.png", COLOR)
    save(tmp_path / "b.png", COLOR)
    save(tmp_path / "odd.png", COLOR[:, :, 0])
    with pytest.raises(UserError, match=r"odd\.png is grey among colour images: set color to rgb or grey"):
        Images(path=str(tmp_path))
    found = every(Images(path=str(tmp_path), size=8, color=color))
    luma = np.asarray(Image.fromarray(COLOR).convert("L"))
    if color == "grey":
        assert np.array_equal(found[:, 0], np.stack([luma, luma, COLOR[:, :, 0]]))
    else:
        assert np.array_equal(found[2], np.stack([COLOR[:, :, 0]] * 3))
        assert np.array_equal(found[0], COLOR.transpose(2, 0, 1))


def test_what_is_no_picture_is_found_at_once(tmp_path: Path) -> None:
    save(tmp_path / "a.png", COLOR)

    def says(message: str) -> None:
        with pytest.raises(UserError, match=message):
            Images(path=str(tmp_path), size=8)

    odd = tmp_path / "notes.txt"
    odd.write_text("buy milk")
    says(r"notes\.txt is not an image: remove")
    odd.write_bytes(b"")
    says(r"notes\.txt is not an image")
    odd.write_bytes(png(COLOR)[:20])
    says(r"notes\.txt is (not a|a corrupt) image")
    odd.unlink()
    Image.fromarray(np.zeros((4, 4), np.float32)).save(tmp_path / "float.tif")
    says(r"float\.tif has the pixel format 'F': save it as 8-bit grey or RGB")
    (tmp_path / "float.tif").unlink()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty contains no images"):
        Images(path=str(tmp_path / "empty"))
    with pytest.raises(UserError, match="nowhere does not exist; expected a folder or a zip file"):
        Images(path=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"color of images must be .*grey.*, not 'gray'"):
        Images(path=str(tmp_path), color="gray")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="size of images must be 1 or more, not 0"):
        Images(path=str(tmp_path), size=0)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_torn_body_is_found_when_it_is_read(tmp_path: Path, kind: str) -> None:
    big = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    save(tmp_path / "a", big, format=kind)
    torn = (tmp_path / "a").read_bytes()
    (tmp_path / "b").write_bytes(torn[: len(torn) // 2])
    table = Images(path=str(tmp_path))
    assert table.images(np.array([0])).shape == (1, 3, 64, 64)
    for _ in range(2):
        with pytest.raises(UserError, match="b is a corrupt image"):
            table.images(np.array([0, 1]))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3), kind=st.data())
def test_mutated_pictures(tmp_path: Path, changes: list[tuple[int, int]], kind: st.DataObject) -> None:
    out = io.BytesIO()
    Image.fromarray(COLOR).save(out, kind.draw(st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF", "PPM", "WEBP"])))
    data = bytearray(out.getvalue())
    for place, value in changes:
        data[place % min(len(data), 120)] = value
    (tmp_path / "a").write_bytes(data)
    try:
        found = every(Images(path=str(tmp_path), size=8))
    except UserError as problem:
        assert str(tmp_path) in str(problem)
    else:
        assert found.shape[0] == 1


@pytest.mark.parametrize("sizes", [b"40000 40000", b"12000 10000"])
def test_a_picture_that_unpacks_to_far_more_than_its_file(tmp_path: Path, sizes: bytes) -> None:
    (tmp_path / "bomb.pgm").write_bytes(b"P5 " + sizes + b" 255\n" + bytes(100))
    with pytest.raises(UserError, match=r"bomb\.pgm is a corrupt image: .*pixels"):
        Images(path=str(tmp_path))


def zipped(path: Path, members: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            out.writestr(name, data)
    return str(path)


@pytest.mark.parametrize("name", ["../up.png", "a/../../up.png", "/etc/up.png", "C:\\up.png", "..\\up.png"])
def test_a_path_outside_its_zip(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "a.zip", {"ok.png": png(COLOR), name: png(COLOR)})
    with pytest.raises(UserError, match=r"a\.zip contains the unsafe path '.*up\.png'"):
        Images(path=path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_broken_zips(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.png": png(COLOR), "b.txt": b"text"})
    with pytest.raises(UserError, match=r"b\.txt in .*a\.zip is not an image"):
        Images(path=path)
    noise = RNG.integers(0, 256, (40, 40), dtype=np.uint8)
    path = zipped(tmp_path / "b.zip", {"a.png": png(noise)})
    data = bytearray(Path(path).read_bytes())
    data[300] ^= 255
    Path(path).write_bytes(data)
    with pytest.raises(UserError, match=r"a\.png in .*b\.zip is corrupt"):
        Images(path=path)
    Path(path).write_bytes(data[:500])
    with pytest.raises(UserError, match=r"b\.zip is corrupt: expected a folder or a zip file"):
        Images(path=path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_an_unreadable_file(tmp_path: Path) -> None:
    save(tmp_path / "a.png", COLOR).chmod(0)
    with pytest.raises(UserError, match=r"a\.png may not be read by this user"):
        Images(path=str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
def test_a_pipe_among_pictures_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(UserError, match=r"a\.png is not a regular file"):
        Images(path=str(tmp_path))
    (tmp_path / "a.png").unlink()
    (tmp_path / "b.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(UserError, match=r"b\.png does not exist"):
        Images(path=str(tmp_path))


def test_an_unreadable_file_for_any_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "a.png", COLOR)

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(UserError, match=r"a\.png cannot be read: permission denied; expected an image"):
        Images(path=str(tmp_path))


def test_real_sets(shared: Path) -> None:
    flowers = Images(path=str(shared / "data/flowers12-224.zip"))
    assert (len(flowers), flowers.factors[0].size) == (720, 12)
    assert flowers.test is not None
    assert np.bincount(flowers.test.values(np.arange(240))[:, 0]).tolist() == [20] * 12
    row = flowers.class_names.index("windflower") * 60 + 3
    assert flowers.values(np.array([row]))[0, 0] == flowers.class_names.index("windflower")
    with zipfile.ZipFile(shared / "data/flowers12-224.zip") as file:
        name = sorted(name for name in file.namelist() if name.startswith("train/windflower/"))[3]
        original = Image.open(file.open(name)).resize((64, 64), Image.Resampling.LANCZOS)
    assert np.array_equal(flowers.images(np.array([row]))[0], np.asarray(original).transpose(2, 0, 1))
    faces = Images(path=str(shared / "data/faces/orl_faces.zip"))
    assert (len(faces), faces.shape, faces.factors) == (400, (1, 64, 64), (Factor("class", 40),))
    array = Images(path=str(shared / "data/faces/lfw_subset.npy"), size=25)
    stored = np.load(shared / "data/faces/lfw_subset.npy")
    assert np.abs(every(array)[:, 0] / 255 - stored).max() <= 0.5001 / 255
