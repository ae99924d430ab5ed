"""Digits in ten hues, those of 3D Shapes, on black; hue and digit can be correlated.

The coloured digits of the intervention-based framework for disentanglement with correlated factors (section 5).
"""

from __future__ import annotations

import numpy as np

from unbraid.config import Count
from unbraid.data.compose import digits
from unbraid.data.compose.painted import Painted, blend, centred
from unbraid.data.sets.shapes3d import HUES
from unbraid.data.split import correlate, narrow
from unbraid.data.table import Bytes, Factor, Values


class CMNIST(Painted):
    """MNIST's training digits, each in every hue; its test digits, each in every hue, are the `test`.

    Args:
        size: height and width of the pictures in pixels, at least 28
        correlated: sigma of p(colour, digit) ~ exp(-(colour - digit)^2 / 2 sigma^2), both in [0, 1]; 0 for every hue
        train_rows: number of rows to train on where hue and digit are correlated
        draw: seed of the rows that are drawn
    """

    name = "cmnist"
    gives = ("Images", "Labelled", "Pairs")
    factors = (Factor("digit", 10), Factor("colour", 10))
    label = "digit"
    nuisances = ("colour",)
    groups = ("colour",)

    def __init__(self, *, size: int = 28, correlated: float = 0.0, train_rows: int = 60_000, draw: Count = 0) -> None:
        self.shape = (3, size, size)
        images, self.labels, more, their_labels = digits.load()
        self.digits, self.choices = centred(images, size), (np.arange(10),)
        self.test = self.using(centred(more, size), their_labels, self.choices)
        if correlated:
            narrow(self, correlate(self, ("colour", "digit"), correlated, count=train_rows, seed=draw))

    def paint(self, digits: Bytes, values: Values) -> Bytes:
        hue = HUES[values[:, 1]]
        return blend(np.zeros_like(hue), hue, digits)
