"""dSprites in colour: each sprite has a random colour, which is not among the factors.

Locatello et al., 2019 (section 5 of the study): the sprite times a colour drawn from [0.5, 1]^3.
Differs from the study: the colour of an image is drawn once, not each time the image is seen.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from unbraid.config import AtLeast, Count
from unbraid.data.compose.row_noise import uniform
from unbraid.data.compose.sprites import FACTORS, sprites
from unbraid.data.table import Bytes, Grid, Values


class ColorDSprites(Grid):
    """Coloured sprites on black.

    Args:
        size: height and width of the images in pixels
        draw: seed of the colours
    """

    name = "color_dsprites"
    gives = ("Images", "Pairs", "Transitions")
    factors = FACTORS

    def __init__(self, *, size: Annotated[int, AtLeast(8)] = 64, draw: Count = 0) -> None:
        self.shape = (3, size, size)
        self.draw = draw

    def render(self, values: Values) -> Bytes:
        colour = 0.5 + 0.5 * uniform(self.number(values), self.draw, 3)  # [n, 3]
        picture = colour[:, :, None, None] * sprites(values, self.shape[1])[:, None].astype(np.float32)
        pixels: Bytes = np.rint(picture, out=picture).astype(np.uint8)
        return pixels
