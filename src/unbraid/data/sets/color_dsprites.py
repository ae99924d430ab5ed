"""dSprites in colour: each sprite has a random colour, which is not among the factors.

Locatello et al., 2019 (section 5 of the study): the sprite times a colour drawn from [0.5, 1]^3.
Differs from the study: a picture's colour is drawn once, not anew each time that the picture is seen.
"""

from __future__ import annotations

import numpy as np

from unbraid.config import Count
from unbraid.data.compose.row_noise import uniform
from unbraid.data.sets.dsprites import FACTORS, fitting, sprites
from unbraid.data.table import Bytes, Grid, Values


class ColorDSprites(Grid):
    """Coloured sprites on black.

    Args:
        size: height and width of the pictures in pixels
        draw: seed of the colours
    """

    name = "color_dsprites"
    gives = ("Images", "Pairs")
    factors = FACTORS

    def __init__(self, *, size: int = 64, draw: Count = 0) -> None:
        self.shape = (3, fitting(size), size)
        self.draw = draw

    def render(self, values: Values) -> Bytes:
        colour = 0.5 + 0.5 * uniform(self.number(values), self.draw, 3)  # [n, 3]
        picture = colour[:, :, None, None] * sprites(values, self.shape[1])[:, None].astype(np.float32)
        pixels: Bytes = np.rint(picture, out=picture).astype(np.uint8)
        return pixels
