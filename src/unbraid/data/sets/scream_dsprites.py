"""dSprites on an image: a random piece of it, tinted at random, with its colours inverted where the sprite is.

Locatello et al., 2019 (section 5 of the study) cut the pieces from Munch's "The Scream". Here you give the image, or
else a photograph from scikit-learn is used. Differs from the study: the piece and its tint are drawn once for each
image, not each time it is seen.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from unbraid.config import AtLeast, Count, FilePath
from unbraid.data.compose.row_noise import uniform
from unbraid.data.compose.sprites import FACTORS, sprites
from unbraid.data.compose.texture import colour_picture, cut_squares, sklearn_photograph
from unbraid.data.table import Bytes, Grid, Values

BOX = (350, 274)  # the study shrinks the image into this box before it cuts pieces of 64 x 64


class ScreamDSprites(Grid):
    """Sprites as negatives of a tinted piece of an image.

    Args:
        size: height and width of the images in pixels
        picture: file with the image from which backgrounds are cut; empty: a photograph of a Chinese temple
        draw: seed of the pieces and tints
    """

    name = "scream_dsprites"
    gives = ("Images", "Pairs", "Transitions")
    factors = FACTORS

    def __init__(self, *, size: Annotated[int, AtLeast(8)] = 64, picture: FilePath = "", draw: Count = 0) -> None:
        self.shape = (3, size, size)
        self.draw = draw
        width, height = (side * size // 64 for side in BOX)
        self.picture = colour_picture(
            picture or sklearn_photograph("china.jpg"), within=(width, height), least=size
        )  # [3, h, w]

    def render(self, values: Values) -> Bytes:
        numbers = uniform(self.number(values), self.draw, 5)
        size = self.shape[1]
        cut, inside = cut_squares(self.picture, numbers[:, :2], size), sprites(values, size) / np.float32(255)
        tint = 255 * numbers[:, 2:, None, None]
        for i in range(len(cut)):  # one at a time, which fits the processor's cache
            background = (cut[i] + tint[i]) / 2  # [3, size, size]
            cut[i] = np.rint(background + inside[i] * (255 - 2 * background))
        return cut
