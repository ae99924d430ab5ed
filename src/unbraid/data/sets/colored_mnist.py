"""Coloured digits on coloured ground; the test has three grounds that never occur in training.

Colored-MNIST of the swap and class-average paper (section 4): class is the digit, known nuisances are both colours.
The paper does not give its colours: here they are fixed, and far apart.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from unbraid.config import AtLeast, Weight
from unbraid.data.compose import digits
from unbraid.data.compose.painted_digits import PaintedDigits, blend, centred
from unbraid.data.compose.palette import DIGITS, grounds
from unbraid.data.table import Bytes, Factor, Values


class ColoredMNIST(PaintedDigits):
    """Every digit in six colours on three grounds; the `test` has the test digits on three others.

    Pairs are the same digit in other colours.

    Args:
        size: height and width of the images in pixels, at least 28
        shade: brightness of the test grounds, which are the sums of two training grounds times this; 0: a fixed choice
        tuning: the last sixth of the training digits are those of the `test`, so that settings are chosen without a
            look at the test digits
    """

    name = "colored_mnist"
    gives = ("Images", "Labelled", "Pairs")
    factors = (Factor("digit", 10), Factor("background", 6, ordered=False), Factor("colour", 6, ordered=False))
    label = "digit"
    nuisances = ("background", "colour")
    groups = ("background",)

    def __init__(self, *, size: Annotated[int, AtLeast(28)] = 28, shade: Weight = 0.0, tuning: bool = False) -> None:
        self.grounds = grounds(shade)
        self.shape = (3, size, size)
        images, self.labels, more, their_labels = digits.load(tuning)
        self.digits, self.choices = centred(images, size), (np.arange(3), np.arange(6))
        self.test = self.using(centred(more, size), their_labels, (np.arange(3, 6), np.arange(6)))

    def paint(self, digits: Bytes, values: Values) -> Bytes:
        return blend(self.grounds[values[:, 1]], DIGITS[values[:, 2]], digits)
