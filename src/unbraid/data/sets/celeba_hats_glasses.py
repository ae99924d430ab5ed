"""Faces with hats or eyeglasses against faces with neither: a target and a background set from CelebA.

As used for contrastive disentanglement with a Wasserstein term (section 4): 5,000 faces with each, 10,000 with neither.
Faces with both are left out, so that each target row has one class.
"""

from __future__ import annotations

import numpy as np

from unbraid.config import Count, FilePath, Size
from unbraid.data.sets.celeba import CelebA
from unbraid.data.table import Factor
from unbraid.data.target_table import TargetTable, draw_rows


class CelebAHatsGlasses(TargetTable):
    """Target rows wear a hat (class 0) or eyeglasses (class 1).

    Args:
        path: folder of CelebA; empty: the folder celeba in the data root
        size: height and width of the images in pixels
        per_class: number of target rows of each class
        others: number of background rows
        draw: seed of the rows that are drawn
    """

    name = "celeba_hats_glasses"
    gives = ("Images", "Labelled", "TargetBackground")
    factors = (Factor("wears", 2),)
    label = "wears"

    def __init__(
        self, *, path: FilePath = "", size: Size = 64, per_class: Size = 5_000, others: Size = 10_000, draw: Count = 0
    ) -> None:
        faces = CelebA(path=path, split="all", size=size)
        values = faces.values(np.arange(len(faces)))
        hat, glasses = (values[:, faces.column(name)] == 1 for name in ("Wearing_Hat", "Eyeglasses"))
        rng = np.random.default_rng(draw)
        worn = [draw_rows(np.flatnonzero(one & ~two), per_class, rng) for one, two in ((hat, glasses), (glasses, hat))]
        labels = np.repeat(np.arange(2), [len(rows) for rows in worn])
        self.build_from(faces, np.concatenate(worn), labels, draw_rows(np.flatnonzero(~hat & ~glasses), others, rng))
