"""Sets with classes or attributes: the real files where they are here, else small ones in the exact format."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from unbraid.data.affectnet import AffectNet
from unbraid.data.celeba import ATTRIBUTES, CelebA
from unbraid.data.cifar10 import CIFAR10, CLASSES
from unbraid.data.flowers102 import Flowers102
from unbraid.data.mnist import MNIST
from unbraid.data.stl10 import STL10
from unbraid.data.table import Bytes, Factor, Table
from unbraid.errors import Problem

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


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
    counts = np.bincount(every(table).reshape(-1), minlength=256) / (60_000 * 784)
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
        Problem, match=r"mnist/train-images-idx3-ubyte\.gz does not exist: run `unbraid data fetch mnist`"
    ):
        MNIST()
    shutil.copytree(shared / "data/mnist", root / "mnist")
    (root / "mnist").chmod(0o700)
    labels = root / "mnist" / "train-labels-idx1-ubyte.gz"
    whole = gzip.decompress(labels.read_bytes())
    labels.chmod(0o600)
    labels.write_bytes(gzip.compress(whole[:8] + b"\x0a" + whole[9:], 1))
    with pytest.raises(Problem, match=r"train-labels-idx1-ubyte\.gz has the label 10, which is not a digit"):
        MNIST()
    labels.write_bytes((root / "mnist" / "t10k-labels-idx1-ubyte.gz").read_bytes())
    with pytest.raises(Problem, match=r"has shape \(10000,\) instead of \(60000,\)"):
        MNIST()
    with pytest.raises(Problem, match="no split is called 'tset': did you mean 'test'"):
        MNIST(split="tset")  # type: ignore[arg-type]
    with pytest.raises(Problem, match="size is 0"):
        MNIST(path=str(shared / "data/mnist"), size=0)


def write_stl(folder: Path, split: str, labels: list[int]) -> Bytes:
    """Pictures [n, 3, 96, 96], written column by column."""
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
    with pytest.raises(Problem, match=r"train_X\.bin has 110,592 bytes instead of 138,240,000 \(5,000 records\)"):
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
    with pytest.raises(Problem, match=r"test_y\.bin has 3 bytes instead of 2"):
        STL10()


def test_cifar10_binary(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "cifar10" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    records = RNG.integers(0, 256, (6, 4, 3073), dtype=np.uint8)
    records[:, :, 0] %= 10
    for name, batch in zip([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"], records, strict=True):
        (folder / f"{name}.bin").write_bytes(batch.tobytes())
    with pytest.raises(Problem, match=r"data_batch_1\.bin has 12,292 bytes instead of 30,730,000 \(10,000 records\)"):
        CIFAR10()
    monkeypatch.setattr(CIFAR10, "per_file", 4)
    for table in (CIFAR10(), CIFAR10(path=str(folder))):
        assert np.array_equal(every(table), records[:5, :, 1:].reshape(20, 3, 32, 32))
        assert values(table) == records[:5, :, :1].reshape(20, 1).tolist()
        assert table.test is not None
        assert np.array_equal(every(table.test), records[5, :, 1:].reshape(4, 3, 32, 32))
    (folder / "data_batch_3.bin").unlink()
    with pytest.raises(Problem, match=r"data_batch_3\.bin does not exist"):
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


def test_cifar10_refused(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Problem, match="root/cifar10 does not exist: run `unbraid data fetch cifar10`"):
        CIFAR10()
    with pytest.raises(Problem, match=r"none\.zip does not exist"):
        CIFAR10(path=str(tmp_path / "none.zip"))
    write_cifar_files(tmp_path / "a")
    with pytest.raises(Problem, match="has 2 files in train/airplane instead of 5,000"):
        CIFAR10(path=str(tmp_path / "a"))
    monkeypatch.setattr(CIFAR10, "per_class", (("train", 2), ("test", 1)))
    write_cifar_files(tmp_path / "b", "train/zebra/1.png")
    with pytest.raises(Problem, match="has 1 files in train/zebra instead of 0"):
        CIFAR10(path=str(tmp_path / "b"))


def test_real_cifar10_pictures(shared: Path) -> None:
    path = shared / "data/cifar10-images.zip"
    table = CIFAR10(path=str(path))
    assert np.bincount(table.labels).tolist() == [5000] * 10
    with zipfile.ZipFile(path) as file, file.open("train/frog/0123.jpg") as stream:
        expected = np.asarray(Image.open(stream)).transpose(2, 0, 1)
    row = CLASSES.index("frog") * 5000 + 123
    assert np.array_equal(table.images(np.array([row]))[0], expected)


FLAGS = RNG.integers(0, 2, (5, 40))
FACES = [f"{i:06d}.jpg" for i in range(1, 6)]


def write_celeba(folder: Path, layout: str, flags: NDArray[Any] = FLAGS, parts: str = "00122") -> None:
    inner = {"original": "", "kaggle": "img_align_celeba/", "zip": ""}[layout]
    for i, name in enumerate(FACES):
        flat(folder / "img_align_celeba" / inner / name, 10 * i, 178, 218)
    signs = np.where(flags, 1, -1)
    if layout == "kaggle":
        rows = [",".join([name, *map(str, row)]) for name, row in zip(FACES, signs, strict=True)]
        (folder / "list_attr_celeba.csv").write_text("\n".join([",".join(["image_id", *ATTRIBUTES]), *rows]))
        lines = ["image_id,partition", *(f"{name},{part}" for name, part in zip(FACES, parts, strict=True))]
        (folder / "list_eval_partition.csv").write_text("\n".join(lines))
        return
    rows = [f"{name} " + " ".join(f"{sign:2d}" for sign in row) for name, row in zip(FACES, signs, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join(["5", " ".join(ATTRIBUTES) + " ", *rows, ""]))
    lines = [f"{name} {part}" for name, part in zip(FACES, parts, strict=True)]
    (folder / "list_eval_partition.txt").write_text("\n".join(lines) + "\n")
    if layout == "zip":
        with zipfile.ZipFile(folder / "img_align_celeba.zip", "w") as file:
            for name in FACES:
                file.write(folder / "img_align_celeba" / name, f"img_align_celeba/{name}")
        shutil.rmtree(folder / "img_align_celeba")


@pytest.mark.parametrize("layout", ["original", "kaggle", "zip"])
def test_celeba_in_its_layouts(root: Path, monkeypatch: pytest.MonkeyPatch, layout: str) -> None:
    monkeypatch.setattr(CelebA, "count", 5)
    write_celeba(root / "celeba", layout)
    table = CelebA(attribute="Wearing_Hat", size=32)
    assert table.test is not None
    assert (shades(table), shades(table.test)) == ([0, 10], [30, 40])
    assert values(table) == FLAGS[:2].tolist()
    assert values(table.test) == FLAGS[3:].tolist()
    assert values(CelebA(split="all")) == FLAGS.tolist()
    assert (table.label, table.spec.classes, len(table.factors)) == ("Wearing_Hat", 2, 40)


def test_celeba_crops_the_centre(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CelebA, "count", 5)
    write_celeba(root / "celeba", "original")
    photo = RNG.integers(0, 256, (218, 178, 3), dtype=np.uint8)
    Image.fromarray(photo).save(root / "celeba" / "img_align_celeba" / FACES[0], format="PNG")
    found = CelebA(crop=148, size=148).images(np.array([0]))[0]
    assert np.array_equal(found.transpose(1, 2, 0), photo[35:183, 15:163])


def test_celeba_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "celeba"
    write_celeba(folder, "original")
    with pytest.raises(Problem, match=r"list_attr_celeba\.txt lists 5 pictures instead of 202,599"):
        CelebA()
    monkeypatch.setattr(CelebA, "count", 5)
    with pytest.raises(Problem, match="no attribute of celeba is called 'Wearing_Hats': did you mean 'Wearing_Hat'"):
        CelebA(attribute="Wearing_Hats")

    def says(file: str, old: str, new: str, message: str) -> None:
        write_celeba(folder, "original")
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
        with pytest.raises(Problem, match=message):
            CelebA()

    says("list_attr_celeba.txt", "Young", "Old", "does not start with the names of the 40 attributes")
    says(
        "list_attr_celeba.txt", "000002.jpg ", "000002.jpg 1 ", "has in line 4 something else than a name and 40 values"
    )
    says("list_attr_celeba.txt", "000002.jpg", "000009.jpg", r"000009\.jpg is missing")
    says("list_attr_celeba.txt", "5\n", "6\n", "lists 5 pictures")
    says("list_eval_partition.txt", "000003.jpg 1", "000003.jpg 3", r"does not have 0, 1 or 2 for 000003\.jpg")
    says("list_eval_partition.txt", "000003.jpg 1\n", "", r"does not have 0, 1 or 2 for 000003\.jpg")
    (folder / "list_attr_celeba.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Problem, match=r"list_attr_celeba\.txt is broken"):
        CelebA()


CSV = "subDirectory_filePath,face_x,face_y,face_width,face_height,facial_landmarks,expression,valence,arousal\n"


def write_affectnet(folder: Path, header: str = CSV) -> None:
    """Rows with the expressions 3, 7, 9 and 0, and one of them grey."""
    pixels = np.zeros((20, 30, 3), np.uint8)
    pixels[4:14, 6:16] = 200
    pictures = folder / "Manually_Annotated_Images"
    (pictures / "12").mkdir(parents=True, exist_ok=True)
    for name in ("a.JPG", "b.png", "c.jpeg", "d.bmp"):
        kind = {"a": "PNG"}.get(name[0])
        Image.fromarray(pixels).convert("L" if name[0] == "b" else "RGB").save(pictures / "12" / name, format=kind)
    rows = [
        f"12/{name},6,4,10,10,1;2;3;4,{e},0.1,-2"
        for name, e in (("a.JPG", 3), ("b.png", 7), ("c.jpeg", 9), ("d.bmp", 0))
    ]
    (folder / "training.csv").write_text(header + "\n".join(rows) + "\n")
    (folder / "validation.csv").write_text(rows[3] + "\n")


@pytest.mark.parametrize("header", [CSV, ""])
def test_affectnet_full(root: Path, header: str) -> None:
    write_affectnet(root / "affectnet", header)
    table = AffectNet(size=10)
    assert values(table) == [[3], [7], [0]]
    assert values(table.test) == [[0]]
    assert (table.images(np.array([0, 1])) == 200).all(), "only the face's box"
    seven = AffectNet(contempt=False)
    assert (values(seven), seven.factors) == ([[3], [0]], (Factor("expression", 7),))


def test_affectnet_reduced(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "affectnet"
    for part, expressions in (("train_set", ["5", "0", "8"]), ("val_set", ["7"])):
        (folder / part / "annotations").mkdir(parents=True)
        for i, expression in enumerate(expressions):
            flat(folder / part / "images" / f"{[2, 10, 300][i]}.jpg", 50 * i)
            np.save(folder / part / "annotations" / f"{[2, 10, 300][i]}_exp.npy", np.array(expression))
    with pytest.raises(Problem, match=r"train_set/images has 3 pictures instead of 287,651"):
        AffectNet()
    monkeypatch.setattr(AffectNet, "reduced_counts", (("train", 3), ("valid", 1)))
    table = AffectNet()
    assert (values(table), shades(table)) == ([[5], [0]], [0, 50])
    assert values(table.test) == [[7]]
    shutil.rmtree(root / "cache")
    note = folder / "train_set" / "annotations" / "10_exp.npy"
    for wrong in (np.array("11"), np.array("x"), np.array([1, 2])):
        np.save(note, wrong)
        with pytest.raises(Problem, match=r"10_exp\.npy holds '.*' instead of an expression"):
            AffectNet()
    np.save(note, np.array({}, object), allow_pickle=True)
    with pytest.raises(Problem, match=r"10_exp\.npy holds Python objects"):
        AffectNet()
    note.unlink()
    with pytest.raises(Problem, match=r"10_exp\.npy does not exist"):
        AffectNet()


def test_affectnet_refused(root: Path) -> None:
    folder = root / "affectnet"
    with pytest.raises(Problem, match="affectnet/train_set does not exist: run `unbraid data fetch affectnet`"):
        AffectNet()
    for old, new, message in [
        ("12/b.png", "12/e.png", r"12/e\.png is missing, though line 3 of training\.csv names it"),
        ("12/b.png", "../b.png", "has in line 3 a file outside Manually_Annotated_Images"),
        (",7,0.1", ",x,0.1", r"training\.csv has in line 3 something else than"),
        (",7,0.1", ",11,0.1", "has in line 3 .* an expression above 10"),
    ]:
        write_affectnet(folder)
        text = (folder / "training.csv").read_text()
        (folder / "training.csv").write_text(text.replace(old, new, 1))
        with pytest.raises(Problem, match=message):
            AffectNet()


def test_flowers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "flowers102"
    for i in range(6):
        flat(folder / "jpg" / f"image_{i + 1:05d}.jpg", 40 * i)
    labels = np.array([[1, 102, 7, 1, 7, 102]], np.uint8)
    savemat(folder / "imagelabels.mat", {"labels": labels})
    sets = {"trnid": np.array([[6, 1]]), "valid": np.array([[2]]), "tstid": np.array([[3, 5, 4]])}
    savemat(folder / "setid.mat", sets)
    with pytest.raises(Problem, match=r"imagelabels\.mat has 'labels' \(1, 6\) instead of 'labels' \(1, 8189\)"):
        Flowers102()
    monkeypatch.setattr(Flowers102, "counts", (("trnid", 2), ("valid", 1), ("tstid", 3)))
    table = Flowers102(size=8)
    assert table.test is not None
    assert (shades(table), values(table)) == ([200, 0], [[101], [0]])
    assert (shades(table.test), values(table.test)) == ([80, 160, 120], [[6], [6], [0]])
    assert shades(Flowers102(split="all", size=8)) == [0, 40, 80, 120, 160, 200]
    (folder / "jpg" / "image_00004.jpg").unlink()
    with pytest.raises(Problem, match=r"image_00004\.jpg does not exist"):
        Flowers102()
    savemat(folder / "setid.mat", {**sets, "valid": np.array([[1]])})
    with pytest.raises(Problem, match=r"setid\.mat does not put every picture into exactly one part"):
        Flowers102()
    savemat(folder / "imagelabels.mat", {"labels": labels + 1})
    with pytest.raises(Problem, match="has labels from 2 to 103 instead of 1 to 102"):
        Flowers102()
