"""Pictures of the contrastive experiment: targets taken apart (Figure 5) and W2 over training (Figure 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unbraid.train import history
from unbraid.train.run import Run

SCALE = 2
LABELS = ("Eq. 8", "Eq. 7", "cVAE", "sRbVAE")
LEAN = "Eq. 8, 4/12"


def draw(found: Sequence[dict[str, Any]], out: Path) -> list[tuple[str, str]]:
    """Writes the pictures beside the page and gives captions and paths."""
    folder = out / "contrastive"
    folder.mkdir(parents=True, exist_ok=True)
    first = {(r["label"], r["data"]): Path(r["path"]) for r in found if r["seed"] == 0}
    pictures = []
    for (label, data), path in first.items():
        if label in (*LABELS, LEAN):
            name = re.sub(r"\W+", "_", f"apart {label} {data}".lower()) + ".png"
            _sheet(path).save(folder / name)
            caption = f"{label}, {data}, seed 0: targets, then [z, s], [z, 0] and [0, s] decoded"
            pictures.append((caption, f"contrastive/{name}"))
    curves = {label: first[label, "linear"] for label in LABELS if (label, "linear") in first}
    _w2(curves, folder / "w2.png")
    return [*pictures, ("W2 between the common codes of a batch over training, L-MNIST", "contrastive/w2.png")]


def _sheet(path: Path) -> Image.Image:
    pictures = Run(path).arrays("pictures.npz")
    rows = np.concatenate([pictures["originals"][None], pictures["apart"]])  # [4, n, c, h, w]
    n, m, channels, height, width = rows.shape
    sheet = rows.transpose(0, 3, 1, 4, 2).reshape(n * height, m * width, channels)
    image = Image.fromarray(sheet if channels == 3 else sheet[..., 0])
    return image.resize((SCALE * image.width, SCALE * image.height), Image.Resampling.NEAREST)


def _w2(runs: dict[str, Path], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axis = figure.add_subplot()
    for label, run in runs.items():
        points = [(row["step"], row["w2"]) for row in history.read(run / "history.csv") if "w2" in row]
        axis.plot(*zip(*points, strict=True), label=label, linewidth=1.2)
    axis.set_xlabel("steps")
    axis.set_ylabel("squared W2, batch of 128")
    axis.legend(frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
