"""Pictures as text that a page can hold: SVG for charts, PNG data for images. Drawn with matplotlib and Pillow."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

INK, ACCENT = "#1f2933", "#2563a8"


def curves(rows: Sequence[dict[str, float]]) -> str:
    """One small chart for each loss term."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name != "step"]
    across = min(len(names), 3)
    figure = new_figure(3.4 * across, 2.1 * -(-len(names) // across))
    for place, name in enumerate(names, 1):
        axis = figure.add_subplot(-(-len(names) // across), across, place)
        points = [(row["step"], row[name]) for row in rows if name in row]
        steps, values = zip(*points, strict=True)
        axis.plot(steps, values, color=ACCENT, linewidth=1.2)
        axis.set_title(name, loc="left", fontsize=9, color=INK)
        late = np.array(values[len(values) // 10 :])
        if len(late) > 2 and np.ptp(late) > 0:  # the first steps would flatten all that follows
            axis.set_ylim(late.min() - 0.05 * np.ptp(late), late.max() + 0.05 * np.ptp(late))
        _plain(axis)
    return svg(figure)


def together(rows: Sequence[dict[str, float]], names: tuple[str, ...]) -> str:
    """Some loss terms in one chart, to see which gives way to which."""
    figure = new_figure(5.2, 2.8)
    axis = figure.add_subplot()
    for name, colour in zip(names, (ACCENT, "#c2571a", INK), strict=False):
        points = [(row["step"], row[name]) for row in rows if name in row]
        axis.plot(*zip(*points, strict=True), color=colour, linewidth=1.4, label=name)
    axis.set_xlabel("steps", fontsize=8)
    axis.legend(frameon=False, fontsize=8)
    _plain(axis)
    return svg(figure)


def heat_map(matrix: NDArray[Any], rows: list[str], columns: list[str], label: str) -> str:
    """A matrix with its values written in the cells."""
    figure = new_figure(1.6 + 0.85 * len(columns), 1.1 + 0.3 * len(rows))
    axis = figure.add_subplot()
    image = axis.imshow(matrix, cmap="Blues", vmin=0, aspect="auto")
    axis.set_xticks(range(len(columns)), columns, fontsize=8)
    axis.set_yticks(range(len(rows)), rows, fontsize=8)
    axis.tick_params(length=0)
    for (i, j), value in np.ndenumerate(matrix):
        dark = value > 0.6 * matrix.max()
        axis.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7, color="white" if dark else INK)
    figure.colorbar(image, label=label).outline.set_visible(False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return svg(figure)


def scatter(groups: dict[str, NDArray[Any]]) -> str:
    """Points [n, 2] of each group in a colour of its own, the first group in grey."""
    import matplotlib

    figure = new_figure(6.0, 4.2)
    axis = figure.add_subplot()
    colours = matplotlib.colormaps["tab10" if len(groups) <= 11 else "tab20"]
    for place, (name, points) in enumerate(groups.items()):
        colour = "#c3cad1" if place == 0 else colours((place - 1) % colours.N)
        axis.scatter(points[:, 0], points[:, 1], s=3, color=colour, label=name, rasterized=True)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7, markerscale=3, frameon=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return svg(figure)


def strip(images: NDArray[np.uint8], gap: int = 2) -> str:
    """Images [n, c, h, w] side by side, as a data address."""
    return "data:image/png;base64," + base64.b64encode(_png(_side_by_side(images, gap))).decode()


def sheet(rows: list[tuple[str, NDArray[np.uint8]]], *, height: int = 96, margin: int = 170) -> bytes:
    """Labelled rows of images, one below the other, as a PNG file."""
    font = ImageFont.load_default(15)
    strips = []
    for _, images in rows:
        picture = _side_by_side(images, 2)
        scale = height / picture.height
        strips.append(picture.resize((round(picture.width * scale), height), Image.Resampling.NEAREST).convert("RGB"))
    page = Image.new("RGB", (margin + max(s.width for s in strips), len(rows) * (height + 8)), "white")
    for place, ((label, _), picture) in enumerate(zip(rows, strips, strict=True)):
        page.paste(picture, (margin, place * (height + 8)))
        ImageDraw.Draw(page).multiline_text((4, place * (height + 8) + 20), label, fill=INK, font=font)
    return _png(page)


def _side_by_side(images: NDArray[np.uint8], gap: int) -> Image.Image:
    n, channels, height, width = images.shape
    canvas = np.full((height, n * (width + gap) - gap, channels), 255, np.uint8)
    for i, image in enumerate(images):
        canvas[:, i * (width + gap) : i * (width + gap) + width] = image.transpose(1, 2, 0)
    return Image.fromarray(canvas if channels == 3 else canvas[..., 0])


def _png(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def new_figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _plain(axis: Any) -> None:
    axis.tick_params(labelsize=7, colors=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def svg(figure: Any) -> str:
    """A figure as text."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "unbraid"}):
        nothing = dict.fromkeys(["Date", "Creator", "Format", "Type"])
        figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return text.getvalue()[text.getvalue().index("<svg") :]
