"""Pictures of the invariance experiment: pairs under swap, what each factor moves, both blocks on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unbraid.data.sets.rotation_colored_mnist import ANGLES
from unbraid.train.run import Run

SCALE, POINTS = 2, 1500
SETS = {"colored_mnist": "Colored-MNIST", "rotation_colored_mnist": "Rotation-Colored-MNIST"}


def draw(found: Sequence[dict[str, Any]], out: Path) -> list[tuple[str, str]]:
    """Writes the pictures of the swap model's first seed beside the page, and gives captions and paths."""
    folder = out / "invariance"
    folder.mkdir(parents=True, exist_ok=True)
    swaps = sorted((r for r in found if r["label"] == "Swap" and r["data"] in SETS), key=lambda r: -int(r["seed"]))
    first = {r["data"]: Run(r["path"]) for r in swaps}
    pictures = []
    for data, run in first.items():
        _swapped(run).save(folder / f"swapped_{data}.png")
        caption = f"{SETS[data]} (figure 8), two rows each: pairs, drawn, after the swap, [random p, n], [p, random n]"
        pictures.append((caption, f"invariance/swapped_{data}.png"))
        _moves(run, folder / f"moves_{data}.png")
        caption = f"{SETS[data]} (figures 6 and 7): change of each latent when one factor alone changes"
        pictures.append((caption, f"invariance/moves_{data}.png"))
        factor = "angle" if data == "rotation_colored_mnist" else "background"
        _planes(run, factor, folder / f"planes_{data}.png")
        caption = f"{SETS[data]} (figure 5): t-SNE of p and n, by digit and by {factor}"
        pictures.append((caption, f"invariance/planes_{data}.png"))
    return pictures


def _swapped(run: Run) -> Image.Image:
    rows = run.arrays("pictures.npz")["swapped"]  # [5, 2, n, c, h, w]
    kinds, both, n, channels, height, width = rows.shape
    sheet = rows.transpose(0, 1, 4, 2, 5, 3).reshape(kinds * both * height, n * width, channels)
    image = Image.fromarray(sheet if channels == 3 else sheet[..., 0])
    return image.resize((SCALE * image.width, SCALE * image.height), Image.Resampling.NEAREST)


def _moves(run: Run, path: Path) -> None:
    from matplotlib.figure import Figure

    codes = run.arrays("codes.npz")
    matrix = np.concatenate([codes["moves_p"], codes["moves_n"]], 1)  # [factors, latents]
    latents = [f"{block}{i}" for block in ("p", "n") for i in range(codes[f"codes_{block}"].shape[1])]
    figure = Figure(figsize=(8, 1 + 0.4 * len(matrix)), layout="constrained")
    axis = figure.add_subplot()
    image = axis.imshow(matrix, cmap="Blues", vmin=0, aspect="auto")
    axis.set_xticks(range(len(latents)), latents, fontsize=8)
    axis.set_yticks(range(len(matrix)), [str(name) for name in codes["factor_names"]], fontsize=8)
    figure.colorbar(image, label="standard deviations")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _planes(run: Run, factor: str, path: Path) -> None:
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    codes = run.arrays("codes.npz")
    names = [str(name) for name in codes["factor_names"]]
    figure = Figure(figsize=(9, 8), layout="constrained")
    for row, block in enumerate(("p", "n")):
        z = codes[f"codes_{block}"][:POINTS].astype(np.float64)
        plane = TSNE(2, init="pca", random_state=0, n_jobs=1).fit_transform(z / max(z.std(0).max(), 1e-9))
        for column, name in enumerate(("digit", factor)):
            axis = figure.add_subplot(2, 2, 2 * row + column + 1)
            values = codes["factors"][: len(plane)][:, names.index(name)]
            for place, value in enumerate(np.unique(values)):
                label = f"{ANGLES[value]:+.0f}" if name == "angle" else str(value)
                axis.scatter(plane[values == value, 0], plane[values == value, 1], s=4, color=f"C{place}", label=label)
            axis.set_title(f"{block} by {name}", fontsize=10)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.legend(fontsize=7, markerscale=3, frameon=False)
    figure.savefig(path, dpi=90, metadata={"Software": None})
