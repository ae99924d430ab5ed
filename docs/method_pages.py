"""Runs the command of each page of a method, and keeps in the page its scores and a picture.

python -m docs.method_pages [NAME ...] [--out FOLDER]        (all methods; `make method-pages`)

A page has one command in its section "What to expect", and below it a line that names the scores to show:

    <!-- scores mig dci dci.completeness -->

The table of these scores stands after that line. A name after a dot is a part of a score, which has no interval. The
picture is `pictures/NAME.png`; until there is one, it stands in the page as a comment that begins with "not run yet". A
run that is there already is not made again, so that the command can be stopped and given again. Runs use one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
from docs.run_pages import ROOT, blocks
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from unbraid.cli import main as unbraid
from unbraid.codes import Block, Codes, read_codes
from unbraid.problems.latents import DEAD
from unbraid.train.run import Run

PAGES = ROOT / "docs" / "methods"
SCORES = re.compile(r"<!-- scores (?P<names>[\w. ]+) -->\n(?:\n(?:\|.*\n)+)?")
NOT_RUN = re.compile(r"<!-- not run yet\n(.*?)\n-->", re.DOTALL)
INK = (128, 128, 128, 255)  # is seen on white and on black
SIDE, GAP, MARGIN = 40, 2, 118  # pixels: an image, between images, for the labels
ROWS, COLUMNS = 6, 8  # of images, at most
COLOURS = 192
POINTS = 1500  # in a plane of codes


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="methods; all of them unless given")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "methods", help="folder of the runs")
    given = parser.parse_args()
    for name in given.names or [page.stem for page in sorted(PAGES.glob("*.md")) if page.stem != "README"]:
        page = PAGES / f"{name}.md"
        run = finished_run(command(page.read_text()), given.out / name)
        (PAGES / "pictures" / f"{name}.png").write_bytes(picture(run))
        page.write_text(with_scores(NOT_RUN.sub(r"\1", page.read_text()), run.scores()))
        print(f"{page.name}: {run.path}")


def command(text: str) -> str:
    """The command of a page, on one line."""
    (found,) = [block.code for block in blocks(text) if block.code.startswith("unbraid run")]
    return " ".join(found.replace("\\\n", " ").split())


def finished_run(line: str, folder: Path) -> Run:
    """The run of a command, which is made where it is missing; the report is the last file of a run."""
    out = folder / hashlib.sha256(line.encode()).hexdigest()[:8]
    if not list(out.glob("*/report.html")):
        code = unbraid([*shlex.split(line)[1:], "--threads", "1", "--quiet", "--out", str(out)])
        if code:
            raise RuntimeError(f"'{line}' ends with code {code}")
    (report,) = out.glob("*/report.html")
    return Run(report.parent)


def with_scores(text: str, scores: dict[str, Any]) -> str:
    """The page with a new table of scores."""

    def table(found: re.Match[str]) -> str:
        lines = ["| score | value | 95 % interval | by chance |", "|---|---:|---:|---:|"]
        lines += [_row(name, scores) for name in found["names"].split()]
        return f"<!-- scores {found['names']} -->\n\n" + "".join(f"{line}\n" for line in lines)

    return SCORES.sub(table, text)


def _row(name: str, scores: dict[str, Any]) -> str:
    whole, *parts = name.split(".")
    value: Any = scores[whole]
    if parts:
        value = value["parts"]
        for part in parts:
            value = value[int(part) if isinstance(value, list) else part]
        return f"| {whole}: {' '.join(parts).replace('_', ' ')} | {value:.2f} | – | – |"
    interval = "–" if value["low"] is None else f"{value['low']:.2f} to {value['high']:.2f}"
    chance = "–" if value["null"] is None else f"{value['null']:.2f}"
    return f"| {name} | {value['value']:.2f} | {interval} | {chance} |"


def picture(run: Run) -> bytes:
    """What a run shows best: a target taken apart, swapped pairs, traversals, or the codes on a plane."""
    codes = read_codes(run)
    drawn = run.arrays("pictures.npz") if (run.path / "pictures.npz").exists() else {}
    if "apart" in drawn:
        names = ["target", "from [z, s]", "from [z, 0]", "from [0, s]"]
        rows = list(zip(names, [drawn["originals"], *drawn["apart"]], strict=True))
    elif "swapped" in drawn:
        names = ["pairs", "drawn", "shared swapped", "random p", "random n"]
        beside = [pair.swapaxes(0, 1).reshape(-1, *pair.shape[2:]) for pair in drawn["swapped"]]
        rows = list(zip(names, beside, strict=True))
    elif any(name.startswith("traversals_") for name in drawn):
        rows = traversals(codes, drawn)
    else:
        return plane(codes)
    return sheet(rows)


def traversals(codes: Codes, drawn: dict[str, NDArray[Any]]) -> list[tuple[str, NDArray[Any]]]:
    """The features that carry most, without those that carry nothing, and the factor that explains most of each."""
    found = []
    for name, block in codes.blocks.items():
        for unit, images in enumerate(drawn.get(f"traversals_{name}", ())):
            found.append((block.carried[unit], f"{name}{unit}", of_unit(block, unit), images))
    used = sorted((feature for feature in found if feature[0] > DEAD), key=lambda feature: -feature[0])
    return [(f"{name}: {told(latents, codes)}", images) for _, name, latents, images in used[:ROWS]]


def of_unit(block: Block, unit: int) -> NDArray[Any]:
    return block.codes[:, [unit] if block.units is None else block.units == unit]


def told(latents: NDArray[Any], codes: Codes) -> str:
    """The factor that explains the largest share of the variance of these latents, and that share."""
    shares = [explained(latents, values) for values in codes.factors.T]
    best = int(np.argmax(shares))
    return f"{codes.factor_names[best].replace('_', ' ')} {shares[best]:.2f}"


def explained(latents: NDArray[Any], values: NDArray[Any]) -> float:
    """Variance between the groups of equal values, as a share of all."""
    means = np.stack([latents[values == value].mean(0) for value in np.unique(values)])
    sizes = np.unique(values, return_counts=True)[1]
    between = (sizes[:, None] * (means - latents.mean(0)) ** 2).sum() / len(latents)
    return float(between / max(latents.var(0).sum(), 1e-12))


def sheet(rows: list[tuple[str, NDArray[Any]]]) -> bytes:
    """Labelled rows of images [n, c, h, w] as a small PNG that one can see through."""
    font = ImageFont.load_default(13)
    step = SIDE + GAP
    count = min(COLUMNS, max(len(images) for _, images in rows))
    page = Image.new("RGBA", (MARGIN + count * step, len(rows) * step))
    for place, (label, images) in enumerate(rows):
        lines = label.replace(": ", "\n") if len(label) > 15 else label
        ImageDraw.Draw(page).multiline_text((0, place * step + 4), lines, fill=INK, font=font)
        for column, image in enumerate(_spread(images, count)):
            small = Image.fromarray(image.transpose(1, 2, 0).squeeze()).convert("RGBA")
            page.paste(small.resize((SIDE, SIDE), Image.Resampling.BICUBIC), (MARGIN + column * step, place * step))
    return _png(page)


def _spread(images: NDArray[Any], count: int) -> NDArray[Any]:
    """As many images as there is room for, the first and the last among them."""
    shown: NDArray[Any] = images[np.linspace(0, len(images) - 1, min(count, len(images))).round().astype(int)]
    return shown


def plane(codes: Codes) -> bytes:
    """The two principal components of each block, by class or by each factor that views share."""
    from matplotlib.figure import Figure

    names = codes.shared or (codes.label,)
    shown = list(codes.blocks)[-2:] if codes.shared else list(codes.blocks)[:2]
    figure = Figure(figsize=(2.6 * len(shown), 2.6 * len(names)), layout="constrained")
    for row, name in enumerate(names):
        for column, block in enumerate(shown):
            axes = figure.add_subplot(len(names), len(shown), row * len(shown) + column + 1)
            points = codes.blocks[block].codes[:POINTS].astype(np.float64)
            x, y = np.linalg.svd(points - points.mean(0), full_matrices=False)[2][:2] @ points.T
            axes.scatter(x, y, c=codes.factor(name)[:POINTS], s=4, cmap="tab10", linewidths=0)
            axes.set_title(f"{block} by {name}", color="grey", fontsize=10)
            axes.set_axis_off()
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100, transparent=True)
    return _png(Image.open(buffer).convert("RGBA"))


def _png(page: Image.Image) -> bytes:
    buffer = io.BytesIO()
    page.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
