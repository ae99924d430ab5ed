"""Faces with one of seven emotions against neutral faces: a target and a background set from AffectNet.

As used for contrastive disentanglement with a Wasserstein term (section 4), at 96 x 96.
"""

from __future__ import annotations

import numpy as np

from unbraid.config import FilePath, Size
from unbraid.data.sets.affectnet import AffectNet
from unbraid.data.table import Factor
from unbraid.data.target_table import TargetTable


class AffectNetEmotions(TargetTable):
    """Target rows are happy, sad, surprised, afraid, disgusted, angry or contemptuous, in this order.

    Args:
        path: folder of AffectNet; empty: the folder affectnet in the data root
        size: height and width of the images in pixels
    """

    name = "affectnet_emotions"
    gives = ("Images", "Labelled", "TargetBackground")
    factors = (Factor("emotion", 7),)
    label = "emotion"

    def __init__(self, *, path: FilePath = "", size: Size = 96) -> None:
        faces = AffectNet(path=path, size=size)
        self._split(faces)
        assert isinstance(faces.test, AffectNet)
        self.test = self.copy()
        self.test._split(faces.test)

    def _split(self, faces: AffectNet) -> None:
        emotional = np.flatnonzero(faces.labels > 0)
        self.build_from(faces, emotional, faces.labels[emotional] - 1, np.flatnonzero(faces.labels == 0))
