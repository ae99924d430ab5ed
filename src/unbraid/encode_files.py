"""Files of samples to files of codes, and back; sample_files.py says what these are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from unbraid.data.io.image_files import Color
from unbraid.data.table import Rows
from unbraid.errors import UserError
from unbraid.model import Model
from unbraid.sample_files import NAME, open_samples, read_codes
from unbraid.train.run import write

OUTPUTS = (".csv", ".parquet", ".npz")


def encode_file(
    model: Model,
    path: Path,
    out: Path,
    *,
    color: Color | None = None,
    id: str | None = None,
    overwrite: bool = False,
    show: bool = False,
) -> int:
    """Writes the codes of all samples of a file or folder, and gives their number.

    Args:
        path: folder, zip, array or table of samples
        out: the file of codes: .csv, .parquet or .npz
        color: convert image files to grey or rgb; as in training unless given
        id: column of a table that names the samples
        overwrite: `out` may exist
        show: show a progress bar
    """
    check_output(out, overwrite)
    source = open_samples(model, path, color, id)
    batches = _batches(len(source.names), model.batch, "encoding", show)
    codes = np.concatenate([model.transform(source.read(rows)) for rows in batches])
    write_table(out, source.names, model.feature_names, codes)
    return len(source.names)


def decode_file(model: Model, path: Path, out: Path, *, overwrite: bool = False, show: bool = False) -> int:
    """Writes what the decoder draws from a file of codes, and gives the number of samples.

    Args:
        path: a file of codes, as `encode_file` writes them; columns that are no codes are ignored
        out: folder for images, named after the samples; of features the table: .csv, .parquet or .npz
        overwrite: `out` may exist
        show: show a progress bar
    """
    if not model.method.has_decoder:
        raise UserError("the method of this run has no decoder: it cannot draw codes")
    names, codes = read_codes(model, path)
    batches = _batches(len(names), model.batch, "decoding", show)
    if model.scaling is not None:
        check_output(out, overwrite)
        columns = list(model.scaling.names) or [f"x{i}" for i in range(model.shape[2])]
        drawn = np.concatenate([model.decode(codes[rows]) for rows in batches])
        write_table(out, names, columns, drawn, array="features")
        return len(names)
    places = _pictures(names, path)
    _check_folder(out, overwrite)
    for rows in batches:
        for row, image in zip(rows.tolist(), model.decode(codes[rows]), strict=True):
            _write_png(out / places[row], image)
    return len(names)


def check_output(out: Path, overwrite: bool) -> None:
    """Refuses a file that cannot be written, before anything is computed."""
    if out.suffix.lower() not in OUTPUTS:
        raise UserError(f"{out} has the ending '{out.suffix}': a table is written as {', '.join(OUTPUTS)}")
    if out.is_dir():
        raise UserError(f"{out} is a folder: name a file in it")
    if not out.parent.is_dir():
        raise UserError(f"the folder {out.parent} of {out.name} does not exist: make it first")
    if out.exists() and not overwrite:
        raise UserError(f"{out} exists already: name another file, or say --overwrite")


def write_table(out: Path, names: list[str], columns: list[str], values: NDArray[Any], array: str = "codes") -> None:
    """A row for each sample, as .csv, .parquet or .npz; `array` is what the values are called in the last."""
    import pandas as pd

    buffer = io.BytesIO()
    if out.suffix.lower() == ".npz":
        arrays = {array: values, "columns": np.array(columns), "names": np.array(names)}
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    else:
        frame = pd.DataFrame(values, columns=columns)
        frame.insert(0, NAME, names, allow_duplicates=True)
        if out.suffix.lower() == ".csv":
            frame.to_csv(buffer, index=False, lineterminator="\n")
        else:
            frame.to_parquet(buffer, index=False)
    write(out, buffer.getvalue())


def _pictures(names: list[str], path: Path) -> list[Path]:
    """The file of each sample's image; names that lead out of the folder or to the same file are refused."""
    found: dict[Path, str] = {}
    for name in names:
        place = PurePosixPath(name.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in name or not place.name:
            raise UserError(f"the name '{name}' in {path} cannot be that of a file in a folder: rename it")
        file = Path(place if place.suffix.lower() == ".png" else f"{place}.png")
        if file in found:
            raise UserError(f"'{found[file]}' and '{name}' in {path} would both be drawn to {file}: rename one of them")
        found[file] = name
    return list(found)


def _check_folder(out: Path, overwrite: bool) -> None:
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file: name a folder for the images")
    if out.is_dir() and any(out.iterdir()) and not overwrite:
        raise UserError(f"the folder {out} is not empty: name another one, or say --overwrite")


def _write_png(place: Path, image: NDArray[np.float32]) -> None:
    """An image [c, h, w] in [0, 1]."""
    from PIL import Image

    pixels = np.rint(np.clip(image, 0, 1) * 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)).save(buffer, "png")
    place.parent.mkdir(parents=True, exist_ok=True)
    write(place, buffer.getvalue())


def _batches(count: int, size: int, doing: str, show: bool) -> Iterator[Rows]:
    """Row numbers, batch by batch, with a progress bar on a terminal."""
    console = Console(stderr=True)
    starts = range(0, count, size)
    hidden = not (show and console.is_terminal)
    for start in track(starts, doing, total=len(starts), console=console, disable=hidden, transient=True):
        yield np.arange(start, min(start + size, count))
