"""Invariance and disentanglement from pairs: "Reconstruction for disentanglement, contrast for invariance".

The runs, those that decide the claims first. 3D Shapes is rendered. The pilot has seeds from 100 on, which are used for
nothing else: it chooses the weights of losses on digits held out of the training rows, by the mean worst group over
grounds of the shades in TUNED_ON. It is run alone, before the others, and what it chooses is written here (notes.md):

    unbraid study experiments/invariance/study.py:pilot --out runs/invariance/pilot
"""

from __future__ import annotations

from typing import Any

from unbraid.study import Evaluation, Study, chain, product
from unbraid.study.plan import Point
from unbraid.study.reproduce import smaller

needs = ("mnist",)
MANY_SEEDS, MAIN_SEEDS, ROOM_SEEDS = range(11, 27), range(11, 19), range(31, 39)
PILOT_SEEDS, PALETTE_SEEDS = range(100, 103), range(100, 105)
RESERVED = PILOT_SEEDS[0]
STEPS, PAIRS, DECAY, SHADE = 3000, 64, 0.3, 0.89  # a step sees 64 pairs or 128 single images
TUNED_ON = ("0.8", "0.85", "0.95")
ADVERSARY = 3  # UAI: steps of the adversary after each of the model
SHAPE_STEPS = 10_000
SMALL: Point = {"width": 16, "lr": 1e-3}
SWAP: Point = {
    **SMALL, "beta": 2352.0, "weight": 2352.0, "contrast_of": "sample", "separate": True, "amount_steps": STEPS // 2,
}  # fmt: skip
PILOT = ", pilot"


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


def evaluation(points: int, *measures: str) -> Evaluation:
    return Evaluation(metrics=["classes"], points=points, measures=[f"measures.py:{name}" for name in measures])


colored = product(data="colored_mnist", shade=SHADE, evaluation=evaluation(6000, "drawn", "over_shades", "refitted"))
turned = product(
    data="rotation_colored_mnist",
    shade=SHADE,
    evaluation=evaluation(24_000, "by_angle", "shifts", "probed", "refitted"),
)
hues = product(data="shapes3d", size=32, new_colours=True, evaluation=evaluation(6000))
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
unsupervised = chain(  # strengths with the highest mean MIG in experiments/unsupervised, seeds 10 to 14
    shapes("beta-VAE", "beta_vae", beta=16.0),
    shapes("AnnealedVAE", "annealed_vae", c_max=25.0, gamma=4.0, c_steps=2 * SHAPE_STEPS // 3),
    shapes("FactorVAE", "factor_vae", gamma=40.0, **CRITIC),
    shapes("DIP-VAE-I", "dip_vae", dip_variant="i", lambda_od=20.0),
    shapes("DIP-VAE-II", "dip_vae", dip_variant="ii", lambda_od=20.0),
    shapes("beta-TCVAE", "beta_tcvae", beta=6.0),
    shapes("beta-FactorTCVAE", "beta_factor_tcvae", c_steps=2 * SHAPE_STEPS // 3, latents=10, **CRITIC),
)
votes = {"batch": 32, "votes": 500, "test_votes": 250}
disentanglement = Evaluation(
    metrics={"mig": {}, "sap": {"method": "svm"}, "irs": {}, "factor_vae_score": votes, "dci": {}}, points=3000
)
rooms = product(data="shapes3d", evaluation=disentanglement)
by_shape = [{**point, "label": f"{point['label']}, shape"} for point in chain(decisive, others)]
runs = chain(
    product(product(seed=MANY_SEEDS), colored, chain(decisive, others)),
    product(product(seed=MAIN_SEEDS), turned, chain(decisive, schemes)),
    product(product(seed=MAIN_SEEDS), colored, chain(schemes, forms, contrast)),
    product(product(seed=ROOM_SEEDS), rooms, chain(weak, unsupervised)),
    product(product(seed=MAIN_SEEDS), hues, by_shape),
    product(product(seed=MAIN_SEEDS), turned, chain(others, contrast, forms)),
)
study = Study(runs=product(runs, decay=DECAY))

WEIGHTS = (235.2, 2352.0, 23_520.0)  # of classes; 2352 = 3 x 28 x 28, as if losses were means over pixels
TUNED = {  # the weight that each method depends on most, and three values of it, the method's default among them
    "beta-VAE": ("weight", single("beta-VAE", "beta_vae_classifier", weight=[10.0, 100.0, 1000.0])),
    "VFAE": ("alpha", chain(*(single("VFAE", "vfae", alpha=w, beta=w) for w in (10.0, 100.0, 1000.0)))),
    "CAI": ("gamma", single("CAI", "cai", gamma=[0.01, 0.1, 1.0])),
    "CVIB": ("reconstruction", single("CVIB", "cvib", reconstruction=[0.001, 0.01, 0.1])),
    "UAI": (
        "predict",
        single(
            "UAI", "uai", steps=(1 + ADVERSARY) * STEPS, adversary_steps=ADVERSARY, predict=[10.0, 100.0, 1000.0]
        ),
    ),
    "Swap": ("beta", chain(*(swap("Swap", beta=w) for w in WEIGHTS))),
    "CE only": ("weight", chain(*(swap("CE only", two_step=False, beta=0.0, weight=w) for w in WEIGHTS))),
    "CE + contrast, jointly": (
        "beta", chain(*(swap("CE + contrast, jointly", two_step=False, beta=w, weight=w) for w in WEIGHTS)),
    ),
}  # fmt: skip
WARM_UPS = ("amount_steps", "changed_over", "c_steps")


def over_steps(points: list[Point], steps: list[int]) -> list[Point]:
    """The same runs at several lengths, of which the warm-ups keep their share."""
    found = []
    for point in points:
        for length in steps:
            ratio = length / point["steps"]
            scaled: Point = {n: int(point[n] * ratio) for n in WARM_UPS if n in point}
            found.append({**point, **scaled, "steps": length, "label": f"{point['label']}, over steps"})
    return found


def variant(of: str, name: str, **arguments: Any) -> list[Point]:
    method = {"Ada-GVAE": "ada_gvae", "Ada-ML-VAE": "ada_ml_vae", "beta-TCVAE": "beta_tcvae", "Swap": "swap_vae"}[of]
    own = {"beta-TCVAE": {"beta": 6.0}, "Swap": {**AMOUNT, **GROWING}}.get(of, GROWING)
    return shapes(f"{of}, {name}{PILOT}", method, **{**own, **arguments})


ONE: Point = {"changed": 1, "changed_over": 0}
varied = chain(  # what MIG depends on, one thing at a time; "as in table 3" is in the curves
    variant("Ada-GVAE", "width 32", width=32),
    variant("Ada-GVAE", "batch 128", batch=128),
    variant("Ada-GVAE", "beta 4", beta=4.0),
    variant("Ada-GVAE", "pairs that differ in one factor", **ONE),
    variant("Ada-GVAE", "64 x 64", size=64),
    variant("Ada-ML-VAE", "as in table 3"),
    variant("Ada-ML-VAE", "variance doubled", doubled=True),
    variant("Ada-ML-VAE", "pairs that differ in one factor", **ONE),
    variant("beta-TCVAE", "batch 128", batch=128),
    variant("Swap", "divergence jsd", divergence="jsd"),
)
choosing = product(
    data="colored_mnist", shade=SHADE, tuning=True, evaluation=evaluation(6000, "over_shades"), decay=DECAY
)
tried = [{**point, "label": f"{point['label']}{PILOT}"} for _, points in TUNED.values() for point in points]


def seeds_of(point: Point) -> int:
    """Of a value that is tried: the swap model takes six times as long as the others."""
    return 2 if point["method"] == "swap_vae" else 3


longer = chain(
    product(colored, over_steps(chain(decisive, contrast), [500, 1000, 2000, 3000, 6000])),
    product(turned, over_steps(decisive, [1500, 3000, 6000])),
    product(rooms, over_steps(chain(weak[:2], unsupervised[5:6]), [2500, 5000, 10_000, 20_000])),
)
curves = Study(runs=product(longer, seed=RESERVED, decay=DECAY))  # of the weights that were chosen
pilot = Study(
    runs=chain(
        *(product(product(seed=PILOT_SEEDS[: seeds_of(point)]), choosing, [point]) for point in tried),
        product(product(seed=PALETTE_SEEDS), choosing, single(f"Baseline{PILOT}", "cnn")),
        product(rooms, varied, seed=RESERVED, decay=DECAY),
        product(rooms, variant("Ada-GVAE", "no decay"), seed=RESERVED, decay=0.0),
    )
)
studies = {"pilot": pilot, "": study, "curves": curves}
quick = smaller(study)
