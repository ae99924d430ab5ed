"""Pictures of the invariance experiment: pairs under swap, what each factor moves, both blocks on a plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.codes import Codes, read_codes
from unbraid.data.sets.rotation_colored_mnist import ANGLES
from unbraid.figures.pictures import new_figure
from unbraid.metrics.plane import tsne_plane
from unbraid.study.reproduce import Results
from unbraid.train.run import Run

SCALE, POINTS = 2, 1500
BLOCKS = ("p", "n")
SETS = {"colored_mnist": "Colored-MNIST", "rotation_colored_mnist": "Rotation-Colored-MNIST"}


def draw(results: Results, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures of the swap model's first seed, and gives captions and paths."""
    pictures = []
    first = {data: results.here.where(label="Swap", data=data)[:1] for data in SETS}
    for data, run in ((data, Run(result.path)) for data, found in first.items() for result in found):
        title = SETS[data]
        _swapped(run).save(folder / f"swapped_{data}.png")
        caption = f"{title} (figure 8), two rows each: pairs, drawn, after the swap, [random p, n], [p, random n]"
        pictures.append((caption, f"{folder.name}/swapped_{data}.png"))
        codes = read_codes(run)
        _moves(codes, folder / f"moves_{data}.png")
        caption = f"{title} (figures 6 and 7): change of each latent when one factor alone changes"
        pictures.append((caption, f"{folder.name}/moves_{data}.png"))
        factor = "angle" if data == "rotation_colored_mnist" else "background"
        _planes(codes, factor, folder / f"planes_{data}.png")
        caption = f"{title} (figure 5): t-SNE of p and n, by digit and by {factor}"
        pictures.append((caption, f"{folder.name}/planes_{data}.png"))
    return pictures


def _swapped(run: Run) -> Image.Image:
    rows = run.arrays("pictures.npz")["swapped"]  # [5, 2, n, c, h, w]
    kinds, both, n, channels, height, width = rows.shape
    sheet = rows.transpose(0, 1, 4, 2, 5, 3).reshape(kinds * both * height, n * width, channels)
    image = Image.fromarray(sheet if channels == 3 else sheet[..., 0])
    return image.resize((SCALE * image.width, SCALE * image.height), Image.Resampling.NEAREST)


def _moves(codes: Codes, path: Path) -> None:
    matrix = np.concatenate([codes.extra[f"moves_{block}"] for block in BLOCKS], 1)  # [factors, latents]
    latents = [f"{block}{i}" for block in BLOCKS for i in range(codes.blocks[block].width)]
    figure = new_figure(8, 1 + 0.4 * len(matrix))
    axis = figure.add_subplot()
    image = axis.imshow(matrix, cmap="Blues", vmin=0, aspect="auto")
    axis.set_xticks(range(len(latents)), latents, fontsize=8)
    axis.set_yticks(range(len(matrix)), codes.factor_names, fontsize=8)
    figure.colorbar(image, label="standard deviations")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _planes(codes: Codes, factor: str, path: Path) -> None:
    figure = new_figure(9, 8)
    for row, block in enumerate(BLOCKS):
        plane = tsne_plane(codes.blocks[block].codes[:POINTS].astype(np.float64), seed=0)
        for column, name in enumerate(("digit", factor)):
            _coloured(figure.add_subplot(2, 2, 2 * row + column + 1), plane, name, codes.factor(name)[: len(plane)])
            figure.axes[-1].set_title(f"{block} by {name}", fontsize=10)
    figure.savefig(path, dpi=90, metadata={"Software": None})


def _coloured(axis: Any, plane: NDArray[Any], name: str, values: NDArray[Any]) -> None:
    """Points [n, 2] on a plane, in colours of a factor's values."""
    for place, value in enumerate(np.unique(values)):
        label = f"{ANGLES[value]:+.0f}" if name == "angle" else str(value)
        axis.scatter(*plane[values == value].T, s=4, color=f"C{place}", label=label)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.legend(fontsize=7, markerscale=3, frameon=False)
