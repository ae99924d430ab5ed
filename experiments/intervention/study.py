"""Disentanglement under correlated factors: "Unsupervised disentanglement learning by intervention".

The runs, those that decide the claims first. Scores are taken on held-out rows with independent factors. Settings for
digits are chosen on seeds from 100 on and rows of another draw, with digits that are held out of the training rows. The
pilot is run alone, before the others, and what it chooses is written here (notes.md):

    unbraid study experiments/intervention/study.py:pilot --out runs/intervention/pilot

A folder `flowers` or a file flowers.zip or flowers12-224.zip in the data root, with photographs, is
learned from too and shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from unbraid.data.io.paths import data_root
from unbraid.study.evaluation import Evaluation
from unbraid.study.plan import Point, Study, chain, product

needs = ("mnist",)

MAIN_SEEDS, SEEDS, FEW_SEEDS, RESERVED = range(11, 19), range(11, 16), range(11, 14), range(100, 102)
BATCH, DECAY = 64, 0.3
STEPS = {"dsprites": 6000, "shapes3d": 6000, "cmnist": 8000}
FLOWER_STEPS, RECIPE_STEPS, WIDE_STEPS = 3000, (20_000, 5_000), 15_000  # the recipe without L_diff, then with it
PILOT_STEPS, FIRST_STEPS = 4000, 2500
CURVE = (0.5, 2.0)  # of the steps of the other runs
CORRELATED = 0.2  # sigma
INDEPENDENT = 1000.0  # sigma: all combinations are alike, with as many rows and the same rows held out as above
WEAKER = (0.4, 0.3)  # sigma
DATA: dict[str, dict[str, Any]] = {"dsprites": {"size": 32}, "shapes3d": {"size": 32}, "cmnist": {}}
FACTOR: dict[str, Any] = {"width": 16, "lr": 1e-3, "critic_width": 256, "critic_lr": 1e-3}
RATES: dict[str, Any] = {"lr": 1e-3, "decoder_lr": 1e-3, "critic_lr": 1e-3, "weight_lr": 1e-5}
OURS: dict[str, Any] = {"width": 16, "critic_width": 16, "lambda_3": 0.1, "diff_every": 4, **RATES}
GAN: dict[str, Any] = {"width": 16, "contrast_from": 3000}
BLOCKS: dict[str, Any] = {"features": 2, "dims": 16}
OF_DIGITS: dict[str, Any] = {"lambda_1": 1.0, "lambda_2": 100.0, "weight_lr": 5e-6}
VAES: dict[str, dict[str, Any]] = {
    "FactorVAE 10": {"method": "factor_vae", **FACTOR, "gamma": 10.0},
    "FactorVAE 40": {"method": "factor_vae", **FACTOR, "gamma": 40.0},
    "beta-TCVAE": {"method": "beta_tcvae", "width": 16, "lr": 1e-3},
    "HFS": {"method": "hfs", "width": 16, "lr": 1e-3, "beta": 4.0},  # not the paper's: a rival since, for such splits
}
METHODS: dict[str, dict[str, dict[str, Any]]] = {
    "dsprites": {
        "intervention": {"method": "intervention_ae", **OURS},
        **VAES,
        "InfoGAN-CR": {"method": "infogan_cr", **GAN},
    },
    "shapes3d": {
        "intervention": {"method": "intervention_ae", **OURS, "lambda_2": 100.0, "lambda_3": 0.01},
        **VAES,
        "InfoGAN-CR": {"method": "infogan_cr", **GAN, "codes": 6},  # one for each factor
    },
    "cmnist": {
        "intervention": {"method": "intervention_ae", **OURS, **BLOCKS, **OF_DIGITS},
        "FactorVAE 10": {"method": "group_factor_vae", **FACTOR, **BLOCKS, "gamma": 10.0},
        "FactorVAE 40": {"method": "group_factor_vae", **FACTOR, **BLOCKS, "gamma": 40.0},
    },
}
DECIDING = ("intervention", "FactorVAE 10")
ORDER = ("cmnist", "dsprites", "shapes3d")
PLANNED: dict[str, Any] = {  # of ours on digits, written out: it stays whatever the pilot chooses
    "method": "intervention_ae", "features": 2, "dims": 16, "width": 16, "critic_width": 16, "steps": PILOT_STEPS,
    "lambda_1": 1.0, "lambda_2": 100.0, "lambda_3": 0.1, "diff_every": 4, "decay": DECAY,
    "lr": 1e-3, "decoder_lr": 1e-3, "critic_lr": 1e-3, "weight_lr": 5e-6,
}  # fmt: skip
GAME: dict[str, Any] = {"lambda_3": 0.0, "diff_every": 1}  # without L_diff
TENTH: dict[str, Any] = {"weight_lr": 1e-4}  # of the encoder's rate, as in the paper
TRIED: dict[str, dict[str, Any]] = {
    "as planned": {},
    "without L_diff": GAME,
    "without L_diff, lambda_2 10": {**GAME, "lambda_2": 10.0},
    "without L_diff, lambda_2 30": {**GAME, "lambda_2": 30.0},
    "without L_diff, lambda_1 10, lambda_2 10": {**GAME, "lambda_1": 10.0, "lambda_2": 10.0},
    "without L_diff, lambda_2 10, weights at a tenth": {**GAME, "lambda_2": 10.0, **TENTH},
}
BESIDE: dict[str, dict[str, Any]] = {  # for one seed: what they say does not choose
    "L_diff at every step": {"diff_every": 1},
    "the first record's": {
        "diff_every": 1, "decay": 0.0, "steps": FIRST_STEPS, "lr": 2e-3, "decoder_lr": 2e-3,
    },
}  # fmt: skip
SEPARATED: dict[str, Any] = {  # FactorVAE that separated digits from hues, written out
    "method": "group_factor_vae", "features": 2, "dims": 16, "gamma": 10.0, "steps": 8000, "decay": DECAY,
    "width": 16, "lr": 1e-3, "critic_width": 256, "critic_lr": 1e-3,
}  # fmt: skip
TRIED_OF_RIVAL: dict[str, dict[str, Any]] = {
    "FactorVAE 10": {},
    "FactorVAE 10, no decay": {"decay": 0.0},
    "FactorVAE 10, no decay, 2,500 steps": {"decay": 0.0, "steps": FIRST_STEPS},
}
RECIPE: dict[str, Any] = {  # the paper's rates and lambdas, at a quarter of its width
    "lambda_1": 1.0, "lambda_2": 10.0, "diff_every": 1, "decay": 0.0,
    "lr": 1e-4, "decoder_lr": 1e-4, "critic_lr": 1e-4, "weight_lr": 1e-5,
}  # fmt: skip
FLOWERS: dict[str, Any] = {**OURS, "features": 3, "dims": 16, "lambda_1": 1.0, "lambda_2": 100.0}
FLOWERS |= {"critic_layers": 2, "leak": 0.2}  # as in table 9
OVER_STEPS, PILOT, OF_THE_PAPER = ", over steps", ", pilot", "the paper's recipe"
WITH_L_DIFF, WIDE = f"{OF_THE_PAPER}, then with L_diff", f"{OF_THE_PAPER}, its width"
MEASURES = ("measures.py:weight_variance", "measures.py:game")
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
METRICS: dict[str, dict[str, dict[str, Any]]] = {
    data: {
        "dci": DCI[data],
        "sap": SAP[data],
        "irs": {},
        "translation": {},
        "exchange": {"ordered": SAP[data].get("ordered")},
        "reencoded_sap": SAP[data],
        "reencoded_irs": {},
        "reencoded_dci": DCI[data],
        "alone_sap": SAP[data],
    }
    for data in DATA
}
EVALUATIONS = {
    "images": Evaluation(metrics={}, points=10_000),
    **{data: Evaluation(metrics=metrics, points=5_000, measures=MEASURES) for data, metrics in METRICS.items()},
    "pilot": Evaluation(
        metrics={"exchange": {}, "sap": SAP["cmnist"], "reencoded_sap": SAP["cmnist"]}, points=5_000, measures=MEASURES
    ),
}


def some(data: str, method: str, sigma: float, seeds: Iterable[int], **more: Any) -> list[Point]:
    """Runs of a method on a set with factors that are correlated by sigma."""
    own = {"label": method, "steps": STEPS[data], "evaluation": EVALUATIONS[data], "batch": BATCH, "decay": DECAY}
    own |= METHODS[data][method] | more
    return product(product(seed=seeds), data=data, correlated=sigma, **DATA[data], **own)


def seeds_of(data: str, method: str) -> range:
    """More where a rule compares with few methods."""
    if method in DECIDING or (data != "cmnist" and method in ("FactorVAE 40", "beta-TCVAE")):
        return MAIN_SEEDS
    return FEW_SEEDS if method == "HFS" else SEEDS


def by_seed(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda point: int(point["seed"]))


def over_steps(method: str, sigma: float) -> list[Point]:
    lengths = [int(share * STEPS["cmnist"]) for share in CURVE]
    return some("cmnist", method, sigma, MAIN_SEEDS[:1], label=method + OVER_STEPS, steps=lengths)


def flowers() -> list[Point]:
    """A run on photographs of flowers, to be looked at; nothing where there are none in the data root."""
    names = ("flowers", "flowers.zip", "flowers12-224.zip")
    places = [place for name in names if (place := data_root() / name).exists()]
    own = {"data": "images", "size": 32, "batch": BATCH, "decay": DECAY, "method": "intervention_ae", **FLOWERS}
    rest = {"steps": FLOWER_STEPS, "seed": MAIN_SEEDS[0], "evaluation": EVALUATIONS["images"]}
    return product(label="flowers", path=list(map(str, places[:1])), **rest, **own)


BOTH = (INDEPENDENT, CORRELATED)
deciding = chain(*(by_seed(chain(*(some(d, m, s, MAIN_SEEDS) for s in BOTH for m in DECIDING))) for d in ORDER))
others = chain(*(some(d, m, s, seeds_of(d, m)) for d in ORDER for s in BOTH for m in METHODS[d] if m not in DECIDING))
runs = chain(
    deciding,
    by_seed(others),
    *(over_steps(m, s) for m in DECIDING for s in BOTH),
    *(some("cmnist", m, s, FEW_SEEDS) for m in DECIDING for s in WEAKER),
    flowers(),
)


def tried(label: str, seeds: Iterable[int], sigmas: Iterable[float] = BOTH, **setting: Any) -> list[Point]:
    """Runs of the pilot, on digits and rows that the study does not have."""
    own = {"label": label + PILOT, "tuning": True, "draw": RESERVED[0], "evaluation": EVALUATIONS["pilot"]}
    return product(product(seed=seeds, correlated=list(sigmas)), data="cmnist", batch=BATCH, **own, **setting)


def recipe() -> list[Point]:
    """The paper's: without L_diff, and from there with it; and one run without it that has the paper's width."""
    own, first = PLANNED | RECIPE, {"lambda_3": 0.0, "steps": RECIPE_STEPS[0]}
    then = {"lambda_3": 1.0, "steps": RECIPE_STEPS[1], "start_from": first}
    wide = {"lambda_3": 0.0, "steps": WIDE_STEPS, "width": 64, "critic_width": 64}
    return chain(
        tried(OF_THE_PAPER, RESERVED, **{**own, **first}),
        tried(WITH_L_DIFF, RESERVED, **{**own, **then}),
        tried(WIDE, RESERVED[:1], (CORRELATED,), **{**own, **wide}),
    )


pilot = Study(
    runs=chain(
        *(tried(name, RESERVED, **{**PLANNED, **changed}) for name, changed in TRIED.items()),
        *(tried(name, RESERVED, **{**SEPARATED, **changed}) for name, changed in TRIED_OF_RIVAL.items()),
        recipe(),
        *(tried(name, RESERVED[:1], **{**PLANNED, **changed}) for name, changed in BESIDE.items()),
    )
)


def small(points: Iterable[Point]) -> list[Point]:
    """The same for one seed, in a size of seconds."""
    features = {"intervention_ae": "features", **dict.fromkeys(("factor_vae", "beta_tcvae", "hfs"), "latents")}
    few: Mapping[str, dict[str, Any]] = {
        **{name: {"rounds": 2} for name in ("dci", "reencoded_dci")},
        **{name: {"method": "correlation"} for name in ("sap", "reencoded_sap", "alone_sap")},
        "translation": {"steps": 1, "repeats": 1, "batch": 8, "width": 4},
        "exchange": {"pairs": 40, "bootstrap": 0, "train": 40, "steps": 2, "width": 4},
    }
    found: dict[tuple[Any, ...], Point] = {}
    for point in points:
        own = {**point, "batch": 16, "width": 4, "steps": 4 if OVER_STEPS in point["label"] else 3}
        if name := features.get(point["method"]):
            own = {name: 3, **own}  # three where the study has the usual ten
        given = point["evaluation"]
        metrics = {name: few.get(name, of) for name, of in given.metrics.items()}
        own["evaluation"] = replace(given, points=100, metrics=metrics)
        found.setdefault((point["label"], point["data"], point.get("correlated")), own)
    return list(found.values())


study = Study(runs=runs)
studies = {"pilot": pilot, "": study}
quick = Study(runs=small(runs))
