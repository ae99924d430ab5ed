"""Invariance and disentanglement from pairs: "Reconstruction for disentanglement, contrast for invariance".

The runs, those that decide the claims first. 3D Shapes is rendered.
"""

from __future__ import annotations

from typing import Any

from unbraid.study import Evaluation, Study, chain, product
from unbraid.study.plan import Point

needs = ("mnist",)
SEEDS = (1, 2, 3)  # of digits: weights were chosen on seed 0
SHAPE_SEEDS = (0, 1, 2)
STEPS, PAIRS = 1500, 64  # a step sees 64 pairs or 128 single images
ADVERSARY = 3  # UAI: steps of the adversary after each of the model
SHAPE_STEPS = 3000
SMALL: Point = {"width": 16, "lr": 1e-3}
MEANS: Point = {**SMALL, "beta": 300.0, "weight": 300.0}
SWAP: Point = {**MEANS, "contrast_of": "sample", "amount_steps": STEPS // 2}


def single(label: str, method: str, *, steps: int = STEPS, **arguments: Any) -> list[Point]:
    return product(label=label, method=method, steps=steps, batch=2 * PAIRS, **SMALL, **arguments)


def swap(label: str, **arguments: Any) -> list[Point]:
    return product(label=label, method="swap_vae", steps=STEPS, batch=PAIRS, changed=1, **arguments)


def shapes(label: str, method: str, **arguments: Any) -> list[Point]:
    return product(label=label, method=method, steps=SHAPE_STEPS, batch=64, **SMALL, **arguments)


models = chain(
    single("Baseline", "cnn"),
    single("beta-VAE", "beta_vae_classifier"),
    single("VFAE", "vfae"),
    single("CAI", "cai", gamma=0.1),  # with 1, its loss blows up on seed 0 and it never recovers
    single("CVIB", "cvib"),
    single("UAI", "uai", steps=(1 + ADVERSARY) * STEPS, adversary_steps=ADVERSARY),
    swap("Swap", **SWAP),
    swap("CE only", **SWAP | {"two_step": False, "beta": 0.0}),
    swap("CE + contrast, jointly", **SWAP, two_step=False),
    swap("Swap, contrast of means", **MEANS),
)
digits = chain(
    product(
        data="colored_mnist",
        evaluation=Evaluation(metrics=["classes"], points=6000, measures=["measures.py:drawn"]),
    ),
    product(
        data="rotation_colored_mnist",
        evaluation=Evaluation(
            metrics=["classes"],
            points=12_000,
            measures=["measures.py:by_angle", "measures.py:shifts", "measures.py:drawn"],
        ),
    ),
)

CHANGED: Point = {"changed": 3}  # factors, at the end, in which pairs of 3D Shapes differ
GROWING: Point = {**CHANGED, "changed_over": SHAPE_STEPS // 2}
NUISANCE: Point = {"predictive": 0, "nuisance": 10}
AMOUNT: Point = {**NUISANCE, "amount_steps": SHAPE_STEPS // 2}
CRITIC: Point = {"critic_width": 256, "critic_lr": 1e-3}
weak = chain(
    shapes("Swap", "swap_vae", **AMOUNT, **GROWING),
    shapes("Ada-GVAE", "ada_gvae", **GROWING),
    shapes("Ada-ML-VAE", "ada_ml_vae", **GROWING),
    shapes("Swap, amount only", "swap_vae", **AMOUNT, **CHANGED),
    shapes("Swap, no warm-up", "swap_vae", **NUISANCE, **CHANGED),
)
unsupervised = chain(  # middle strengths of experiments/unsupervised
    shapes("beta-VAE", "beta_vae", beta=4.0),
    shapes("AnnealedVAE", "annealed_vae", c_max=25.0, gamma=4.0, c_steps=2 * SHAPE_STEPS // 3),
    shapes("FactorVAE", "factor_vae", gamma=30.0, **CRITIC),
    shapes("DIP-VAE-I", "dip_vae", dip_variant="i", lambda_od=5.0),
    shapes("DIP-VAE-II", "dip_vae", dip_variant="ii", lambda_od=5.0),
    shapes("beta-TCVAE", "beta_tcvae", beta=6.0),
    shapes("beta-FactorTCVAE", "beta_factor_tcvae", c_steps=2 * SHAPE_STEPS // 3, latents=10, **CRITIC),
)
votes = {"batch": 32, "votes": 500, "test_votes": 250}
disentanglement = Evaluation(
    metrics={"mig": {}, "sap": {"method": "svm"}, "irs": {}, "factor_vae_score": votes, "dci": {}}, points=3000
)
runs = chain(
    product(product(seed=SEEDS), digits, models),
    product(product(seed=SHAPE_SEEDS), chain(weak, unsupervised), data="shapes3d", size=32, evaluation=disentanglement),
)
study = Study(runs=runs)
