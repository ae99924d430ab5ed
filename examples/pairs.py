"""From nothing to a scored, visible representation with weak supervision: pairs that differ in one factor.

python examples/pairs.py [steps]
"""

import sys

import unbraid

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000

data = unbraid.load_data("dsprites", size=32)  # rendered here: nothing is downloaded
method = unbraid.build("ada_gvae", data, seed=0, width=16, lr=1e-3)
run = unbraid.fit(method, data, steps=steps, seed=0, sampling={"changed": 1})
unbraid.represent(run, method, data)
for name, score in unbraid.score(run, metrics=["mig", "sap"]).items():
    print(f"{name}: {score.value:.3f} ({score.low:.3f} to {score.high:.3f}; by chance {score.null:.3f})")
print(unbraid.report(run))
