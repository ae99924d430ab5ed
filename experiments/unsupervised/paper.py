"""The 12,600 models of Locatello et al. 2019 (arXiv:1811.12359): seven data sets, 36 settings, 50 seeds.

The grid, networks, optimiser and number of steps are the paper's (tables 1 to 3 of its appendix), the metrics' options
those of its published configuration. dsprites is rendered here; the other files must be there when it runs, and need
not be for `--list`. In the authors' code both optimisers of FactorVAE advance one counter of steps, so that it makes
150,000 updates; here it makes 300,000 like the others.
"""

from unbraid.study import Study, chain, product

objectives = chain(
    product(method="beta_vae", beta=[1, 2, 4, 6, 8, 16]),
    product(method="annealed_vae", c_max=[5, 10, 25, 50, 75, 100], gamma=1000, c_steps=100_000),
    product(method="factor_vae", gamma=[10, 20, 30, 40, 50, 100]),
    product(method="beta_tcvae", beta=[1, 2, 4, 6, 8, 10]),
    product(method="dip_vae", dip_variant="i", lambda_od=[1, 2, 5, 10, 20, 50]),
    product(method="dip_vae", dip_variant="ii", lambda_od=[1, 2, 5, 10, 20, 50]),
)
runs = product(
    objectives,
    data=["dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites", "small_norb", "cars3d", "shapes3d"],
    steps=300_000,
    batch=64,
    lr=1e-4,
    seed=range(50),
)
study = Study(
    runs=runs,
    metrics={
        "beta_vae_score": {},
        "factor_vae_score": {"prune": 0.05},
        "mig": {},
        "dci": {"predictor": "gbt"},
        "modularity": {},
        "sap": {"method": "svm"},
        "irs": {},
        "downstream": {},
        "downstream:gbt": {"predictor": "gbt"},
        "mutual_info_score": {},
        "wasserstein_correlation": {},
    },
    points=15_000,
)
