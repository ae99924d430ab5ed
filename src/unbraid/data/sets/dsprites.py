"""dSprites, rendered: 3 shapes, 6 scales, 40 orientations, 32 x 32 positions; one grey channel.

The original (Matthey et al., 2017) is a 3 GB array; here each image is computed on demand, from outlines
fitted to the published frames. Factors and their order are the original's, without the single colour.
"""

from __future__ import annotations

from typing import Annotated

from unbraid.config import AtLeast, Count, Size, Weight
from unbraid.data.compose.sprites import FACTORS, sprites
from unbraid.data.split import correlate, hold_out, restrict
from unbraid.data.table import Bytes, Grid, Values


class DSprites(Grid):
    """White sprites on black; binary at 64 x 64 like the original, antialiased at other sizes.

    Args:
        size: height and width of the images in pixels
        correlated: sigma of p(posX, scale) ~ exp(-(posX - scale)^2 / 2 sigma^2), both in [0, 1]; 0: the whole grid
        train_rows: number of training rows if the factors are correlated
        test_rows: number of test rows, held out before that, with independent factors
        draw: seed of the rows that are drawn
    """

    name = "dsprites"
    gives = ("Images", "Pairs", "Transitions")
    factors = FACTORS

    def __init__(
        self,
        *,
        size: Annotated[int, AtLeast(8)] = 64,
        correlated: Weight = 0.0,
        train_rows: Size = 200_000,
        test_rows: Size = 50_000,
        draw: Count = 0,
    ) -> None:
        self.shape = (1, size, size)
        if correlated:
            rest = hold_out(self, count=test_rows, seed=draw)
            restrict(self, correlate(rest, ("posX", "scale"), correlated, count=train_rows, seed=draw))

    def render(self, values: Values) -> Bytes:
        return sprites(values, self.shape[1])[:, None]
