"""Pictures of the intervention experiment: importances (figure 4a), traversals (4b), nearest neighbours (figure 5)."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unbraid.codes import read_codes
from unbraid.encode import images, to_bytes
from unbraid.figures.pictures import sheet
from unbraid.problems.plain import stops
from unbraid.study.reproduce import Results
from unbraid.train.load import load_data, load_method
from unbraid.train.run import Run, write

from .scores import runs

QUANTILES = (0.1, 0.9)
MOVED = "from its 10 % to its 90 % quantile"
LABELS = ("intervention", "FactorVAE 40")


def draw(r: Results, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures into a folder beside the page, of the runs with the best DCI and of flowers.

    Gives captions and paths.
    """
    pictures: list[tuple[str, str]] = []

    def keep(name: str, caption: str, png: bytes) -> None:
        write(folder / f"{name}.png", png)
        pictures.append((caption, f"{folder.name}/{name}.png"))

    def look_at(run: Path, name: str, about: str) -> None:
        keep(f"traversals_{name}", f"{about}: originals, reconstructions, and each feature {MOVED}", traversals(run))
        if "retrieval" in (arrays := Run(run).arrays("pictures.npz")):
            keep(f"neighbours_{name}", f"{about}: images, and their nearest ones in each feature", neighbours(arrays))

    for data in ("shapes3d", "cmnist"):
        for label in LABELS:
            if found := runs(r.here, data, label, True):
                best = max(found, key=lambda run: run.scores["dci"]["value"] or 0.0)
                name = f"{label.lower().replace(' ', '_')}_{data}"
                about = f"{label}, {data}, correlated, seed {best.seed}"
                heat = importances(best.scores["dci"])
                keep(f"importance_{name}", f"{about}: importance of features for factors", heat)
                look_at(best.path, name, about)
    for flowers in r.here.where(label="flowers"):
        look_at(flowers.path, "flowers", "photographs of flowers")
    return pictures


def neighbours(arrays: dict[str, Any]) -> bytes:
    """A row for each feature: images, each followed by its nearest neighbours and a gap, as a PNG file."""
    queries = arrays["retrieval_queries"]
    gap = np.full_like(queries[:1], 255)
    rows = []
    for name, found in zip(arrays["retrieval_spaces"], arrays["retrieval"], strict=True):
        groups = [np.concatenate([query[None], near, gap]) for query, near in zip(queries, found, strict=True)]
        rows.append((str(name), np.concatenate(groups)[:-1]))
    return sheet(rows, height=64, margin=130)


@torch.no_grad()
def traversals(path: Path) -> bytes:
    """Originals, reconstructions, and each feature of the first image moved, one below the other, as a PNG file."""
    run, method = Run(path), load_method(path)
    data = load_data(run.plan.data, **run.plan.data_arguments)
    known = read_codes(run)
    block, of = known.first, known.blocks[known.first]
    units = np.arange(of.width) if of.units is None else of.units
    x = images(method, data.test or data, known.rows[:9])
    code = method.encode(x)
    rows = [("originals", to_bytes(x)), ("reconstructions", _drawn(method, code))]
    for unit in np.unique(units):
        columns = np.flatnonzero(units == unit)
        points = torch.as_tensor(stops(of.codes[:, columns], QUANTILES)).to(code[block])
        moved = {name: value[:1].repeat(len(points), 1) for name, value in code.items()}
        moved[block][:, columns] = points
        rows.append((f"{block}{unit}", _drawn(method, moved)))
    return sheet(rows, height=64, margin=130)


def _drawn(method: Any, code: dict[str, torch.Tensor]) -> Any:
    picture = method.decode(code)
    assert picture is not None
    return to_bytes(picture)


def importances(dci: dict[str, Any]) -> bytes:
    """DCI's matrix as a heat map, a PNG file."""
    from matplotlib.figure import Figure

    matrix, factors = np.array(dci["parts"]["importance"]), dci["params"]["factors"]
    figure = Figure(figsize=(1.6 + 0.8 * len(factors), 1.2 + 0.25 * len(matrix)), layout="constrained")
    axis = figure.add_subplot()
    image = axis.imshow(matrix, cmap="Blues", vmin=0, aspect="auto")
    axis.set_xticks(range(len(factors)), factors, fontsize=7)
    axis.set_yticks(range(len(matrix)), [f"z{i}" for i in range(len(matrix))], fontsize=7)
    figure.colorbar(image).ax.tick_params(labelsize=7)
    png = BytesIO()
    figure.savefig(png, dpi=110, bbox_inches="tight", metadata={"Software": None})
    return png.getvalue()
