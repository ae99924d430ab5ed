"""AnnealedVAE stopped at several moments: which factors does a growing capacity uncover first?

After Burgess et al. 2018 (arXiv:1804.03599). A run is a function of its seed and step, so that the shorter runs are
the beginnings of the longest one. gamma is small for the reason given in unsupervised_small.py.
"""

from unbraid.study import Study, product

runs = product(
    method="annealed_vae", c_max=20, gamma=4, c_steps=3000, data="dsprites", size=32, width=16, lr=1e-3, batch=64,
    steps=[400, 800, 1200, 2000, 3000], seed=range(3),
)  # fmt: skip
study = Study(runs=runs, metrics=["mig"], points=3000)
