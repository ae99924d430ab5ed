"""The parts that pages are made of, as plain records; the templates of `reports` write them as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.pictures import GAP, strip

NUMBER = re.compile(r"[-+]?[\d.,]+( ?%| ?[a-z]{1,4})?( \(.*\))?")


@dataclass(frozen=True)
class Part:
    """Something on a page; `kind` names the macro that writes it."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Note(Part):
    """Some sentences."""

    kind = "note"
    text: str


@dataclass(frozen=True)
class Cell:
    """What stands in a table, where it is more than a word."""

    text: str
    bold: bool = False
    link: str = ""
    more: str = ""  # in small letters below it
    mark: str = ""  # good or bad

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Table(Part):
    """Rows that a reader can sort by any column."""

    kind = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    prose: bool = False  # the last column is text, which has a line of its own where there is little room

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers alone."""
        cells = zip(*self.rows, strict=True)
        return [all(NUMBER.fullmatch(str(cell)) for cell in column if str(cell)) for column in cells]


@dataclass(frozen=True)
class Strip:
    """Images side by side, or several such rows, with a label."""

    label: Sequence[str]  # the first line is its name
    alt: str
    sources: Sequence[str]
    frames: int
    size: float  # the width of a row in images

    @classmethod
    def of(cls, label: Sequence[str] | str, *rows: NDArray[Any], alt: str = "") -> Strip:
        """Rows of images [n, c, h, w]."""
        lines = [label] if isinstance(label, str) else label
        n, width = len(rows[0]), rows[0].shape[-1]
        return cls(lines, alt or lines[0], [strip(row) for row in rows], n, (n * (width + GAP) - GAP) / width)


@dataclass(frozen=True)
class Strips(Part):
    """Labelled rows of images."""

    kind = "strips"
    rows: Sequence[Strip]
    beside: bool = False  # the rows of one label beside each other, not below
    sweep: bool = False  # each row is a movement: a slider goes through its images
    small: bool = False


@dataclass(frozen=True)
class HeatMap(Part):
    """A matrix with its values written in the cells; one of correlations has two colours."""

    kind = "heat_map"
    matrix: NDArray[Any]  # [rows, columns]; NaN is left empty
    rows: Sequence[str]
    columns: Sequence[str]
    label: str  # what the values are
    title: str = ""
    digits: int = 2
    factor: float = 1.0  # values are written times this
    full: float | None = None  # the value of the strongest colour; the largest unless given

    def shares(self) -> list[list[float | None]]:
        """Of each cell, how strong its colour is, from -1 to 1."""
        finite = np.abs(self.matrix[np.isfinite(self.matrix)])
        most = self.full or (float(finite.max()) if finite.size and finite.max() > 0 else 1.0)
        return [[round(float(v) / most, 2) if np.isfinite(v) else None for v in row] for row in self.matrix]


@dataclass(frozen=True)
class Axis:
    """Where numbers lie along an axis, in per cent."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]  # place in per cent, and label
    log: bool = False
    label: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a chart, or a band, or dots."""

    name: str
    colour: int
    path: str  # of an SVG path in per cent
    band: str = ""  # the same around its interval
    values: Sequence[float | None] = ()  # at the places of the chart, for its cursor


@dataclass(frozen=True)
class Chart(Part):
    """Lines over two axes, with a cursor that shows their values."""

    kind = "chart"
    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    places: Sequence[tuple[float, str]] = ()  # of the cursor: per cent, and label
    note: str = ""
    dots: bool = False


@dataclass(frozen=True)
class Charts(Part):
    """Charts beside each other, as many as there is room for."""

    kind = "charts"
    charts: Sequence[Part]


@dataclass(frozen=True)
class Scatter(Part):
    """Points on a plane in the colours of their groups; the group 'rest' is grey."""

    kind = "scatter"
    title: str
    groups: Sequence[tuple[str, str]]  # name, and SVG path of its points
    rest: str = ""  # the name of a group in grey


@dataclass(frozen=True)
class SpreadRow:
    label: str
    colour: int
    dots: Sequence[float]  # in per cent
    low: float  # 10 %, median and 90 %
    middle: float
    high: float
    violin: str = ""
    count: int = 0


@dataclass(frozen=True)
class Spread(Part):
    """How values are spread: a row for each group, a dot for each run."""

    kind = "spread"
    title: str
    axis: Axis
    rows: Sequence[SpreadRow]


@dataclass(frozen=True)
class Folded(Part):
    """Parts that are shown when they are asked for."""

    kind = "folded"
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Code(Part):
    """Words to be typed."""

    kind = "code"
    text: str

    @property
    def words(self) -> list[str]:
        """What is not to be torn apart: an option and its value."""
        return re.split(r" (?=--)", self.text)


@dataclass(frozen=True)
class Section:
    """Parts under a heading; `name` stands in the table of contents."""

    title: str
    parts: Sequence[Part] = field(default_factory=tuple)
    name: str = ""
    half: bool = False  # it may stand beside another one

    @property
    def anchor(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", (self.name or self.title).lower()).strip("-")
