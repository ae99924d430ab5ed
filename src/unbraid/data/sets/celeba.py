"""CelebA (Liu et al., 2015): 202,599 aligned faces with 40 attributes; the original layout or Kaggle's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size, Within
from unbraid.data.io.formats import Archive, reading
from unbraid.data.io.image_files import ImageCache, decode
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows, Table, Values
from unbraid.errors import UserError, unknown

SPLITS = {"all": (0, 1, 2), "train": (0,), "valid": (1,), "test": (2,)}
BINARY = {"-1": 0, "1": 1}
NAMES = """
5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair
Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones
Male Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline
Rosy_Cheeks Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick
Wearing_Necklace Wearing_Necktie Young
"""
ATTRIBUTES = NAMES.split()


class CelebA(Table):
    """Each attribute is a factor of two values. Files are decoded on demand and kept in memory up to 1 GB.

    Args:
        path: folder with img_align_celeba (a folder or zip) and the lists; empty: the folder celeba in the data root
        split: all, train, valid or test; the test rows of train are those of test
        attribute: the attribute used as the class
        crop: side in pixels of the centred square that is cropped from the 178 x 218
        size: height and width in pixels to which the square is resized
    """

    name = "celeba"
    gives = ("Images", "Labelled")
    factors = tuple(Factor(name, 2) for name in ATTRIBUTES)
    count = 202_599

    def __init__(
        self,
        *,
        path: FilePath = "",
        split: Literal["all", "train", "valid", "test"] = "train",
        attribute: str = "Smiling",
        crop: Annotated[int, Within(1, 178)] = 148,
        size: Size = 64,
    ) -> None:
        if attribute not in ATTRIBUTES:
            raise unknown("attribute of celeba", attribute, ATTRIBUTES)
        self.label, self.shape = attribute, (3, size, size)
        folder, wanted = source_of(self.name, path), SPLITS[split]
        names, self._values = read_attributes(first_existing(folder, lists("list_attr_celeba"), self.name), self.count)
        archive = find_pictures(folder)
        prefix = prefix_of(archive, names)
        if split != "all":
            parts = read_partition(first_existing(folder, lists("list_eval_partition"), self.name), names)
            rows = np.flatnonzero(np.isin(parts, wanted))
            names, self._values = [names[row] for row in rows], self._values[rows]

        def read(row: int) -> Bytes:
            with archive.open(prefix + names[row]) as stream:
                return decode(stream, archive.where(prefix + names[row]), size=size, color="rgb", crop=crop)

        self._read = ImageCache(read, len(names), self.shape)
        if split == "train":
            self.test = CelebA(path=path, split="test", attribute=attribute, crop=crop, size=size)

    def __len__(self) -> int:
        return len(self._values)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)

    def values(self, rows: Rows) -> Values:
        return self._values[rows].astype(np.int64)


def lists(stem: str) -> tuple[str, str]:
    """A list's names in the original and in Kaggle's layout."""
    return f"{stem}.txt", f"{stem}.csv"


def find_pictures(folder: Path) -> Archive:
    found = first_existing(folder, ("img_align_celeba", "img_align_celeba.zip"), "celeba")
    doubled = found / "img_align_celeba"  # as Kaggle's zip unpacks
    return Archive(doubled if doubled.is_dir() else found)


def prefix_of(archive: Archive, names: list[str]) -> str:
    """The folder of the images inside their zip; refused if an image is missing."""
    have = set(archive.names)
    prefix = next(
        (p for p in ("", "img_align_celeba/", "img_align_celeba/img_align_celeba/") if p + names[0] in have), ""
    )
    missing = next((name for name in names if prefix + name not in have), None)
    if missing:
        raise UserError(f"{archive.where(prefix + missing)} is missing, though the list of attributes names it")
    return prefix


def read_attributes(path: Path, count: int) -> tuple[list[str], NDArray[np.uint8]]:
    """File names and attributes [n, 40] as 0 and 1."""
    with reading(path, "a list of attributes"):
        lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".csv":
        head, rows = lines[:1], [line.split(",") for line in lines[1:]]
        columns = head[0].split(",")[1:] if head else []
    else:
        head, rows = lines[:2], [line.split() for line in lines[2:]]
        columns = head[1].split() if len(head) == 2 else []
    if columns != ATTRIBUTES:
        raise UserError(f"{path} does not start with the names of the {len(ATTRIBUTES)} attributes")
    if len(rows) != count or (path.suffix == ".txt" and head[0].split() != [str(count)]):
        raise UserError(f"{path} lists {len(rows):,} images instead of {count:,}")
    for number, row in enumerate(rows, len(head) + 1):
        if len(row) != 41 or not BINARY.keys() >= set(row[1:]):
            raise UserError(f"{path} is not valid in line {number}: expected a name and 40 values of 1 or -1")
    flags = b"".join(bytes(map(BINARY.__getitem__, row[1:])) for row in rows)
    return [row[0] for row in rows], np.frombuffer(flags, np.uint8).reshape(-1, 40)


def read_partition(path: Path, names: list[str]) -> NDArray[np.int64]:
    """0 train, 1 valid, 2 test for each image, [n]."""
    with reading(path, "a list of images with 0, 1 or 2"):
        lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines[1:]] if path.suffix == ".csv" else [line.split() for line in lines]
    found = {row[0]: row[1] for row in rows if len(row) == 2}
    wrong = next((name for name in names if found.get(name) not in ("0", "1", "2")), None)
    if wrong or len(rows) != len(names):
        what = f"0, 1 or 2 for {wrong}" if wrong else f"{len(names):,} lines"
        raise UserError(f"{path} does not have {what}")
    return np.array([int(found[name]) for name in names])
