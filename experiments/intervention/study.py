"""Disentanglement under correlated factors: "Unsupervised disentanglement learning by intervention".

Scores are taken on held-out rows with independent factors. A folder `flowers` or a file flowers.zip in the data root,
with photographs, is learned from too and shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from unbraid.data.io.paths import data_root
from unbraid.study.evaluation import Evaluation
from unbraid.study.plan import Point, Study, chain, product

needs = ("mnist",)

SEEDS = (1, 2, 3)  # settings were chosen on seed 0
BATCH = 64
STEPS, FEWER = 2500, 1500
CORRELATED = 0.2  # sigma
INDEPENDENT = 1000.0  # sigma: all combinations are alike, with as many rows and the same rows held out as above
DATA: dict[str, dict[str, Any]] = {"dsprites": {"size": 32}, "shapes3d": {"size": 32}, "cmnist": {}}
FACTOR: dict[str, Any] = {"width": 16, "lr": 1e-3, "critic_width": 256, "critic_lr": 1e-3}
RATES: dict[str, Any] = {"lr": 1e-3, "decoder_lr": 1e-3, "critic_lr": 1e-3, "weight_lr": 1e-4}
OURS: dict[str, Any] = {"width": 16, "critic_width": 16, "lambda_3": 0.1, **RATES}
COLOURS: dict[str, Any] = {**OURS, "lambda_2": 100.0, "lr": 2e-3, "decoder_lr": 2e-3}
GAN: dict[str, Any] = {"width": 16, "contrast_from": 1000}
BLOCKS: dict[str, Any] = {"features": 2, "dims": 16}
VAES: dict[str, dict[str, Any]] = {
    "FactorVAE 10": {"method": "factor_vae", **FACTOR, "gamma": 10.0},
    "FactorVAE 40": {"method": "factor_vae", **FACTOR, "gamma": 40.0},
    "beta-TCVAE": {"method": "beta_tcvae", "width": 16, "lr": 1e-3},
}
METHODS: dict[str, dict[str, dict[str, Any]]] = {
    "dsprites": {
        "intervention": {"method": "intervention_ae", **OURS},
        **VAES,
        "InfoGAN-CR": {"method": "infogan_cr", **GAN},
    },
    "shapes3d": {
        "intervention": {"method": "intervention_ae", **COLOURS, "lambda_3": 0.01, "weight_lr": 1e-5},
        **VAES,
        "InfoGAN-CR": {"method": "infogan_cr", **GAN, "codes": 6},  # one for each factor
    },
    "cmnist": {
        "intervention": {"method": "intervention_ae", **COLOURS, **BLOCKS, "lambda_1": 1.0, "weight_lr": 5e-6},
        "FactorVAE 10": {"method": "group_factor_vae", **FACTOR, **BLOCKS, "gamma": 10.0},
        "FactorVAE 40": {"method": "group_factor_vae", **FACTOR, **BLOCKS, "gamma": 40.0},
    },
}
SHORTER = {("dsprites", "intervention"), ("dsprites", "InfoGAN-CR"), ("shapes3d", "InfoGAN-CR")}
MORE = [  # set, method, sigma, times as many steps
    ("dsprites", "intervention", CORRELATED, 4),
    ("cmnist", "intervention", CORRELATED, 3),
    ("cmnist", "FactorVAE 10", INDEPENDENT, 4),
    ("cmnist", "FactorVAE 10", CORRELATED, 4),
]
WEAKER = (0.4, 0.3)  # sigma
LONGER, KEPT = ", longer", ", kept"  # how the labels of runs end on which no claim stands
FLOWERS: dict[str, Any] = {**OURS, "features": 3, "dims": 16, "lambda_1": 1.0, "lambda_2": 100.0}
FLOWERS |= {"critic_layers": 2, "leak": 0.2}  # as in table 9
DCI: dict[str, dict[str, Any]] = {  # random forests that predict a factor's number, depths as in the paper's appendix D
    "dsprites": {"predictor": "regressor", "depths": [4, 2, 4, 2, 2]},
    "shapes3d": {"predictor": "regressor"},
    "cmnist": {"predictor": "forest"},
}
KINDS: dict[str, Any] = {"method": "logistic", "standardise": True}
SAP: dict[str, dict[str, Any]] = {  # shape and digit are kinds, and hues of digits; the others are quantities
    "dsprites": {**KINDS, "ordered": [1, 2, 3, 4]},
    "shapes3d": {**KINDS, "ordered": [0, 1, 2, 3, 5]},
    "cmnist": KINDS,
}


METRICS = {data: {"dci": DCI[data], "sap": SAP[data], "irs": {}, "translation": {}} for data in DATA}
EVALUATIONS = {
    "images": Evaluation(metrics={}, points=10_000),
    **{
        data: Evaluation(metrics=metrics, points=5_000, measures=["measures.py:weight_variance"])
        for data, metrics in METRICS.items()
    },
}


def runs(seeds: Sequence[int], steps: int, fewer: int, evaluations: Mapping[str, Evaluation]) -> list[Point]:
    """All runs: those that claims stand on seed by seed, then those that show why one does not hold, then flowers.

    Args:
        seeds: of the runs that claims stand on
        steps: of most runs
        fewer: steps of a few
        evaluations: by data set
    """

    def some(data: str, method: str, sigma: float | Sequence[float], **more: Any) -> list[Point]:
        count = fewer if (data, method) in SHORTER else steps
        rest = {"label": method, "steps": count, "seed": seeds, "evaluation": evaluations[data], **more}
        return product(data=data, correlated=sigma, batch=BATCH, **DATA[data], **METHODS[data][method], **rest)

    def longer(data: str, method: str, sigma: float, times: int) -> list[Point]:
        count = times * (fewer if (data, method) in SHORTER else steps)
        return some(data, method, sigma, label=method + LONGER, steps=count, seed=seeds[0])

    start = {"correlated": INDEPENDENT, "steps": steps}
    main = chain(*(some(d, m, s) for d in DATA for s in (INDEPENDENT, CORRELATED) for m in METHODS[d]))
    return chain(
        sorted(main, key=lambda point: int(point["seed"])),
        *(longer(*given) for given in MORE),
        *(some("cmnist", label, WEAKER) for label in METHODS["cmnist"]),
        some("cmnist", "intervention", CORRELATED, label="intervention" + KEPT, steps=fewer, start_from=start),
        flowers(fewer, evaluations["images"]),
    )


def flowers(steps: int, evaluation: Evaluation) -> list[Point]:
    """A run on photographs of flowers, to be looked at; nothing where there are none in the data root."""
    places = [place for place in (data_root() / "flowers", data_root() / "flowers.zip") if place.exists()]
    own = {"data": "images", "size": 32, "batch": BATCH, "method": "intervention_ae", **FLOWERS}
    return product(label="flowers", path=list(map(str, places[:1])), steps=steps, evaluation=evaluation, **own)


def small() -> list[Point]:
    """The same for one seed, in a size of seconds."""
    few = {"dci": {"rounds": 2}, "translation": {"steps": 1, "repeats": 1, "batch": 8, "width": 4}}
    evaluations = {
        data: replace(given, points=100, metrics={**METRICS[data], **few} if data in METRICS else {})
        for data, given in EVALUATIONS.items()
    }
    return [{**point, "batch": 16, "width": 4} for point in runs(SEEDS[:1], 3, 2, evaluations)]


study = Study(runs=runs(SEEDS, STEPS, FEWER, EVALUATIONS))
quick = Study(runs=small())
