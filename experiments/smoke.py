"""Four runs of a few steps: does everything work here?  `unbraid study experiments/smoke.py`"""

from unbraid.study import Study, chain, product

runs = product(
    chain(product(method="vae"), product(method="beta_vae", beta=4)),
    data="dsprites",
    size=16,
    width=4,
    batch=16,
    steps=120,
    seed=range(2),
)
study = Study(runs=runs, metrics=["mig", "modularity"], points=500)
