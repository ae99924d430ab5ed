"""What do the cases have that the controls have not? Tables of features, without labels.

    python examples/target_background.py [steps]

Made up here: 40 features; five causes move both sets, and the cases come in three kinds besides.
"""

import sys

import numpy as np

import unbraid

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500

rng = np.random.default_rng(0)
causes, kinds = rng.normal(size=(5, 40)), rng.normal(size=(3, 40))
cases = rng.normal(size=(600, 5)) @ causes + 2 * kinds[rng.integers(0, 3, 600)] + 0.5 * rng.normal(size=(600, 40))
controls = rng.normal(size=(600, 5)) @ causes + 0.5 * rng.normal(size=(600, 40))
np.save("cases.npy", cases)
np.save("controls.npy", controls)

data = unbraid.load_data("two_folders", target="cases.npy", background="controls.npy")
method = unbraid.build("salient_vae", data, seed=0, common=8, salient=2, beta=1.0)
run = unbraid.fit(method, data, steps=steps, batch=128, seed=0)
unbraid.represent(run, method, data)  # also writes codes.csv, the codes of each case and control
for name, score in unbraid.score(run).items():
    print(f"{name}: {score.value:.3f}")
print(unbraid.report(run))
