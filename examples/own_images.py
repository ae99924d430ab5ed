"""Images of your own, without labels: train, then look at the traversals.

    python examples/own_images.py FOLDER [steps]

FOLDER may also be a zip of images, or an .npy or .npz array.
"""

import sys

import numpy as np

import unbraid

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5000

data = unbraid.load_data("images", path=sys.argv[1], size=32)
method = unbraid.build("beta_vae", data, seed=0, beta=2.0, width=16, lr=1e-3)
run = unbraid.fit(method, data, steps=steps, seed=0)
unbraid.represent(run, method, data)
print(unbraid.report(run))

model = unbraid.load_run(run.path)  # anywhere, later: the trained model without the data
codes = model.transform(data.images(np.arange(5)))  # or an array, a tensor, a list of PIL images
print(dict(zip(model.feature_names, codes[0].round(2), strict=True)))
