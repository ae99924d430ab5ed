"""A data set of your own that is drawn: faces that smile and look aside, in more or less light.

python examples/own_data.py [steps]

or, on the command line:

unbraid data show examples/own_data.py:Faces --out faces.png
unbraid run ada_gvae --data examples/own_data.py:Faces --width 16 --lr 1e-3 --steps 2000 --decay 0.3
"""

import sys

import numpy as np

import unbraid
from unbraid.config import Size
from unbraid.data.table import Bytes, Factor, Grid, Values


class Faces(Grid):
    """Every combination of a smile, a direction of gaze and a brightness, 9 x 9 x 6 images.

    Args:
        size: height and width of the images
    """

    name = "faces"
    factors = (Factor("smile", 9), Factor("gaze", 9), Factor("light", 6))

    def __init__(self, *, size: Size = 32) -> None:
        self.shape = (1, size, size)

    def render(self, values: Values) -> Bytes:
        """The images of these combinations of factors. [n, 3] -> [n, 1, size, size]"""
        place = np.linspace(-1, 1, self.shape[-1])
        x, y = place[None, None, :], place[None, :, None]
        smile, gaze, light = (
            (column / (f.size - 1))[:, None, None] for column, f in zip(values.T, self.factors, strict=True)
        )
        head = np.hypot(x, y) < 0.95
        eyes = np.hypot(abs(x) - 0.4, y + 0.25) < 0.28
        pupils = np.hypot(abs(x - 0.28 * (gaze - 0.5)) - 0.4, y + 0.25) < 0.13
        mouth = (abs(y - 0.45 - (2 * smile - 1) * (0.15 - x**2)) < 0.1) & (abs(x) < 0.55)
        skin = 90 + 120 * light
        drawn: Bytes = np.select([pupils | mouth, eyes, head], [0, 255, skin], 0)[:, None].astype(np.uint8)
        return drawn


if __name__ == "__main__":  # so that the file can be imported
    data = unbraid.load_data(Faces)
    method = unbraid.build("ada_gvae", data, seed=0, width=16, lr=1e-3)
    run = unbraid.fit(method, data, steps=int(sys.argv[1]) if len(sys.argv) > 1 else 2000, decay=0.3)
    unbraid.represent(run, method, data)
    print({name: round(score.value, 3) for name, score in unbraid.score(run, metrics=["mig"]).items()})
    print(unbraid.report(run))
