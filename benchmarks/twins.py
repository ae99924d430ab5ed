"""Draws the pictures of docs/data.md: rendered sets beside the published frames, and sheets of the composed sets.

Run as `python benchmarks/twins.py FRAMES` with the folder of the published frames, and with UNBRAID_DATA set to a
data root that has mnist, cifar10 and grass.png.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from unbraid.data.sets.cmnist import CMNIST
from unbraid.data.sets.color_dsprites import ColorDSprites
from unbraid.data.sets.colored_mnist import ColoredMNIST
from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.grassy_mnist import GrassyMNIST
from unbraid.data.sets.mnist_stl10 import MNISTSTL10
from unbraid.data.sets.rotation_colored_mnist import RotationColoredMNIST
from unbraid.data.sets.scream_dsprites import ScreamDSprites
from unbraid.data.sets.shapes3d import Shapes3D
from unbraid.data.table import Grid, Table
from unbraid.figures.data_sheet import contact_sheet, joint_picture

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


def published(folder: Path, table: Grid) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Factors [n, k] and pictures [n, 64, 64, 3] of the frames in the authors' notebooks."""
    with (folder / "notebook_labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    values = np.array([[int(row[factor.name]) for factor in table.factors] for row in rows])
    return values, np.stack([np.array(Image.open(folder / row["file"]).convert("RGB")) for row in rows])


def side_by_side(folder: Path, table: Grid, path: Path, *, columns: int = 4, lines: int = 4) -> float:
    """Saves the picture and gives the mean absolute error of all frames, of 255, without the outermost pixels."""
    values, real = published(folder, table)
    rendered = np.broadcast_to(table.render(values).transpose(0, 2, 3, 1), real.shape)
    difference = np.abs(real.astype(int) - rendered).astype(np.uint8)
    cells = np.concatenate([real, rendered, difference], 2)  # [n, 64, 192, 3]
    cells = np.pad(cells, ((0, 0), (2, 2), (2, 10), (0, 0)), constant_values=255)
    sheet = np.concatenate([np.concatenate(list(cells[i * columns : (i + 1) * columns]), 1) for i in range(lines)])
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(sheet).save(path, optimize=True)
    return float(difference[:, 1:-1, 1:-1].mean())


def sheets() -> dict[str, Table]:
    """The sets of which contact sheets are drawn."""
    return {
        "color_dsprites": ColorDSprites(),
        "scream_dsprites": ScreamDSprites(size=32),
        "shapes3d": Shapes3D(),
        "mnist_stl10": MNISTSTL10(backgrounds="cifar10", size=32, brightness=0.7),
        "colored_mnist": ColoredMNIST(),
        "rotation_colored_mnist": RotationColoredMNIST(),
        "cmnist": CMNIST(correlated=0.2),
        "grassy_mnist_linear": GrassyMNIST(),
        "grassy_mnist_nonlinear": GrassyMNIST(combine="nonlinear"),
    }


if __name__ == "__main__":
    frames = Path(sys.argv[1])
    for name, table in (("dsprites", DSprites()), ("shapes3d", Shapes3D())):
        folder = frames / {"shapes3d": "3dshapes"}.get(name, name)
        error = side_by_side(folder, table, PICTURES / f"{name}_twin.png")
        print(f"{name}: mean absolute error {error:.3f} of 255")
    for name, sheet in sheets().items():
        contact_sheet(sheet, PICTURES / f"{name}.png")
    joint_picture(DSprites(correlated=0.2), "posX", "scale", PICTURES / "dsprites_joint.png")
    joint_picture(CMNIST(correlated=0.2), "colour", "digit", PICTURES / "cmnist_joint.png")
