"""Sets with classes or attributes: the real files where they are here, else small ones in the exact format."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from unbraid.data.batch import Views
from unbraid.data.class_table import ClassTable
from unbraid.data.compose import photographs as backgrounds
from unbraid.data.samplers import sampler
from unbraid.data.sets.cifar10 import CIFAR10, CLASSES
from unbraid.data.sets.mnist import MNIST
from unbraid.data.sets.stl10 import STL10
from unbraid.data.table import Bytes, Factor, Rows, Table
from unbraid.errors import UserError

RNG = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("root", "cache")


def every(table: Table) -> Bytes:
    return table.images(np.arange(len(table)))


def values(table: Table | None) -> list[Any]:
    assert table is not None
    found: list[Any] = table.values(np.arange(len(table))).tolist()
    return found


def flat(path: Path, shade: int, width: int = 16, height: int = 16) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((height, width, 3), shade, np.uint8)).save(path)


def shades(table: Table) -> list[int]:
    return [round(float(picture.mean())) for picture in every(table)]


def test_real_mnist(shared: Path) -> None:
    table = MNIST(path=str(shared / "data/mnist"))
    assert table.test is not None
    assert (len(table), len(table.test)) == (60_000, 10_000)
    parts = np.array_split(every(table).reshape(-1), 100)  # whole they would take 8 bytes a pixel
    counts = sum(np.bincount(part, minlength=256) for part in parts) / (60_000 * 784)
    levels = np.arange(256) / 255
    assert abs(counts @ levels - 0.13066) < 1e-5
    assert abs(np.sqrt(counts @ levels**2 - (counts @ levels) ** 2) - 0.30811) < 1e-5
    assert table.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert table.test.values(np.arange(5)).T.tolist() == [[7, 2, 1, 0, 4]]


@pytest.mark.parametrize("mark", ["-", "."])
def test_mnist_raw_under_both_names(shared: Path, root: Path, mark: str) -> None:
    (root / "mnist").mkdir(parents=True)
    for file in (shared / "data/mnist").glob("*.gz"):
        name = file.name.removesuffix(".gz").replace("-idx", f"{mark}idx")
        (root / "mnist" / name).write_bytes(gzip.decompress(file.read_bytes()))
    packed = MNIST(path=str(shared / "data/mnist"), split="test", size=32)
    rows = np.arange(0, 10_000, 100)
    assert np.array_equal(MNIST(split="test", size=32).images(rows), packed.images(rows))
    assert packed.shape == (1, 32, 32)


def test_mnist_refused(shared: Path, root: Path) -> None:
    with pytest.raises(
        UserError, match=r"mnist/train-images-idx3-ubyte\.gz does not exist: run `unbraid data fetch mnist`"
    ):
        MNIST()
    shutil.copytree(shared / "data/mnist", root / "mnist")
    (root / "mnist").chmod(0o700)
    labels = root / "mnist" / "train-labels-idx1-ubyte.gz"
    whole = gzip.decompress(labels.read_bytes())
    labels.chmod(0o600)
    labels.write_bytes(gzip.compress(whole[:8] + b"\x0a" + whole[9:], 1))
    with pytest.raises(UserError, match=r"train-labels-idx1-ubyte\.gz has the label 10, which is not a digit"):
        MNIST()
    labels.write_bytes((root / "mnist" / "t10k-labels-idx1-ubyte.gz").read_bytes())
    with pytest.raises(UserError, match=r"has shape \(10000,\) instead of \(60000,\)"):
        MNIST()
    with pytest.raises(UserError, match=r"split of mnist must be .*test.*, not 'tset'"):
        MNIST(split="tset")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="size of mnist must be 1 or more, not 0"):
        MNIST(path=str(shared / "data/mnist"), size=0)


def write_stl(folder: Path, split: str, labels: list[int]) -> Bytes:
    """Images [n, 3, 96, 96], written column by column."""
    pictures = RNG.integers(0, 256, (len(labels), 3, 96, 96), dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    columns = (picture[c, :, x].tobytes() for picture in pictures for c in range(3) for x in range(96))
    (folder / f"{split}_X.bin").write_bytes(b"".join(columns))
    (folder / f"{split}_y.bin").write_bytes(bytes(label + 1 for label in labels))
    return pictures


def test_stl10(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "stl10" / "stl10_binary"
    train = write_stl(folder, "train", [3, 9, 0, 3])
    test = write_stl(folder, "test", [1, 2])
    unlabeled = write_stl(folder, "unlabeled", [0, 0, 0])
    with pytest.raises(UserError, match=r"train_X\.bin has 110,592 bytes instead of 138,240,000 \(5,000 records\)"):
        STL10()
    monkeypatch.setattr(STL10, "counts", (("train", 4), ("test", 2), ("unlabeled", 3)))
    table = STL10()
    assert table.test is not None
    assert np.array_equal(table.images(np.array([2, 0, 2])), train[[2, 0, 2]])
    assert np.array_equal(every(table.test), test)
    assert values(table) == [[3], [9], [0], [3]]
    assert values(table.test) == [[1], [2]]
    free: Table = STL10(path=str(folder), split="unlabeled", size=48)
    expected = Image.fromarray(unlabeled[1].transpose(1, 2, 0)).resize((48, 48), Image.Resampling.LANCZOS)
    assert np.array_equal(every(free)[1].transpose(1, 2, 0), np.asarray(expected))
    assert (free.gives, free.factors, free.spec.classes) == (("Images",), (), 0)
    with (folder / "test_y.bin").open("ab") as file:
        file.write(b"\1")
    with pytest.raises(UserError, match=r"test_y\.bin has 3 bytes instead of 2"):
        STL10()


def test_cifar10_binary(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "cifar10" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    records = RNG.integers(0, 256, (6, 4, 3073), dtype=np.uint8)
    records[:, :, 0] %= 10
    for name, batch in zip([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"], records, strict=True):
        (folder / f"{name}.bin").write_bytes(batch.tobytes())
    with pytest.raises(UserError, match=r"data_batch_1\.bin has 12,292 bytes instead of 30,730,000 \(10,000 records\)"):
        CIFAR10()
    monkeypatch.setattr(CIFAR10, "per_file", 4)
    for table in (CIFAR10(), CIFAR10(path=str(folder))):
        assert np.array_equal(every(table), records[:5, :, 1:].reshape(20, 3, 32, 32))
        assert values(table) == records[:5, :, :1].reshape(20, 1).tolist()
        assert table.test is not None
        assert np.array_equal(every(table.test), records[5, :, 1:].reshape(4, 3, 32, 32))
    (folder / "data_batch_3.bin").unlink()
    with pytest.raises(UserError, match=r"data_batch_3\.bin does not exist"):
        CIFAR10()


def write_cifar_files(folder: Path, extra: str = "") -> None:
    for split, count in (("train", 2), ("test", 1)):
        for number, name in enumerate(CLASSES):
            for i in range(count):
                flat(folder / split / name / f"{i:04d}.png", number * 20 + i, 32, 32)
    if extra:
        flat(folder / extra, 0)


@pytest.mark.parametrize("packed", [False, True])
def test_cifar10_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    monkeypatch.setattr(CIFAR10, "per_class", (("train", 2), ("test", 1)))
    write_cifar_files(tmp_path / "cifar")
    path = shutil.make_archive(str(tmp_path / "x"), "zip", tmp_path / "cifar") if packed else str(tmp_path / "cifar")
    table = CIFAR10(path=path)
    assert shades(table) == [number * 20 + i for number in range(10) for i in range(2)]
    assert values(table) == [[number] for number in range(10) for _ in range(2)]
    assert values(table.test) == [[number] for number in range(10)]


def test_cifar10_zip_in_the_root(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CIFAR10, "per_class", (("train", 2), ("test", 1)))
    write_cifar_files(tmp_path / "cifar")
    shutil.make_archive(str(root / "cifar10-images"), "zip", tmp_path / "cifar")
    assert shades(CIFAR10()) == [number * 20 + i for number in range(10) for i in range(2)]
    assert backgrounds.load("cifar10", 32).labels.tolist() == [*np.arange(20) // 2, *range(10)]


def test_cifar10_refused(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="root/cifar10 does not exist: run `unbraid data fetch cifar10`"):
        CIFAR10()
    with pytest.raises(UserError, match=r"none\.zip does not exist"):
        CIFAR10(path=str(tmp_path / "none.zip"))
    write_cifar_files(tmp_path / "a")
    with pytest.raises(UserError, match="has 2 files in train/airplane instead of 5,000"):
        CIFAR10(path=str(tmp_path / "a"))
    monkeypatch.setattr(CIFAR10, "per_class", (("train", 2), ("test", 1)))
    write_cifar_files(tmp_path / "b", "train/zebra/1.png")
    with pytest.raises(UserError, match="has 1 files in train/zebra instead of 0"):
        CIFAR10(path=str(tmp_path / "b"))


def test_real_cifar10_pictures(shared: Path) -> None:
    path = shared / "data/cifar10-images.zip"
    table = CIFAR10(path=str(path))
    assert np.bincount(table.labels).tolist() == [5000] * 10
    with zipfile.ZipFile(path) as file, file.open("train/frog/0123.jpg") as stream:
        expected = np.asarray(Image.open(stream)).transpose(2, 0, 1)
    row = CLASSES.index("frog") * 5000 + 123
    assert np.array_equal(table.images(np.array([row]))[0], expected)


def test_views_share_their_class_and_are_not_the_same_row() -> None:
    class Rows_(ClassTable):
        name = "rows"
        factors = (Factor("class", 4),)
        label = "class"
        shared = ("class",)
        shape = (1, 2, 2)

        def __init__(self) -> None:
            self.labels = np.array([2, 0, 2, 1, 2, 0])

        def images(self, rows: Rows) -> Bytes:
            return np.tile(rows.astype(np.uint8)[:, None, None, None], (1, 1, 2, 2))

    table = Rows_()
    rows = np.tile(np.arange(6), 200)
    others = table.partner(rows, np.random.default_rng(0))
    seen = {row: set(others[rows == row].tolist()) for row in range(6)}
    assert seen == {0: {2, 4}, 1: {5}, 2: {0, 4}, 3: {3}, 4: {0, 2}, 5: {1}}
    counts = np.bincount(others[rows == 0], minlength=6)
    assert abs(counts[2] - counts[4]) < 4 * np.sqrt(200)
    views = sampler(table, Views, batch=64, seed=1)(0)
    assert isinstance(views, Views)
    assert (table.labels[views.x2[:, 0, 0, 0].numpy()] == views.y.numpy()).all()
