"""AffectNet (Mollahosseini et al., 2017): faces with eight expressions; the full release or the reduced one.

Full: training.csv, validation.csv and Manually_Annotated_Images, cropped to the face's box. Reduced: train_set
and val_set, each with images and annotations. Rows without one of the eight expressions are left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unbraid.config import FilePath, Size
from unbraid.data.class_table import ClassTable
from unbraid.data.io.array_files import cached_rows, npy
from unbraid.data.io.formats import reading
from unbraid.data.io.image_files import Box, ImageCache, decode
from unbraid.data.io.paths import first_existing, source_of
from unbraid.data.table import Bytes, Factor, Rows
from unbraid.errors import UserError

SPLITS = {"train": ("training.csv", "train_set"), "valid": ("validation.csv", "val_set")}
PICTURES = ("Manually_Annotated_Images", "Manually_Annotated/Manually_Annotated_Images")
COLUMNS = ("subDirectory_filePath", "face_x", "face_y", "face_width", "face_height", "facial_landmarks", "expression")
Row = tuple[Path, Box | None, int]  # file, face, expression


class AffectNet(ClassTable):
    """The labels of the public test set were never published: the validation rows are the `test` of the training rows.

    Args:
        path: folder with the csv files or with train_set and val_set; empty: the folder affectnet in the data root
        split: train or valid
        contempt: whether to keep the eighth expression, contempt
        size: height and width in pixels; faces are cropped to a centred square and resized
    """

    name = "affectnet"
    gives = ("Images", "Labelled", "Views")
    factors = (Factor("expression", 8),)
    label = "expression"
    shared = ("expression",)
    class_names = ("neutral", "happy", "sad", "surprise", "fear", "disgust", "anger", "contempt")
    reduced_counts = (("train", 287_651), ("valid", 3_999))

    def __init__(
        self, *, path: FilePath = "", split: Literal["train", "valid"] = "train", contempt: bool = True, size: Size = 64
    ) -> None:
        folder, (table, part) = source_of(self.name, path), SPLITS[split]
        found = first_existing(folder, (part, table), self.name)
        rows = read_reduced(found, dict(self.reduced_counts)[split]) if found.name == part else read_full(found)
        rows = [row for row in rows if row[2] < 7 + contempt]
        if not rows:
            raise UserError(f"{found} has no row with one of the eight expressions")
        if not contempt:
            self.factors = (Factor("expression", 7),)
        self.labels, self.shape = np.array([row[2] for row in rows], np.int64), (3, size, size)

        def read(row: int) -> Bytes:
            file, box, _ = rows[row]
            with reading(file, "an image"), file.open("rb") as stream:
                return decode(stream, str(file), size=size, color="rgb", box=box)

        self._read = ImageCache(read, len(rows), self.shape)
        if split == "train":
            self.test = type(self)(path=path, split="valid", contempt=contempt, size=size)

    def images(self, rows: Rows) -> Bytes:
        return self._read(rows)


def read_full(path: Path) -> list[Row]:
    """The rows of a csv file; some copies have no header line."""
    pictures = next((path.parent / name for name in PICTURES if (path.parent / name).is_dir()), None)
    if pictures is None:
        raise UserError(f"{path.parent / PICTURES[0]} does not exist; expected the folder of the full release's images")
    with reading(path, f"a csv file with {', '.join(COLUMNS)}"), path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    first = 1 if lines and lines[0][:1] == [COLUMNS[0]] else 0
    return [_row(path, number, line, pictures) for number, line in enumerate(lines[first:], first + 1)]


def _row(path: Path, number: int, line: list[str], pictures: Path) -> Row:
    try:
        x, y, width, height = (int(float(word)) for word in line[1:5])
        name, expression = line[0], int(line[6])
    except (ValueError, IndexError) as error:
        raise UserError(f"{path} is not valid in line {number}: expected {', '.join(COLUMNS)}") from error
    file = pictures / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not 0 <= expression <= 10:
        raise UserError(
            f"{path} names in line {number} a file outside {pictures.name}, or an expression outside 0 to 10"
        )
    if not file.is_file():
        raise UserError(f"{file} is missing, though line {number} of {path.name} names it")
    return file, (x, y, x + width, y + height), expression


def read_reduced(folder: Path, count: int) -> list[Row]:
    """The images of a part; the expression of each is in a small npy file, all of which are read once and cached."""
    with reading(folder / "images", "a folder of images"):
        files = sorted((folder / "images").iterdir(), key=lambda file: (len(file.stem), file.stem))
    if len(files) != count:
        raise UserError(f"{folder / 'images'} has {len(files):,} images instead of {count:,}")
    notes = folder / "annotations"
    with reading(notes, "a folder of annotations"):
        notes.stat()
    sources = [notes, folder / "images"]
    known = cached_rows(f"affectnet-{folder.name}", sources, (1, count), lambda: _expressions(notes, files))
    return [(file, None, int(expression)) for file, expression in zip(files, known(np.array([0]))[0], strict=True)]


def _expressions(notes: Path, files: list[Path]) -> Iterator[NDArray[np.uint8]]:
    for file in files:
        note = notes / f"{file.stem}_exp.npy"
        stored = npy(note)
        word = str(stored.load()[()]) if stored.shape == () else f"an array of shape {stored.shape}"
        if not word.isascii() or not word.isdigit() or int(word) > 10:
            raise UserError(f"{note} holds '{word}' instead of an expression from 0 to 10")
        yield np.array([int(word)], np.uint8)
