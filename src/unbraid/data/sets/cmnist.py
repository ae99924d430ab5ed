"""Digits in the ten hues of 3D Shapes on black; hue and digit can be correlated.

The coloured digits of the intervention-based framework for disentanglement with correlated factors (section 5).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from unbraid.config import AtLeast, Count, Size, Weight
from unbraid.data.compose import digits
from unbraid.data.compose.painted_digits import PaintedDigits, blend, centred
from unbraid.data.compose.palette import HUES
from unbraid.data.split import correlate, restrict
from unbraid.data.table import Bytes, Factor, Values


class CMNIST(PaintedDigits):
    """MNIST's training digits, each in every hue; its test digits, each in every hue, are the `test`.

    Args:
        size: height and width of the images in pixels, at least 28
        correlated: sigma of p(colour, digit) ~ exp(-(colour - digit)^2 / 2 sigma^2), both in [0, 1]; 0: every hue
        train_rows: number of training rows if hue and digit are correlated
        draw: seed of the rows that are drawn
        tuning: the last sixth of the training digits are the `test`, so that settings are chosen without a look at
            the test digits
    """

    name = "cmnist"
    gives = ("Images", "Labelled", "Pairs")
    factors = (Factor("digit", 10), Factor("colour", 10, ordered=False))
    label = "digit"
    nuisances = ("colour",)
    groups = ("colour",)

    def __init__(
        self,
        *,
        size: Annotated[int, AtLeast(28)] = 28,
        correlated: Weight = 0.0,
        train_rows: Size = 60_000,
        draw: Count = 0,
        tuning: bool = False,
    ) -> None:
        self.shape = (3, size, size)
        images, self.labels, more, their_labels = digits.load(tuning)
        self.digits, self.choices = centred(images, size), (np.arange(10),)
        self.test = self.using(centred(more, size), their_labels, self.choices)
        if correlated:
            restrict(self, correlate(self, ("colour", "digit"), correlated, count=train_rows, seed=draw))

    def paint(self, digits: Bytes, values: Values) -> Bytes:
        hue = HUES[values[:, 1]]
        return blend(np.zeros_like(hue), hue, digits)
