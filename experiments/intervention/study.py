"""Disentanglement under correlated factors: "Unsupervised disentanglement learning by intervention".

Plans the runs, trains what has not been trained, evaluates each once on held-out rows with independent factors, and
writes intervention.md and intervention.json.

MNIST is taken from the data root (UNBRAID_DATA); the geometries of 3D Shapes are rendered once and kept there. A folder
`flowers` or a file flowers.zip there, with photographs, is learned from too and shown.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from unbraid.reproduce.intervention_claims import record
from unbraid.reproduce.results import publish
from unbraid.reproduce.runs import commits, gather, need_mnist

from unbraid import api
from unbraid.data.io.paths import data_root
from unbraid.metrics.model.contract import measure
from unbraid.metrics.suite import entry
from unbraid.train.run import Run

SEEDS = (1, 2, 3)  # settings were chosen on seed 0
BATCH, POINTS = 64, 5000
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
VAES: dict[str, tuple[str, dict[str, Any]]] = {
    "FactorVAE 10": ("factor_vae", {**FACTOR, "gamma": 10.0}),
    "FactorVAE 40": ("factor_vae", {**FACTOR, "gamma": 40.0}),
    "beta-TCVAE": ("beta_tcvae", {"width": 16, "lr": 1e-3}),
}
METHODS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "dsprites": {"intervention": ("intervention_ae", OURS), **VAES, "InfoGAN-CR": ("infogan_cr", GAN)},
    "shapes3d": {
        "intervention": ("intervention_ae", {**COLOURS, "lambda_3": 0.01, "weight_lr": 1e-5}),
        **VAES,
        "InfoGAN-CR": ("infogan_cr", {**GAN, "codes": 6}),  # one for each factor
    },
    "cmnist": {
        "intervention": ("intervention_ae", {**COLOURS, **BLOCKS, "lambda_1": 1.0, "weight_lr": 5e-6}),
        "FactorVAE 10": ("group_factor_vae", {**FACTOR, **BLOCKS, "gamma": 10.0}),
        "FactorVAE 40": ("group_factor_vae", {**FACTOR, **BLOCKS, "gamma": 40.0}),
    },
}
SHORTER = {("dsprites", "intervention"), ("dsprites", "InfoGAN-CR"), ("shapes3d", "InfoGAN-CR")}
LONGER = [  # set, method, sigma, steps
    ("dsprites", "intervention", CORRELATED, 4 * FEWER),
    ("cmnist", "intervention", CORRELATED, 3 * STEPS),
    ("cmnist", "FactorVAE 10", INDEPENDENT, 4 * STEPS),
    ("cmnist", "FactorVAE 10", CORRELATED, 4 * STEPS),
]
WEAKER = {"cmnist": (0.4, 0.3)}  # sigma
KEPT = ("cmnist",)
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


@dataclass(frozen=True)
class Setting:
    """One run of the experiment."""

    label: str
    method: str
    arguments: dict[str, Any]
    data: str
    sigma: float
    seed: int
    steps: int
    begun: float | None = None  # sigma of the run of STEPS steps whose weights it begins with, in place of random ones

    @property
    def data_arguments(self) -> dict[str, Any]:
        return {**DATA[self.data], "correlated": self.sigma}


def settings() -> Iterator[Setting]:
    """All runs, seed by seed."""
    for seed in SEEDS:
        for data in DATA:
            for sigma in (INDEPENDENT, CORRELATED):
                for label, (method, arguments) in METHODS[data].items():
                    steps = FEWER if (data, label) in SHORTER else STEPS
                    yield Setting(label, method, arguments, data, sigma, seed, steps)


def looks() -> dict[str, list[Setting]]:
    """Runs on which no claim stands, to see why one does not hold.

    More steps; weaker correlation; and whether a code that came apart with independent factors stays so.
    """
    return {
        "longer": [
            Setting(label, *METHODS[data][label], data, sigma, SEEDS[0], steps) for data, label, sigma, steps in LONGER
        ],
        "weaker": [
            Setting(label, *METHODS[data][label], data, sigma, seed, STEPS)
            for data, sigmas in WEAKER.items()
            for label in METHODS[data]
            for sigma in sigmas
            for seed in SEEDS
        ],
        "kept": [
            Setting("intervention", *METHODS[data]["intervention"], data, CORRELATED, seed, FEWER, INDEPENDENT)
            for data in KEPT
            for seed in SEEDS
        ],
    }


def work(setting: Setting, runs: Path) -> dict[str, Any]:
    """Trains and evaluates a run, or reads what an earlier call found."""
    torch.set_num_threads(1)
    data = api.load_data(setting.data, **setting.data_arguments)
    method = api.build(setting.method, data, seed=setting.seed, **setting.arguments)
    folder = runs
    if setting.begun is not None:
        first = work(replace(setting, sigma=setting.begun, steps=STEPS, begun=None), runs)
        method.load_state_dict(api.load_run(first["path"]).state_dict())
        folder = runs / "kept"
    start = time.process_time()
    run = api.fit(
        method, data, steps=setting.steps, batch=BATCH, seed=setting.seed, out=str(folder), threads=1, show=False
    )
    found = run.path / "intervention.json"
    if not found.exists():
        trained = time.process_time() - start
        facts: dict[str, Any] = {"scores": evaluate(run, method, data, setting)}
        facts |= {"train_seconds": trained, "seconds": time.process_time() - start}
        run.write_json(found.name, facts)
    told = {"label": setting.label, "data": setting.data, "seed": setting.seed, "steps": setting.steps}
    told |= {"sigma": setting.sigma, "correlated": setting.sigma != INDEPENDENT, "path": str(run.path)}
    return {**json.loads(found.read_text()), **told, "weight_variance": weight_variance(run.path)}


def weight_variance(path: Path) -> float | None:
    """Of the importance weights at the end of training, for a method that has them."""
    with (path / "history.csv").open() as history:
        *_, last = csv.DictReader(history)
    return float(last["weight_variance"]) if "weight_variance" in last else None


def evaluate(run: Run, method: Any, data: Any, setting: Setting) -> dict[str, Any]:
    """DCI, SAP and IRS as in appendix D, and the translation metric, on rows that training never saw."""
    arrays = api.represent(run, method, data, points=POINTS)
    block = next(name.removeprefix("codes_") for name in arrays if name.startswith("codes_"))
    units = arrays[f"units_{block}"].tolist() if f"units_{block}" in arrays else None
    names = [str(name) for name in arrays["factor_names"]]
    options: dict[str, dict[str, Any]] = {
        "dci": {**DCI[setting.data], "jobs": 1},
        "sap": {**SAP[setting.data], "jobs": 1},
    }
    scores = {}
    for name in ("dci", "sap", "irs"):  # without the suite's chance levels, which would double the cost
        found = entry(name)(
            arrays[f"codes_{block}"],
            arrays["factors"],
            np.random.default_rng(0),
            units=units,
            **options.get(name, {}),
        )
        scores[name] = replace(found, params={**found.params, "factors": [names[k] for k in found.params["factors"]]})
    scores |= measure(method, data.test or data, metrics=["translation"])
    plain = {name: score.as_dict() for name, score in scores.items()}
    run.write_json("scores.json", plain)  # for the run's report
    return plain


def grow_flowers(runs: Path) -> Path | None:
    """A run on photographs of flowers, to be looked at; nothing where there are none in the data root."""
    path = next((p for p in (data_root() / "flowers", data_root() / "flowers.zip") if p.exists()), None)
    if path is None:
        return None
    torch.set_num_threads(1)
    data = api.load_data("images", path=str(path), size=32)
    method = api.build("intervention_ae", data, **FLOWERS)
    run = api.fit(method, data, steps=FEWER, batch=BATCH, out=str(runs), threads=1, show=False)
    if not (run.path / "pictures.npz").exists():
        api.represent(run, method, data)
    return run.path


def main(out: Path, runs: Path, *, workers: int = 2) -> None:
    """Trains and evaluates what is missing, then writes intervention.md and intervention.json."""
    need_mnist(data_root())
    plan, more = list(settings()), looks()
    found = gather(work, [*plan, *chain(*more.values())], runs, workers=workers)
    rest = iter(found[len(plan) :])
    looked = {name: [next(rest) for _ in group] for name, group in more.items()}
    page = record(found[: len(plan)], looked, out, grow_flowers(runs))
    publish(page, out, "intervention", commits(found))
