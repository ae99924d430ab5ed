"""Target against background: "Towards principled objectives for contrastive disentanglement", on digits.

The runs, those that decide the claims first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unbraid.study import Study, chain, product
from unbraid.study.plan import Point
from unbraid.study.reproduce import smaller

needs = ("mnist", "grass.png", "cifar10|cifar10-images.zip")
STEPS = 2500
SEEDS, MORE_SEEDS = (0, 1, 2), (3, 4)  # those of the claim on W2 that three seeds left unclear


def two_sets(label: str, method: str, **arguments: Any) -> list[Point]:
    return product(label=label, method=method, steps=STEPS, net="dense", **arguments)


def one_set(label: str, method: str) -> list[Point]:
    arguments: Point = {"net": "dense", "latents": 24, "likelihood": "gaussian", "lr": 1e-3}
    return product(label=label, method=method, steps=STEPS, **arguments)


def both_equations(sizes: str, common: int, salient: int) -> list[Point]:
    """Eq. 7 and Eq. 8 with other latent sizes."""
    losses = {"Eq. 7": 0.0, "Eq. 8": 1.0}.items()
    return chain(
        *(two_sets(f"{m}, {sizes}", "salient_vae", lambda_z=w, common=common, salient=salient) for m, w in losses)
    )


ours = chain(two_sets("Eq. 8", "salient_vae"), two_sets("Eq. 7", "salient_vae", lambda_z=0.0))
cvae = two_sets("cVAE", "cvae")
reference_based = chain(two_sets("sRbVAE", "srb_vae"), two_sets("RbVAE", "rb_vae"))
cpca = product(label="cPCA", method="cpca", steps=1)  # solved, not trained
single = chain(one_set("VAE", "vae"), one_set("beta-TCVAE", "beta_tcvae"), one_set("DIP-VAE-II", "dip_vae"))
strengths = chain(*(two_sets(f"Eq. 8, lambda_z {w:g}", "salient_vae", lambda_z=w) for w in (0.1, 10.0)))
small = both_equations("8/4", 8, 4)  # the latent sizes that the paper gives in symbols
lean = both_equations("4/12", 4, 12)  # no more common latents than the grass can fill

linear = product(data="grassy_mnist", combine="linear")
grass = product(data="grassy_mnist", combine=["linear", "nonlinear"])
photographs = product(data="photo_mnist")
every = chain(
    product(grass, chain(ours, cvae, reference_based, cpca, single)),
    product(photographs, chain(ours, reference_based)),
    product(linear, chain(strengths, lean)),
)
runs = chain(
    [run for run in product(product(seed=SEEDS), every) if run["method"] != "cpca" or run["seed"] == 0],  # not random
    product(linear, small, seed=0),
    product(product(seed=MORE_SEEDS), grass, ours),
)
study = Study(runs=product(runs, batch=128), metrics=["two_sets"], points=5000, measures=["measures.py:truth"])
tiny = [{**run, "per_class": 30, "batch": 32} for run in smaller(study).runs]
quick = replace(study, runs=tiny, points=150)
