"""CelebA, AffectNet and Flowers, in small files of the exact formats."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from unbraid.data.sets.affectnet import AffectNet
from unbraid.data.sets.celeba import ATTRIBUTES, CelebA
from unbraid.data.sets.flowers102 import Flowers102
from unbraid.data.table import Bytes, Factor, Table
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
    with pytest.raises(UserError, match=r"list_attr_celeba\.txt lists 5 images instead of 202,599"):
        CelebA()
    monkeypatch.setattr(CelebA, "count", 5)
    with pytest.raises(UserError, match="no attribute of celeba is called 'Wearing_Hats': did you mean 'Wearing_Hat'"):
        CelebA(attribute="Wearing_Hats")

    def says(file: str, old: str, new: str, message: str) -> None:
        write_celeba(folder, "original")
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
        with pytest.raises(UserError, match=message):
            CelebA()

    says("list_attr_celeba.txt", "Young", "Old", "does not start with the names of the 40 attributes")
    says(
        "list_attr_celeba.txt", "000002.jpg ", "000002.jpg 1 ", "is not valid in line 4: expected a name and 40 values"
    )
    says("list_attr_celeba.txt", "000002.jpg", "000009.jpg", r"000009\.jpg is missing")
    says("list_attr_celeba.txt", "5\n", "6\n", "lists 5 images")
    says("list_eval_partition.txt", "000003.jpg 1", "000003.jpg 3", r"does not have 0, 1 or 2 for 000003\.jpg")
    says("list_eval_partition.txt", "000003.jpg 1\n", "", r"does not have 0, 1 or 2 for 000003\.jpg")
    (folder / "list_attr_celeba.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"list_attr_celeba\.txt is corrupt"):
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


def test_affectnet_reduced(root: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    folder = root / "affectnet"
    for part, expressions in (("train_set", ["5", "0", "8"]), ("val_set", ["7"])):
        (folder / part / "annotations").mkdir(parents=True)
        for i, expression in enumerate(expressions):
            flat(folder / part / "images" / f"{[2, 10, 300][i]}.jpg", 50 * i)
            np.save(folder / part / "annotations" / f"{[2, 10, 300][i]}_exp.npy", np.array(expression))
    with pytest.raises(UserError, match=r"train_set/images has 3 images instead of 287,651"):
        AffectNet()
    monkeypatch.setattr(AffectNet, "reduced_counts", (("train", 3), ("valid", 1)))
    table = AffectNet()
    assert (values(table), shades(table)) == ([[5], [0]], [0, 50])
    assert values(table.test) == [[7]]
    shutil.rmtree(cache / "converted")
    note = folder / "train_set" / "annotations" / "10_exp.npy"
    for wrong in (np.array("11"), np.array("x"), np.array([1, 2])):
        np.save(note, wrong)
        with pytest.raises(UserError, match=r"10_exp\.npy holds '.*' instead of an expression"):
            AffectNet()
    np.save(note, np.array({}, object), allow_pickle=True)
    with pytest.raises(UserError, match=r"10_exp\.npy holds Python objects"):
        AffectNet()
    note.unlink()
    with pytest.raises(UserError, match=r"10_exp\.npy does not exist"):
        AffectNet()


def test_affectnet_refused(root: Path) -> None:
    folder = root / "affectnet"
    with pytest.raises(UserError, match="affectnet/train_set does not exist: run `unbraid data fetch affectnet`"):
        AffectNet()
    for old, new, message in [
        ("12/b.png", "12/e.png", r"12/e\.png is missing, though line 3 of training\.csv names it"),
        ("12/b.png", "../b.png", "names in line 3 a file outside Manually_Annotated_Images"),
        (",7,0.1", ",x,0.1", r"training\.csv is not valid in line 3"),
        (",7,0.1", ",11,0.1", "names in line 3 .* an expression outside 0 to 10"),
    ]:
        write_affectnet(folder)
        text = (folder / "training.csv").read_text()
        (folder / "training.csv").write_text(text.replace(old, new, 1))
        with pytest.raises(UserError, match=message):
            AffectNet()


def test_flowers(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "flowers102"
    for i in range(6):
        flat(folder / "jpg" / f"image_{i + 1:05d}.jpg", 40 * i)
    labels = np.array([[1, 102, 7, 1, 7, 102]], np.uint8)
    savemat(folder / "imagelabels.mat", {"labels": labels})
    sets = {"trnid": np.array([[6, 1]]), "valid": np.array([[2]]), "tstid": np.array([[3, 5, 4]])}
    savemat(folder / "setid.mat", sets)
    with pytest.raises(UserError, match=r"imagelabels\.mat has 'labels' \(1, 6\) instead of 'labels' \(1, 8189\)"):
        Flowers102()
    monkeypatch.setattr(Flowers102, "counts", (("trnid", 2), ("valid", 1), ("tstid", 3)))
    table = Flowers102(size=8)
    assert table.test is not None
    assert (shades(table), values(table)) == ([200, 0], [[101], [0]])
    assert (shades(table.test), values(table.test)) == ([80, 160, 120], [[6], [6], [0]])
    assert shades(Flowers102(split="all", size=8)) == [0, 40, 80, 120, 160, 200]
    (folder / "jpg" / "image_00004.jpg").unlink()
    with pytest.raises(UserError, match=r"image_00004\.jpg does not exist"):
        Flowers102()
    savemat(folder / "setid.mat", {**sets, "valid": np.array([[1]])})
    with pytest.raises(UserError, match=r"setid\.mat does not put every image into exactly one part"):
        Flowers102()
    savemat(folder / "imagelabels.mat", {"labels": labels + 1})
    with pytest.raises(UserError, match="has labels from 2 to 103 instead of 1 to 102"):
        Flowers102()
