"""The colours of digits and grounds: three grounds to train on, three to test on, six for digits.

The grounds are so far apart that a small convolutional net which has learned the digits on the first three loses a
quarter to a half of the worst class on the others, as in table 1 of the paper that made the set.
"""

from __future__ import annotations

import numpy as np

GROUNDS = np.array(
    [(160, 0, 0), (0, 110, 0), (0, 0, 190), (0, 140, 140), (150, 130, 0), (155, 0, 155)],
    np.float32,
)
DIGITS = np.array(
    [(255, 255, 255), (255, 255, 0), (0, 255, 255), (255, 120, 255), (190, 190, 190), (255, 190, 110)],
    np.float32,
)
