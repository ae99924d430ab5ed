"""Pictures of the contrastive experiment: targets taken apart (Figure 5) and W2 over training (Figure 6)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image

from unbraid.figures.pictures import new_figure
from unbraid.study.reproduce import Results
from unbraid.train import history
from unbraid.train.run import Run

SCALE = 2
LABELS = ("Eq. 8", "Eq. 8 on samples", "Eq. 7", "cVAE", "sRbVAE")
SMOOTH = "Eq. 8, smooth grass"
CURVES = "W2 between common codes over training, L-MNIST: of means for Eq. 8, which lowers that; else of samples"


def draw(results: Results, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures of the first seed and gives captions and paths."""
    seed = results[0].seed
    first = {(r.label, r.arguments.get("combine", "photographs")): r.path for r in results.here.where(seed=seed)}
    pictures = []
    for (label, data), path in first.items():
        if label in (*LABELS, SMOOTH):
            name = re.sub(r"\W+", "_", f"apart {label} {data}".lower()) + ".png"
            _sheet(path).save(folder / name)
            caption = f"{label}, {data}, seed {seed}: targets, then [z, s], [z, 0] and [0, s] decoded"
            pictures.append((caption, f"{folder.name}/{name}"))
    curves = {label: first[label, "linear"] for label in LABELS if (label, "linear") in first}
    _w2(curves, folder / "w2.png")
    return [*pictures, (CURVES, f"{folder.name}/w2.png")]


def _sheet(path: Path) -> Image.Image:
    pictures = Run(path).arrays("pictures.npz")
    rows = np.concatenate([pictures["originals"][None], pictures["apart"]])  # [4, n, c, h, w]
    n, m, channels, height, width = rows.shape
    sheet = rows.transpose(0, 3, 1, 4, 2).reshape(n * height, m * width, channels)
    image = Image.fromarray(sheet if channels == 3 else sheet[..., 0])
    return image.resize((SCALE * image.width, SCALE * image.height), Image.Resampling.NEAREST)


def _w2(runs: dict[str, Path], path: Path) -> None:
    figure = new_figure(6, 3.2)
    axis = figure.add_subplot()
    for label, run in runs.items():
        points = [(row["step"], row["w2"]) for row in history.read(run / "history.csv") if "w2" in row]
        axis.plot(*zip(*points, strict=True), label=f"{label}: of means" if label == "Eq. 8" else label, linewidth=1.2)
    axis.set_xlabel("steps")
    axis.set_ylabel("squared W2 in a batch")
    axis.legend(frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
