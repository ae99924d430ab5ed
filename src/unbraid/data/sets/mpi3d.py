"""MPI3D (Gondal et al., 2019) from its npz files: a robot arm's 1,036,800 images, rendered or photographed.

The factors of an image follow from its position. The variant `complex` has 460,800 images of everyday objects; the
length of a file determines its number of colours and shapes.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from unbraid.config import FilePath, Size
from unbraid.data.io.array_files import npz
from unbraid.data.io.image_files import resized
from unbraid.data.io.paths import single_file
from unbraid.data.split import hold_out, restrict
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError

FILES = {
    "toy": "mpi3d_toy.npz",
    "realistic": "mpi3d_realistic.npz",
    "real": "mpi3d_real.npz",
    "complex": "mpi3d_real_complex.npz",
}
NAMES = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)
KINDS = ("object_color", "object_shape", "background_color")


def _factors(sizes: tuple[int, ...]) -> tuple[Factor, ...]:
    return tuple(Factor(name, size, name not in KINDS) for name, size in zip(NAMES, sizes, strict=True))


class MPI3D(Grid):
    """The file is unpacked once into the cache folder (12.7 GB; 5.7 GB for complex), from where rows are read.

    Args:
        path: the npz file, or its folder; empty: the folder mpi3d in the data root
        variant: toy, realistic, real or complex
        size: height and width in pixels; the files have 64
        new_colours: train on the first half of the object colours, test on the others; pairs share the shape
    """

    name = "mpi3d"
    gives = ("Images", "Labelled", "Pairs", "Transitions")
    label = "object_shape"
    nuisances = ("object_color",)
    groups = ("object_color",)
    layouts = ((6, 6, 2, 3, 3, 40, 40), (4, 4, 2, 3, 3, 40, 40))
    factors = _factors(layouts[0])

    def __init__(
        self,
        *,
        path: FilePath = "",
        variant: Literal["toy", "realistic", "real", "complex"] = "toy",
        size: Size = 64,
        new_colours: bool = False,
    ) -> None:
        file = single_file(self.name, path, FILES[variant])
        stored = npz(file, "images")["images"]
        sizes = next((sizes for sizes in self.layouts if stored.shape[:1] == (math.prod(sizes),)), None)
        if sizes is None:
            lengths = " or ".join(f"{math.prod(sizes):,}" for sizes in self.layouts)
            raise UserError(f"{stored.where} has shape {stored.shape} instead of {lengths} images")
        self.factors = _factors(sizes)
        read = stored.expect((len(self), 64, 64, 3), "uint8").rows(f"{self.name}-{variant}")
        self.shape = (3, size, size)
        self._read = resized(lambda rows: read(rows).transpose(0, 3, 1, 2), len(self), (3, 64, 64), size)
        if new_colours:
            self.fixed, colours = ("object_shape",), self.sizes[0]
            restrict(self, hold_out(self, where={"object_color": range(colours // 2, colours)}))

    def render(self, values: Values) -> Bytes:
        return self._read(np.ravel_multi_index(tuple(values.T), self.sizes))
