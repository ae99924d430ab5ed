"""The colours of digits and grounds: three grounds to train on, three to test on, six for digits."""

from __future__ import annotations

import numpy as np

GROUNDS = np.array(
    [(70, 0, 0), (0, 50, 0), (0, 0, 90), (230, 120, 0), (0, 170, 170), (200, 0, 200)],
    np.float32,
)
DIGITS = np.array(
    [(255, 255, 255), (255, 255, 0), (120, 255, 120), (255, 150, 190), (130, 190, 255), (190, 190, 190)],
    np.float32,
)
