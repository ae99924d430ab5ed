"""Can disentanglement be learned, and chosen, without supervision? 108 models for a laptop.

After Locatello et al. 2019 (arXiv:1811.12359): six objectives, three strengths and three seeds on two data sets. The
networks are half as wide, the images half as large and the training a hundred times shorter than there, with ten
times the learning rate. The capacity of annealed_vae grows over the first two thirds of the training, fifty
times faster than there, and its gamma is 4: with 10 or more the encoder fills so fast a ramp with a constant shift of
its means, and the decoder never learns to read the code (the reconstruction stays that of the mean image).

The second study stops AnnealedVAE at several moments: which factors does a growing capacity uncover first? After
Burgess et al. 2018 (arXiv:1804.03599). A run is a function of its seed and step, so that the shorter runs are the
beginnings of the longest one.
"""

from __future__ import annotations

from unbraid.study import Study, chain, product

STEPS = 3000

objectives = chain(
    product(method="beta_vae", beta=[1, 4, 16]),
    product(method="annealed_vae", c_max=[5, 10, 25], gamma=4, c_steps=2 * STEPS // 3),
    product(method="factor_vae", gamma=[10, 30, 100], critic_width=256, critic_lr=1e-3),
    product(method="beta_tcvae", beta=[2, 6, 10]),
    product(method="dip_vae", dip_variant="i", lambda_od=[1, 5, 50]),
    product(method="dip_vae", dip_variant="ii", lambda_od=[1, 5, 50]),
)
runs = product(
    objectives, data=["dsprites", "shapes3d"], size=32, width=16, lr=1e-3, batch=64, steps=STEPS, seed=range(3)
)
study = Study(
    runs=runs,
    metrics={
        "beta_vae_score": {"batch": 32, "points": 500, "test_points": 250},
        "factor_vae_score": {"batch": 32, "votes": 500, "test_votes": 250},
        "mig": {},
        "dci": {},
        "modularity": {},
        "sap": {"method": "svm"},
        "irs": {},
        "mcc": {},
        "downstream": {"sizes": [100, 1000], "reference": True},
        "mutual_info_score": {},
        "wasserstein_correlation": {},
    },
    points=3000,
)
capacity = Study(
    runs=product(
        method="annealed_vae",
        c_max=20,
        gamma=4,
        c_steps=3000,
        data="dsprites",
        size=32,
        width=16,
        lr=1e-3,
        batch=64,
        steps=[400, 800, 1200, 2000, 3000],
        seed=range(3),
    ),
    metrics=["mig"],
    points=3000,
)
studies = {"study": study, "capacity": capacity}

weakest = chain(
    product(method="beta_vae", beta=[1, 16]),
    product(method="annealed_vae", c_max=[5, 25], gamma=4, c_steps=10),
    product(method="factor_vae", gamma=[10, 100], critic_width=16),
    product(method="beta_tcvae", beta=[2, 10]),
    product(method="dip_vae", dip_variant="i", lambda_od=[1, 50]),
    product(method="dip_vae", dip_variant="ii", lambda_od=[1, 50]),
)
few = product(
    weakest, data=["dsprites", "color_dsprites"], size=16, width=4, lr=1e-3, batch=16, steps=20, seed=range(2)
)
quick = {
    "study": Study(
        runs=few,
        metrics={
            "beta_vae_score": {"batch": 8, "points": 60, "test_points": 30},
            "factor_vae_score": {"batch": 8, "votes": 60, "test_votes": 30},
            "dci": {"predictor": "trees"},
            **{name: {} for name in ("mig", "modularity", "sap")},
            "downstream": {"sizes": [100, 200], "predictor": "trees"},
        },
        points=400,
    ),
    "capacity": Study(
        runs=product(
            method="annealed_vae", c_max=20, gamma=4, data="dsprites", size=16, width=4, batch=16, steps=[10, 20],
            seed=range(2),
        ),
        metrics=["mig"],
        points=300,
    ),
}  # fmt: skip
