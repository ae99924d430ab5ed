"""The original files of the factor grids, written here in their exact formats with fewer values a factor."""

from __future__ import annotations

import gzip
import itertools
import struct
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from unbraid.data.io import array_files as arrays
from unbraid.data.sets.cars3d import Cars3D
from unbraid.data.sets.dsprites_npz import FILE as DSPRITES
from unbraid.data.sets.dsprites_npz import DSpritesNpz
from unbraid.data.sets.mpi3d import MPI3D
from unbraid.data.sets.shapes3d_h5 import Shapes3DH5
from unbraid.data.sets.small_norb import STEMS, SmallNORB
from unbraid.data.table import Factor, Grid
from unbraid.errors import UserError

RNG = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("root", "cache")


def shrink(monkeypatch: pytest.MonkeyPatch, kind: type[Grid], *sizes: int) -> int:
    small = tuple(Factor(factor.name, size) for factor, size in zip(kind.factors, sizes, strict=True))
    monkeypatch.setattr(kind, "factors", small)
    return int(np.prod(sizes))


def check_pairs(table: Grid) -> None:
    """Rows and values are inverse to each other, and pairs differ in as many factors as they should."""
    rows = np.arange(len(table))
    assert np.array_equal(table.rows(table.values(rows)), rows)
    k = np.full(len(rows), 2)
    others = table.change(rows, k, np.random.default_rng(0))
    assert ((table.values(rows) != table.values(others)).sum(1) == 2).all()


def write_dsprites(path: Path, sizes: tuple[int, ...], **changes: NDArray[Any]) -> NDArray[np.uint8]:
    count = int(np.prod(sizes))
    pictures = RNG.integers(0, 2, (count, 64, 64), dtype=np.uint8)
    classes = np.array(list(itertools.product(range(1), *map(range, sizes))), np.int64)
    content = {
        "metadata": np.array({b"title": b"a pickle"}, object),
        "imgs": pictures,
        "latents_classes": classes,
        "latents_values": classes.astype(float),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{**content, **changes})  # type: ignore[arg-type]
    return pictures


def test_dsprites(root: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    with pytest.raises(
        UserError, match=rf"{DSPRITES} does not exist: run `unbraid data fetch dsprites_npz`, or set path"
    ):
        DSpritesNpz()
    file = root / "dsprites_npz" / DSPRITES
    count = shrink(monkeypatch, DSpritesNpz, *(sizes := (3, 2, 4, 2, 3)))
    pictures = write_dsprites(file, sizes)
    table = DSpritesNpz()
    rows = np.array([5, 143, 0, 5])
    assert np.array_equal(table.images(rows), pictures[rows][:, None] * 255)
    assert len(table) == count
    check_pairs(table)
    half = DSpritesNpz(path=str(file), size=32).images(rows)
    resized = Image.fromarray(pictures[5] * 255).resize((32, 32), Image.Resampling.LANCZOS)
    assert np.array_equal(half[0, 0], np.asarray(resized))
    copy = next((cache / "converted").iterdir())
    assert copy.stat().st_size == count * 512 + 128, "eight pixels to a byte"


def test_dsprites_refused(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.npz"
    write_dsprites(file, (3, 2, 4, 2, 3))
    with pytest.raises(
        UserError, match=r"'imgs' in .*x.npz is uint8 \(144, 64, 64\) instead of uint8 \(737280, 64, 64\)"
    ):
        DSpritesNpz(path=str(file))
    shrink(monkeypatch, DSpritesNpz, *(sizes := (3, 2, 4, 2, 3)))

    def says(message: str, **changes: NDArray[Any]) -> None:
        write_dsprites(file, sizes, **changes)
        with pytest.raises(UserError, match=message):
            DSpritesNpz(path=str(file))
        assert list((cache / "converted").glob("*")) == []

    classes = np.array(list(itertools.product(range(1), *map(range, sizes))), np.int64)
    says("does not count through the factors", latents_classes=classes[::-1])
    says("holds the value 255 instead of 0 and 1", imgs=np.full((144, 64, 64), 255, np.uint8))
    says("is float64", imgs=np.zeros((144, 64, 64)))
    says("is float64", latents_classes=classes.astype(float))
    np.savez(file, images=np.zeros(3))
    with pytest.raises(UserError, match=r"x\.npz has no array 'imgs': it has images"):
        DSpritesNpz(path=str(file))


def write_shapes(path: Path, sizes: tuple[int, ...], order: Any = slice(None)) -> NDArray[np.uint8]:
    count = int(np.prod(sizes))
    pictures = RNG.integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)
    levels = [np.arange(n) * 0.1 for n in sizes[:3]] + [np.linspace(0.75, 1.25, sizes[3]), np.arange(sizes[4])]
    levels.append(np.linspace(-30, 30, sizes[5]))
    labels = np.array(list(itertools.product(*levels)), np.float64)[order]
    labels += RNG.normal(0, 1e-16, labels.shape)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=pictures, chunks=(7, 16, 64, 3), compression="gzip")
        file.create_dataset("labels", data=labels)
    return pictures


@pytest.mark.parametrize("copy", [False, True])
def test_shapes3d(root: Path, monkeypatch: pytest.MonkeyPatch, copy: bool, cache: Path) -> None:
    count = shrink(monkeypatch, Shapes3DH5, *(sizes := (2, 3, 2, 2, 3, 2)))
    pictures = write_shapes(root / "shapes3d_h5" / "3dshapes.h5", sizes)
    table = Shapes3DH5(copy=copy)
    rows = np.array([99, 4, 4, count - 1])
    assert np.array_equal(table.images(rows), pictures[rows].transpose(0, 3, 1, 2))
    assert (cache / "converted").exists() is copy
    check_pairs(table)


def test_shapes3d_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, sizes = tmp_path / "3dshapes.h5", (2, 3, 2, 2, 3, 2)
    write_shapes(path, sizes)
    with pytest.raises(UserError, match=r"'images' in .* instead of uint8 \(480000, 64, 64, 3\)"):
        Shapes3DH5(path=str(path))
    shrink(monkeypatch, Shapes3DH5, *sizes)
    swapped = np.arange(144)
    swapped[[3, 4]] = 4, 3
    for number, order in enumerate((slice(None, None, -1), swapped)):
        path = tmp_path / f"{number}.h5"
        write_shapes(path, sizes, order)
        with pytest.raises(UserError, match=r"'labels' in .*\.h5 does not count through the factors"):
            Shapes3DH5(path=str(path))


@pytest.mark.parametrize("in_memory", [0, 1 << 30])
def test_mpi3d_by_length(root: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    assert [int(np.prod(sizes)) for sizes in MPI3D.layouts] == [1_036_800, 460_800]
    monkeypatch.setattr(arrays, "IN_MEMORY", in_memory)
    monkeypatch.setattr(MPI3D, "layouts", ((3, 2, 1, 2, 1, 2, 2), (2, 2, 1, 2, 1, 2, 2)))
    folder = root / "mpi3d"
    folder.mkdir(parents=True)
    for count, variant, name in [(48, "real", "mpi3d_real"), (32, "complex", "mpi3d_real_complex")]:
        pictures = RNG.integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)
        np.savez_compressed(folder / f"{name}.npz", images=pictures)
        table = MPI3D(variant=variant)  # type: ignore[arg-type]
        assert table.sizes[0] == count // 16
        rows = np.array([count - 1, 0, 7])
        assert np.array_equal(table.images(rows), pictures[rows].transpose(0, 3, 1, 2))
        check_pairs(table)
        value = table.values(np.array([17]))[0]
        expected = pictures.reshape(*table.sizes, 64, 64, 3)[tuple(value)]
        assert np.array_equal(table.render(value[None])[0], expected.transpose(2, 0, 1))
    np.savez_compressed(folder / "mpi3d_toy.npz", images=np.zeros((47, 64, 64, 3), np.uint8))
    with pytest.raises(UserError, match=r"mpi3d_toy\.npz has shape \(47, 64, 64, 3\) instead of 48 or 32 images"):
        MPI3D()
    with pytest.raises(UserError, match=r"mpi3d_realistic\.npz does not exist"):
        MPI3D(variant="realistic")
    with pytest.raises(UserError, match="variant of mpi3d must be toy, realistic, real or complex, not 'reall'"):
        MPI3D(variant="reall")  # type: ignore[arg-type]


def write_cars(folder: Path, names: list[str]) -> NDArray[np.uint8]:
    """[car, 128, 128, 3, azimuth, elevation]"""
    folder.mkdir(parents=True)
    pictures = RNG.integers(0, 256, (len(names), 128, 128, 3, 24, 4), dtype=np.uint8)
    for name, picture in zip(names, pictures, strict=True):
        savemat(folder / f"{name}.mat", {"im": picture, "mask": picture[:, :, 0]})
    return pictures


def test_cars3d_in_the_order_of_the_list(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["car_010_mesh", "car_002_mesh", "car_007_mesh"]
    folder = root / "cars3d" / "data" / "cars"
    pictures = write_cars(folder, names)
    with pytest.raises(UserError, match="lists 3 cars instead of 183"):
        Cars3D()
    shrink(monkeypatch, Cars3D, 4, 24, 3)
    (folder / "list.txt").write_text("\n".join(names) + "\n")
    table = Cars3D(size=128)
    values = np.array([[0, 0, 0], [3, 5, 1], [2, 23, 2]])
    for (elevation, azimuth, car), found in zip(values, table.render(values), strict=True):
        assert np.array_equal(found, pictures[car][:, :, :, azimuth, elevation].transpose(2, 0, 1))
    check_pairs(table)
    small = Cars3D().render(values)[1]
    resized = Image.fromarray(pictures[1][:, :, :, 5, 3]).resize((64, 64), Image.Resampling.LANCZOS)
    assert np.array_equal(small, np.asarray(resized).transpose(2, 0, 1))
    (folder / "list.txt").unlink()
    by_name = Cars3D(path=str(folder), size=128).render(np.array([[1, 2, 0]]))[0]
    assert np.array_equal(by_name, pictures[1][:, :, :, 2, 1].transpose(2, 0, 1))


def test_cars3d_refused(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"cars3d/list\.txt does not exist: run `unbraid data fetch cars3d`"):
        Cars3D()
    shrink(monkeypatch, Cars3D, 4, 24, 2)
    folder = tmp_path / "cars"
    write_cars(folder, ["car_001_mesh", "car_002_mesh"])

    def says(message: str) -> None:
        with pytest.raises(UserError, match=message):
            Cars3D(path=str(folder))
        assert list((cache / "converted").glob("*")) == []

    (folder / "list.txt").write_text("car_001_mesh\n../car_002_mesh")
    says(r"list\.txt names '\.\./car_002_mesh'")
    (folder / "list.txt").write_text("car_001_mesh\ncar_003_mesh")
    says(r"car_003_mesh\.mat does not exist")
    (folder / "list.txt").write_text("car_001_mesh car_001_mesh")
    says("lists 1 cars instead of 2")
    (folder / "list.txt").unlink()
    savemat(folder / "car_002_mesh.mat", {"im": np.zeros((128, 128, 3, 24, 4))})
    says(r"car_002_mesh\.mat holds float64 instead of uint8")
    savemat(folder / "car_002_mesh.mat", {"im": np.zeros((64, 64, 3, 24, 4), np.uint8)})
    says(r"car_002_mesh\.mat has 'im' \(64, 64, 3, 24, 4\) instead of 'im' \(128, 128, 3, 24, 4\)")
    (folder / "car_002_mesh.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(300))
    says(r"car_002_mesh\.mat is corrupt")


def norb(path: Path, array: NDArray[Any], magic: int) -> None:
    sizes = (*array.shape, 1, 1)[: max(3, array.ndim)]
    data = struct.pack(f"<Ii{len(sizes)}i", magic, array.ndim, *sizes) + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_norb(folder: Path, end: str, **changes: Any) -> dict[tuple[int, ...], NDArray[np.uint8]]:
    """Two toys of each of two categories, one of them for training; rows are shuffled. Gives image by factors."""
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[tuple[int, ...], NDArray[np.uint8]] = {}
    for stem, instance in zip(STEMS, (1, 0), strict=True):
        rows = list(itertools.product(range(2), [instance], range(3), range(0, 4, 2), range(2)))
        RNG.shuffle(rows)
        values = np.array(rows, np.int32)
        dat = RNG.integers(0, 256, (len(rows), 2, 96, 96), dtype=np.uint8)
        for row, pictures in zip(rows, dat, strict=True):
            known[(row[0], row[1], row[2], row[3] // 2, row[4])] = pictures
        content = {"dat": dat, "cat": values[:, 0], "info": values[:, 1:], **changes}
        for what, magic in (("dat", 0x1E3D4C55), ("cat", 0x1E3D4C54), ("info", 0x1E3D4C54)):
            norb(folder / f"{stem}-{what}.mat{end}", content[what], magic)
    return known


@pytest.mark.parametrize("end", ["", ".gz"])
def test_small_norb_sorted_by_factors(root: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    shrink(monkeypatch, SmallNORB, 2, 2, 3, 2, 2)
    known = write_norb(root / "small_norb", end)
    for camera, side in (("left", 0), ("right", 1)):
        table = SmallNORB(camera=camera, size=96)  # type: ignore[arg-type]
        values = table.values(np.arange(48))
        for value, picture in zip(values, table.images(np.arange(48)), strict=True):
            assert np.array_equal(picture[0], known[tuple(value.tolist())][side])
    check_pairs(table)
    small = SmallNORB().images(np.array([7]))[0, 0]
    original = Image.fromarray(known[tuple(values[7].tolist())][0])
    assert np.array_equal(small, np.asarray(original.resize((64, 64), Image.Resampling.LANCZOS)))
    assert small.max() > 127, "bytes are unsigned"


def test_small_norb_refused(root: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    folder = root / "small_norb"
    write_norb(folder, "")
    with pytest.raises(UserError, match=r"has shape \(24,\) instead of \(24300,\)"):
        SmallNORB()
    shrink(monkeypatch, SmallNORB, 2, 2, 3, 2, 2)

    def says(message: str, **changes: Any) -> None:
        write_norb(folder, "", **changes)
        with pytest.raises(UserError, match=message):
            SmallNORB()
        assert list((cache / "converted").glob("*")) == []

    info = np.zeros((24, 4), np.int32)
    says("together do not have every combination of factors once", info=info)
    says(r"info\.mat has odd azimuths", info=info + np.array([0, 0, 1, 0], np.int32))
    says(r"info\.mat has a factor outside 0 to 1", info=info + np.array([2, 0, 0, 0], np.int32))
    says(r"cat\.mat has a factor outside", cat=np.full(24, -1, np.int32))
    says(r"dat\.mat has shape \(23, 2, 96, 96\)", dat=np.zeros((23, 2, 96, 96), np.uint8))
    norb(folder / f"{STEMS[0]}-dat.mat", np.zeros((24, 2, 96, 96), np.int16), 0x1E3D4C56)
    with pytest.raises(UserError, match="holds int16 instead of uint8"):
        SmallNORB()
    (folder / f"{STEMS[1]}-info.mat").unlink()
    with pytest.raises(UserError, match=r"testing-info\.mat\.gz does not exist: run `unbraid data fetch small_norb`"):
        SmallNORB()
