"""Can disentanglement be learned, and chosen, without supervision? 360 models for a laptop.

After Locatello et al. 2019 (arXiv:1811.12359): six objectives, four strengths and five seeds on three data sets. The
networks are half as wide, the images half as large and the training sixty times shorter than there, with ten times the
learning rate, which falls over the last 30 % of the steps. The capacity of annealed_vae grows over the first two thirds
of the training, thirty times faster than there, and its gamma is 4: with 10 or more the encoder fills so fast a ramp
with a constant shift of its means, and the decoder never learns to read the code (the reconstruction stays that of the
mean image).

The second study stops AnnealedVAE at several moments: which factors does a growing capacity uncover first? After
Burgess et al. 2018 (arXiv:1804.03599). A run at a constant rate is a function of its seed and step, so that the shorter
runs are the beginnings of the longest one. The third shows scores over the length of training, the fourth what newer
methods reach. Newer metrics are taken of all runs beside the study's own.
"""

from __future__ import annotations

from typing import Any

from unbraid.study import Study, chain, product
from unbraid.study.plan import Point

STEPS, DECAY, SEEDS = 5000, 0.3, range(10, 15)
POINTS, LATENTS = 3000, 10  # rows that are scored; the methods' default
CURVE = (2500, STEPS, 10_000, 20_000)
SMALL: Point = {"size": 32, "width": 16, "lr": 1e-3, "batch": 64}


def objectives(steps: int) -> list[Point]:
    return chain(
        product(method="beta_vae", beta=[1, 4, 8, 16]),
        product(method="annealed_vae", c_max=[5, 10, 25, 50], gamma=4, c_steps=2 * steps // 3),
        product(method="factor_vae", gamma=[10, 20, 40, 100], critic_width=256, critic_lr=1e-3),
        product(method="beta_tcvae", beta=[2, 4, 6, 10]),
        product(method="dip_vae", dip_variant="i", lambda_od=[1, 5, 20, 50]),
        product(method="dip_vae", dip_variant="ii", lambda_od=[1, 5, 20, 50]),
    )


NEWER_METRICS = (  # than the study's; in no claim
    "mig_sup", "jemmig", "dcimig", "z_max_variance", "info_mec", "dci_es", "single_neuron_classification",
    "neuron_knockout",
)  # fmt: skip
metrics: dict[str, dict[str, Any]] = {
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
    **{name: {} for name in NEWER_METRICS},
}
runs = product(
    product(seed=SEEDS),
    objectives(STEPS),
    data=["dsprites", "shapes3d", "color_dsprites"],
    steps=STEPS,
    decay=DECAY,
    **SMALL,
)
study = Study(runs=runs, metrics=metrics, points=POINTS)
capacity = Study(
    runs=product(
        method="annealed_vae",
        c_max=20,
        gamma=4,
        c_steps=3000,
        data="dsprites",
        steps=[400, 800, 1200, 2000, 3000],
        seed=SEEDS,
        **SMALL,
    ),
    metrics=["mig"],
    points=POINTS,
    measures=["measures.py:nats"],
)
middle = [point for point in objectives(STEPS)[2::4] if point["method"] in ("beta_vae", "factor_vae", "beta_tcvae")]
curve = Study(
    runs=chain(
        *(
            product(middle, data=["dsprites", "shapes3d"], steps=steps, decay=DECAY, seed=100, **SMALL)
            for steps in CURVE
        )
    ),
    metrics={name: metrics[name] for name in ("factor_vae_score", "mig", "dci")},
    points=POINTS,
)
since: list[Point] = chain(
    product(label="Ada-GVAE", method="ada_gvae"),
    product(label="Ada-GVAE, k known", method="ada_gvae", known_k=True),
    product(label="HFS", method="hfs"),
    product(label="HFS, beta 4", method="hfs", beta=4.0),
    product(label="QLAE", method="qlae"),
)
newer = Study(
    runs=product(
        product(seed=SEEDS),
        since,
        data=["dsprites", "shapes3d", "color_dsprites"],
        steps=STEPS,
        decay=DECAY,
        **SMALL,
    ),
    metrics=metrics,
    points=POINTS,
)
hfs_weights = Study(  # the table of docs/methods/hfs.md, on a reserved seed
    runs=product(
        method="hfs",
        gamma=[0.1, 1.0],
        beta=[1.0, 4.0],
        data=["shapes3d", "dsprites"],
        steps=STEPS,
        decay=DECAY,
        seed=100,
        **SMALL,
    ),
    metrics={"mig": {}, "downstream": {"sizes": [1000]}},
    points=POINTS,
)
studies = {"study": study, "capacity": capacity, "curve": curve, "newer": newer}

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
few_metrics: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"batch": 8, "points": 60, "test_points": 30},
    "factor_vae_score": {"batch": 8, "votes": 60, "test_votes": 30},
    "dci": {"predictor": "trees"},
    **{name: {} for name in ("mig", "modularity", "sap", *NEWER_METRICS)},
    "info_mec": {"permutations": 1},
    "downstream": {"sizes": [100, 200], "predictor": "trees"},
}
quick = {
    "study": Study(runs=few, metrics=few_metrics, points=400),
    "newer": Study(
        runs=product(since, data="dsprites", size=16, width=4, lr=1e-3, batch=16, steps=20, seed=range(2)),
        metrics=few_metrics,
        points=400,
    ),
    "capacity": Study(
        runs=product(
            method="annealed_vae", c_max=20, gamma=4, data="dsprites", size=16, width=4, batch=16, steps=[10, 20],
            seed=range(2),
        ),
        metrics=["mig"],
        points=300,
        measures=["measures.py:nats"],
    ),
    "curve": Study(
        runs=product(method="beta_vae", data="dsprites", size=16, width=4, batch=16, steps=[10, 20], seed=100),
        metrics=["mig"],
        points=300,
    ),
}  # fmt: skip
