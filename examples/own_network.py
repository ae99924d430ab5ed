"""An encoder of your own in any method: here one that looks at the image at two scales.

python examples/own_network.py [steps]

or, on the command line:

unbraid run beta_vae --data dsprites --size 32 --encoder 'examples/own_network.py:TwoScales(channels=8)' --steps 2000
"""

import sys
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

import unbraid


class TwoScales(nn.Module):
    """Images [b, c, h, w] -> [b, outputs]: a factory takes the shape of an image and the number of outputs."""

    def __init__(self, shape: tuple[int, int, int], outputs: int, *, channels: int = 8) -> None:
        super().__init__()
        self.fine = nn.Sequential(nn.Conv2d(shape[0], channels, 4, 4), nn.ReLU(), nn.Flatten())
        self.coarse = nn.Sequential(nn.AvgPool2d(4), nn.Conv2d(shape[0], channels, 4, 4), nn.ReLU(), nn.Flatten())
        with torch.no_grad():
            inputs = self.features(torch.zeros(1, *shape)).shape[1]
        self.last = nn.Linear(inputs, outputs)

    def features(self, x: Tensor) -> Tensor:
        return torch.cat([self.fine(x), self.coarse(x)], 1)

    def forward(self, x: Tensor) -> Tensor:
        code: Tensor = self.last(self.features(x))
        return code


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    data = unbraid.load_data("dsprites", size=32)
    method = unbraid.build("beta_vae", data, seed=0, lr=1e-3, encoder=partial(TwoScales, channels=8))
    run = unbraid.fit(method, data, steps=steps, seed=0)
    unbraid.represent(run, method, data)
    print(unbraid.report(run))
    model = unbraid.load_run(run.path, encoder=partial(TwoScales, channels=8))
    print(model.transform(data.images(np.arange(3))).shape)
