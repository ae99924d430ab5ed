"""Invariance and disentanglement from pairs: "Reconstruction for disentanglement, contrast for invariance".

The runs, those that decide the claims first. 3D Shapes is rendered. Settings were chosen on seeds from 100 on, which
are used for nothing else: the shade of unseen grounds by how near the plain CNN comes to the paper's, the weights of
losses by the worst group (notes.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unbraid.study import Evaluation, Study, chain, product
from unbraid.study.plan import Point
from unbraid.study.reproduce import smaller

needs = ("mnist",)
MAIN_SEEDS, SEEDS = range(11, 19), range(11, 16)
RESERVED = 100
STEPS, PAIRS, DECAY, SHADE = 3000, 64, 0.3, 0.89  # a step sees 64 pairs or 128 single images
ADVERSARY = 3  # UAI: steps of the adversary after each of the model
SHAPE_STEPS = 10_000
SMALL: Point = {"width": 16, "lr": 1e-3}
SWAP: Point = {
    **SMALL, "beta": 2352.0, "weight": 2352.0, "contrast_of": "sample", "separate": True, "amount_steps": STEPS // 2,
}  # fmt: skip


def single(label: str, method: str, *, steps: int = STEPS, **arguments: Any) -> list[Point]:
    return product(label=label, method=method, steps=steps, batch=2 * PAIRS, **SMALL, **arguments)


def swap(label: str, **arguments: Any) -> list[Point]:
    return product(label=label, method="swap_vae", steps=STEPS, batch=PAIRS, changed=1, **{**SWAP, **arguments})


def shapes(label: str, method: str, **arguments: Any) -> list[Point]:
    return product(label=label, method=method, steps=SHAPE_STEPS, **{"batch": 64, "size": 32, **SMALL, **arguments})


cnn, contrast = single("Baseline", "cnn"), single("Contrast only", "supcon", latents=10)
others = chain(
    single("beta-VAE", "beta_vae_classifier"),
    single("VFAE", "vfae"),
    single("CAI", "cai", gamma=0.1),
    single("CVIB", "cvib"),
    single("UAI", "uai", steps=(1 + ADVERSARY) * STEPS, adversary_steps=ADVERSARY),
)
swapped = swap("Swap")
schemes = chain(swap("CE only", two_step=False, beta=0.0), swap("CE + contrast, jointly", two_step=False))
forms = chain(swap("Swap, one encoder", separate=False), swap("Swap, contrast of means", contrast_of="mean"))

colored = product(
    data="colored_mnist",
    shade=SHADE,
    evaluation=Evaluation(
        metrics=["classes"],
        points=6000,
        measures=["measures.py:drawn", "measures.py:over_shades", "measures.py:refitted"],
    ),
)
turned = product(
    data="rotation_colored_mnist",
    shade=SHADE,
    evaluation=Evaluation(
        metrics=["classes"],
        points=12_000,
        measures=["measures.py:by_angle", "measures.py:shifts", "measures.py:drawn", "measures.py:refitted"],
    ),
)
hues = product(
    data="shapes3d",
    size=32,
    new_colours=True,
    evaluation=Evaluation(metrics=["classes"], points=6000, measures=["measures.py:refitted"]),
)
decisive = chain(swapped, cnn)

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
rooms = product(data="shapes3d", evaluation=disentanglement)


WARM_UPS = ("amount_steps", "changed_over", "c_steps")


def over_steps(points: list[Point], steps: list[int]) -> list[Point]:
    """The same runs at other lengths, of which the warm-ups keep their share."""
    found = []
    for point in points:
        for length in steps:
            ratio = length / point["steps"]
            scaled: Point = {n: int(point[n] * ratio) for n in WARM_UPS if n in point}
            found.append({**point, **scaled, "steps": length, "label": f"{point['label']}, over steps"})
    return found


def variant(name: str, **arguments: Any) -> list[Point]:
    return shapes(f"Ada-GVAE, {name}", "ada_gvae", **{**GROWING, **arguments})


varied = chain(  # what Ada-GVAE's MIG depends on, one thing at a time
    variant("as in table 3"),
    variant("width 32", width=32),
    variant("batch 128", batch=128),
    variant("beta 4", beta=4.0),
    variant("rate 5e-4", lr=5e-4),
    variant("pairs that differ in one factor", changed=1, changed_over=0),
    variant("64 x 64", size=64),
)
by_shape = [{**point, "label": f"{point['label']}, shape"} for point in chain(decisive, others)]
curves = chain(
    product(colored, over_steps(chain(decisive, contrast), [500, 1000, 2000, 6000])),
    product(rooms, over_steps(chain(weak[:2], unsupervised[5:6]), [2500, 5000, 20_000])),
)
runs = chain(
    product(product(seed=MAIN_SEEDS), colored, chain(decisive, others)),
    product(product(seed=MAIN_SEEDS), turned, chain(decisive, schemes)),
    product(product(seed=MAIN_SEEDS), colored, chain(schemes, forms, contrast)),
    product(product(seed=SEEDS), rooms, chain(weak, unsupervised)),
    product(product(seed=MAIN_SEEDS), hues, by_shape),
    product(product(seed=SEEDS), turned, chain(others, forms, contrast)),
    product(curves, seed=MAIN_SEEDS[0]),
    product(rooms, varied, seed=RESERVED),
)
study = Study(runs=product(runs, decay=DECAY))

tried = chain(  # the weight that each method depends on most: three values, for all alike
    single("beta-VAE", "beta_vae_classifier", weight=[10.0, 100.0, 1000.0]),
    single("VFAE", "vfae", beta=[10.0, 100.0, 1000.0]),
    single("CAI", "cai", gamma=[0.01, 0.1, 1.0]),
    single("CVIB", "cvib", beta=[1e-3, 1e-2, 0.1]),
    single("UAI", "uai", steps=(1 + ADVERSARY) * STEPS, adversary_steps=ADVERSARY, predict=[10.0, 100.0, 1000.0]),
    single("Contrast only", "supcon", latents=10, temperature=[0.05, 0.1, 0.5]),
    *(swap("Swap", beta=weight) for weight in (235.2, 2352.0, 23_520.0)),
)
tuning = Study(  # unbraid study experiments/invariance/study.py:tuning
    runs=product(
        product(seed=[RESERVED, RESERVED + 1]),
        tried,
        data="colored_mnist",
        shade=SHADE,
        decay=DECAY,
        evaluation=Evaluation(metrics=["classes"], points=6000),
    )
)
aside = {point["label"] for point in chain(curves, varied)}
quick = replace(smaller(study), runs=[run for run in smaller(study).runs if run["label"] not in aside])
