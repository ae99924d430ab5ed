"""dSprites on noise: white sprites, and a random colour for each pixel of the background.

Locatello et al., 2019 (section 5 of the study): the sprite plus noise from [0, 1] for each pixel and channel, clipped
at 1, which leaves the sprite plain white. Differs from the study: the noise of an image is drawn once, not each time
the image is seen.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from unbraid.config import AtLeast, Count
from unbraid.data.compose.row_noise import uniform_bytes
from unbraid.data.compose.sprites import FACTORS, sprites
from unbraid.data.table import Bytes, Grid, Values


class NoisyDSprites(Grid):
    """White sprites on coloured noise.

    Args:
        size: height and width of the images in pixels
        draw: seed of the noise
    """

    name = "noisy_dsprites"
    gives = ("Images", "Pairs", "Transitions")
    factors = FACTORS

    def __init__(self, *, size: Annotated[int, AtLeast(8)] = 64, draw: Count = 0) -> None:
        self.shape = (3, size, size)
        self.draw = draw

    def render(self, values: Values) -> Bytes:
        noise = uniform_bytes(self.number(values), self.draw, math.prod(self.shape)).reshape(-1, *self.shape)
        room = 255 - noise
        return noise + np.minimum(room, sprites(values, self.shape[1])[:, None], out=room)
