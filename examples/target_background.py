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

data = unbraid.from_arrays(cases, background=controls)
method = unbraid.build("salient_vae", data, seed=0, common=8, salient=2, beta=1.0)
run = unbraid.fit(method, data, steps=steps, batch=128, seed=0)
unbraid.represent(run, method, data)  # also writes codes.csv, the codes of each case and control
for name, score in unbraid.score(run).items():
    print(f"{name}: {score.value:.3f}")
print(unbraid.report(run))

model = unbraid.load_run(run.path)  # knows the scaling of the features
new = rng.normal(size=(10, 5)) @ causes + 2 * kinds[0]
print("salient codes of ten new cases:", model.encode(new)["s"].round(1).tolist())
