"""Invariance and disentanglement from pairs: "Reconstruction for disentanglement, contrast for invariance".

Plans the runs, trains what has not been trained, evaluates each once, and writes invariance.md and invariance.json.

MNIST is taken from the data root (UNBRAID_DATA); 3D Shapes is rendered.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from unbraid.reproduce.invariance_claims import record
from unbraid.reproduce.invariance_scores import by_angle, disentanglement, drawn, shifts
from unbraid.reproduce.invariance_tables import OF_MEANS
from unbraid.reproduce.results import publish
from unbraid.reproduce.runs import commits, gather, need_mnist
from unbraid.scores import score_labelled

from unbraid import api
from unbraid.data.io.paths import data_root

SEEDS = (1, 2, 3)  # of digits: weights were chosen on seed 0
SHAPE_SEEDS = (0, 1, 2)
DIGIT_SETS = {"colored_mnist": 6000, "rotation_colored_mnist": 12_000}  # rows that are scored
STEPS, PAIRS = 1500, 64  # a step sees 64 pairs or 128 single images
ADVERSARY = 3  # UAI: steps of the adversary after each of the model
SHAPE_STEPS, SHAPE_BATCH, SHAPE_POINTS = 3000, 64, 3000
SMALL: dict[str, Any] = {"width": 16, "lr": 1e-3}
SWAP: dict[str, Any] = {
    **SMALL, "beta": 300.0, "weight": 300.0, "contrast_of": "sample", "amount_steps": STEPS // 2
}  # fmt: skip
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "Baseline": ("cnn", SMALL),
    "beta-VAE": ("beta_vae_classifier", SMALL),
    "VFAE": ("vfae", SMALL),
    "CAI": ("cai", {**SMALL, "gamma": 0.1}),  # with 1, its loss blows up on seed 0 and it never recovers
    "CVIB": ("cvib", SMALL),
    "UAI": ("uai", {**SMALL, "adversary_steps": ADVERSARY}),
    "Swap": ("swap_vae", SWAP),
}
SCHEMES: dict[str, dict[str, Any]] = {
    "CE only": {**SWAP, "two_step": False, "beta": 0.0},
    "CE + contrast, jointly": {**SWAP, "two_step": False},
}
MEANS = {key: value for key, value in SWAP.items() if key not in ("contrast_of", "amount_steps")}
CRITIC: dict[str, Any] = {"critic_width": 256, "critic_lr": 1e-3}
UNSUPERVISED: dict[str, tuple[str, dict[str, Any]]] = {  # middle strengths of studies/unsupervised_small.py
    "beta-VAE": ("beta_vae", {"beta": 4.0}),
    "AnnealedVAE": ("annealed_vae", {"c_max": 25.0, "gamma": 4.0, "c_steps": 2 * SHAPE_STEPS // 3}),
    "FactorVAE": ("factor_vae", {"gamma": 30.0, **CRITIC}),
    "DIP-VAE-I": ("dip_vae", {"dip_variant": "i", "lambda_od": 5.0}),
    "DIP-VAE-II": ("dip_vae", {"dip_variant": "ii", "lambda_od": 5.0}),
    "beta-TCVAE": ("beta_tcvae", {"beta": 6.0}),
    "beta-FactorTCVAE": ("beta_factor_tcvae", {"c_steps": 2 * SHAPE_STEPS // 3, "latents": 10, **CRITIC}),
}
CHANGED = 3  # factors, at the end, in which pairs of 3D Shapes differ
GROWING: dict[str, Any] = {"changed": CHANGED, "changed_over": SHAPE_STEPS // 2}
DISENTANGLE: dict[str, Any] = {**SMALL, "predictive": 0, "nuisance": 10}
AMOUNT: dict[str, Any] = {**DISENTANGLE, "amount_steps": SHAPE_STEPS // 2}
WEAK: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Swap": ("swap_vae", AMOUNT, GROWING),
    "Ada-GVAE": ("ada_gvae", SMALL, GROWING),
    "Ada-ML-VAE": ("ada_ml_vae", SMALL, GROWING),
    "Swap, amount only": ("swap_vae", AMOUNT, {"changed": CHANGED}),
    "Swap, no warm-up": ("swap_vae", DISENTANGLE, {"changed": CHANGED}),
}


@dataclass(frozen=True)
class Setting:
    """One run of the experiment."""

    label: str
    data: str
    method: str
    arguments: dict[str, Any]
    seed: int
    steps: int
    batch: int
    sampling: dict[str, Any] = field(default_factory=dict)


def settings() -> Iterator[Setting]:
    """All runs, those that decide the claims first."""
    for seed in SEEDS:
        for data in DIGIT_SETS:
            for label, (method, arguments) in MODELS.items():
                yield _digits(label, data, method, arguments, seed)
            for label, arguments in {**SCHEMES, OF_MEANS: MEANS}.items():
                yield _digits(label, data, "swap_vae", arguments, seed)
    for seed in SHAPE_SEEDS:
        for label, (method, arguments, sampling) in WEAK.items():
            yield Setting(label, "shapes3d", method, arguments, seed, SHAPE_STEPS, SHAPE_BATCH, sampling)
        for label, (method, arguments) in UNSUPERVISED.items():
            yield Setting(label, "shapes3d", method, {**SMALL, **arguments}, seed, SHAPE_STEPS, SHAPE_BATCH)


def _digits(label: str, data: str, method: str, arguments: dict[str, Any], seed: int) -> Setting:
    if method == "swap_vae":
        return Setting(label, data, method, arguments, seed, STEPS, PAIRS, {"changed": 1})
    turns = 1 + ADVERSARY if method == "uai" else 1
    return Setting(label, data, method, arguments, seed, turns * STEPS, 2 * PAIRS)


def work(setting: Setting, runs: Path) -> dict[str, Any]:
    """Trains and evaluates a run, or reads what an earlier call found."""
    torch.set_num_threads(1)
    data = api.load_data(setting.data, **({"size": 32} if setting.data == "shapes3d" else {}))
    method = api.build(setting.method, data, seed=setting.seed, **setting.arguments)
    start = time.process_time()
    plan: dict[str, Any] = {"steps": setting.steps, "batch": setting.batch, "seed": setting.seed}
    run = api.fit(method, data, **plan, sampling=setting.sampling, out=str(runs), threads=1, show=False)
    found = run.path / "invariance.json"
    if not found.exists():
        seconds = time.process_time() - start
        codes = api.represent(run, method, data, points=DIGIT_SETS.get(setting.data, SHAPE_POINTS))
        labelled = setting.data in DIGIT_SETS
        scores = score_labelled(codes) if labelled else disentanglement(codes)
        run.write_json("scores.json", {name: score.as_dict() for name, score in scores.items()})
        facts = {"label": setting.label, "data": setting.data, "seed": setting.seed, "train_seconds": seconds}
        facts |= {"angles": by_angle(codes), "shifts": shifts(method, data), "drawn": drawn(method, data)}
        facts["seconds"] = time.process_time() - start
        run.write_json(found.name, facts)
    return {**json.loads(found.read_text()), "scores": run.scores(), "path": str(run.path)}


def main(out: Path, runs: Path, *, workers: int = 2) -> None:
    """Trains and evaluates what is missing, then writes invariance.md and invariance.json."""
    need_mnist(data_root())
    found = gather(work, list(settings()), runs, workers=workers)
    publish(record(found, out), out, "invariance", commits(found))
