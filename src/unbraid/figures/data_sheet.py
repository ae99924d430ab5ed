"""Images of a data set: a contact sheet, and the joint distribution of two of its factors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unbraid.data.table import Bytes, Grid, Rows, Table
from unbraid.errors import UserError

MARGIN = 140  # pixels for the titles on the left
MANY = 200_000  # rows that are sampled to estimate a distribution


def contact_sheet(table: Table, path: Path | str, *, columns: int = 12, seed: int = 0) -> Path:
    """Draws lines of a table's images into a PNG file: random rows, one factor at a time, views, background, test.

    Args:
        columns: number of images in a row
        seed: seed of the rows that are drawn
    """
    from PIL import Image, ImageDraw

    if table.shape[1] == 1:
        raise UserError(f"{table.name} has features, not images: there is nothing to draw")
    lines = list(_lines(table, columns, np.random.default_rng(seed)))
    scale = max(1, 64 // table.shape[1])
    height, width = (side * scale + 2 for side in table.shape[1:])
    sheet = Image.new("RGB", (MARGIN + columns * width, len(lines) * height), "white")
    draw = ImageDraw.Draw(sheet)
    for line, (title, images) in enumerate(lines):
        draw.text((4, line * height + height // 2 - 6), title, fill="black")
        for column, image in enumerate(images):
            pixels = np.broadcast_to(image, (3, *image.shape[1:])).transpose(1, 2, 0)
            large = pixels.repeat(scale, 0).repeat(scale, 1)
            sheet.paste(Image.fromarray(np.ascontiguousarray(large)), (MARGIN + column * width, line * height))
    return _save(sheet, Path(path))


def joint(table: Table, a: str, b: str, *, seed: int = 0) -> NDArray[np.float64]:
    """How often each pair of values occurs, [values of a, values of b]; from a sample if there are many rows."""
    columns = [table.column(a), table.column(b)]
    n = len(table)
    rows = np.arange(n) if n <= MANY else np.random.default_rng(seed).integers(0, n, MANY)
    first, second = table.values(rows)[:, columns].T
    sizes = [table.factors[column].size for column in columns]
    return np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1]).reshape(sizes) / len(rows)


def joint_picture(table: Table, a: str, b: str, path: Path | str) -> Path:
    """Draws `joint` into a PNG file, the most frequent pair black."""
    from PIL import Image, ImageDraw

    frequencies = joint(table, a, b)
    down, across = (max(4, 320 // size) for size in frequencies.shape)
    grey = np.rint(255 * (1 - frequencies / frequencies.max())).astype(np.uint8)
    grid = grey.repeat(down, 0).repeat(across, 1)
    sheet = Image.new("L", (MARGIN + grid.shape[1] + 4, grid.shape[0] + 24), 255)
    sheet.paste(Image.fromarray(grid), (MARGIN, 2))
    draw = ImageDraw.Draw(sheet)
    draw.rectangle((MARGIN - 1, 1, MARGIN + grid.shape[1], grid.shape[0] + 2), outline=128)
    draw.text((4, grid.shape[0] // 2), f"{a} (down)", fill=0)
    draw.text((MARGIN, grid.shape[0] + 8), f"{b} (right)", fill=0)
    return _save(sheet, Path(path))


def _lines(table: Table, columns: int, rng: np.random.Generator) -> Iterator[tuple[str, Bytes]]:
    def random_rows(of: Table) -> Rows:
        return rng.integers(0, len(of), columns)

    for _ in range(2):
        yield "random rows", table.images(random_rows(table))
    if isinstance(table, Grid):
        for column, factor in enumerate(table.factors):
            shown = np.unique(np.linspace(0, factor.size - 1, columns).round())
            others = [
                (size // 2 + 2 * i) % size for i, size in enumerate(table.sizes)
            ]  # like factors get unlike values
            values = np.repeat([others], len(shown), 0)
            values[:, column] = shown
            yield f"{factor.name} ({factor.size})", table.render(values)
    if "Views" in table.gives:
        rows = random_rows(table)
        yield f"sharing {', '.join(table.shared)}:", table.images(rows)
        yield "  other views", table.images(table.partner(rows, rng))
    if table.background:
        yield "background", table.background.images(random_rows(table.background))
    if table.test:
        yield "test", table.test.images(random_rows(table.test))


def _save(sheet: object, path: Path) -> Path:
    from PIL import Image

    assert isinstance(sheet, Image.Image)
    if path.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise UserError(f"an image cannot be written to {path}: its name must end in .png")
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)
    return path
