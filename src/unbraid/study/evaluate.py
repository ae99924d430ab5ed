"""Evaluates a trained run: codes.npz, scores.json, and evaluation.json, written last.

evaluation.json holds how the run was evaluated (points, bootstrap, metrics with their options), `quantities`, what it
cost (`kind`, `rate` in steps per second, `seconds` of training and of evaluation), and `host`.

The quantities need no labels. All in nats per sample, on the encoded rows:

    reconstruction             E_q(z|x)[-log p(x|z)], one sample of z for each row
    kl                         KL(q(z|x) || p(z)), summed over latents, in closed form
    elbo                       -(reconstruction + kl)
    total_correlation.mean     of a Gaussian with the covariance of the posterior means (first block)
    total_correlation.sampled  the same of samples from the posterior
    active_units               latents whose KL is above ACTIVE nats
"""

from __future__ import annotations

import math
import platform
import time
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid import catalogue
from unbraid.data.table import Rows, Table
from unbraid.encode import BATCH, images, represent
from unbraid.maths import gaussian
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.gaussian_total_correlation import gaussian_total_correlation
from unbraid.metrics.model.contract import measure
from unbraid.metrics.suite import entry, needs_factors
from unbraid.metrics.suite import score as score_arrays
from unbraid.nets.autoencoders import GAUSSIAN_SCALE
from unbraid.train.run import Run

ACTIVE = 0.01  # nats
SEED = 0  # of the rows drawn, of the sampled codes and of what the metrics draw: alike for all runs


def evaluate(
    run: Run,
    method: Method[Any],
    data: Table,
    evaluation: dict[str, Any],
    costs: dict[str, Any],
    threads: int,
    earlier: dict[str, Any] | None = None,
) -> None:
    """Encodes and scores a trained run; scores of an `earlier` evaluation of the same rows are kept."""
    begin = time.monotonic()
    arrays = represent(run, method, data, points=evaluation["points"], seed=SEED)
    quantities = unsupervised(method, data.test or data, arrays["rows"])
    before = earlier["metrics"] if earlier else {}
    kept = {label: score for label, score in run.scores().items() if label in before} if earlier else {}
    missing = {label: opts for label, opts in evaluation["metrics"].items() if before.get(label) != opts}
    block = next(name.removeprefix("codes_") for name in arrays if name.startswith("codes_"))
    factors = arrays["factors"] if arrays["factors"].shape[1] else None
    names = [str(name) for name in arrays["factor_names"]]
    of_model = {label: opts for label, opts in missing.items() if label.partition(":")[0] in catalogue.of_models()}
    of_codes = {label: opts for label, opts in missing.items() if label not in of_model}
    units = arrays[f"units_{block}"].tolist() if f"units_{block}" in arrays else None
    found = _scores(arrays[f"codes_{block}"], factors, names, of_codes, evaluation["bootstrap"], threads, units)
    found |= _model_scores(method, data.test or data, of_model)
    run.write_json("scores.json", kept | {label: score.as_dict() for label, score in found.items()})
    if earlier and costs["rate"] is None:
        costs = {name: earlier[name] for name in ("kind", "rate", "seconds")}
    seconds = {**costs["seconds"], "evaluate": time.monotonic() - begin}
    result = {**evaluation, "metrics": {**before, **evaluation["metrics"]}, "quantities": quantities}
    run.write_json("evaluation.json", {**result, **costs, "seconds": seconds, "host": platform.node()})


def _scores(
    codes: Codes,
    factors: Factors | None,
    names: list[str],
    metrics: dict[str, dict[str, Any]],
    bootstrap: int,
    threads: int,
    units: list[int] | None,
) -> dict[str, Score]:
    scores = {}
    for label, options in metrics.items():
        name = label.partition(":")[0]
        if factors is None and needs_factors(entry(name)):
            continue
        found = score_arrays(
            codes,
            factors,
            metrics=[name],
            seed=SEED,
            bootstrap=bootstrap,
            names=names if factors is not None else None,
            units=units,
            options={name: options},
            jobs=threads,
        )
        scores[label] = found[name]
    return scores


def _model_scores(method: Method[Any], table: Table, metrics: dict[str, dict[str, Any]]) -> dict[str, Score]:
    scores = {}
    for label, options in metrics.items():
        name = label.partition(":")[0]
        scores[label] = measure(method, table, metrics=[name], seed=SEED, options={name: options})[name]
    return scores


@torch.no_grad()
def unsupervised(method: Method[Any], table: Table, rows: Rows) -> dict[str, float | None]:
    """What can be known of a model without labels; only what the method has parts for."""
    totals: dict[str, float] = {}
    kl = torch.zeros(0)
    means: list[Tensor] = []
    samples: list[Tensor] = []
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        for start in range(0, len(rows), BATCH):
            x = images(method, table, rows[start : start + BATCH])
            blocks, posterior = method.encode(x), method.posterior(x)
            drawn = {block: gaussian.sample(mu, log_var) for block, (mu, log_var) in posterior.items()}
            each = [gaussian.kl_to_standard(mu, log_var).sum(0).double().cpu() for mu, log_var in posterior.values()]
            kl = torch.cat(each) + (kl if len(kl) else 0.0) if each else kl  # [latents of all blocks]
            picture = method.decode(blocks | drawn) if posterior else None
            if picture is not None:
                nll = image_nll(picture, x, method.arguments.get("likelihood", "bernoulli")).double().sum().item()
                totals["reconstruction"] = totals.get("reconstruction", 0.0) + nll
            first = next(iter(blocks))
            means.append(blocks[first].cpu())
            if first in drawn:
                samples.append(drawn[first].cpu())
    found = {name: total / len(rows) for name, total in totals.items()}
    if len(kl):
        found["kl"] = kl.sum().item() / len(rows)
        found["active_units"] = float((kl / len(rows) > ACTIVE).sum())
    if {"kl", "reconstruction"} <= found.keys():
        found["elbo"] = -(found["reconstruction"] + found["kl"])
    correlations = {"mean": means, "sampled": samples}
    return found | {f"total_correlation.{name}": _total_correlation(p) for name, p in correlations.items() if p}


def image_nll(picture: Tensor, x: Tensor, likelihood: str) -> Tensor:
    """-log p(x|z) in nats, summed over the image, from the expected image. [b, c, h, w] -> [b]

    A Bernoulli's logit is limited to 16.6, above which 1 - p is not a float32 any more.
    """
    if likelihood == "bernoulli":
        picture = picture.clamp(torch.finfo(torch.float32).tiny, 1 - 2.0**-24)
        return F.binary_cross_entropy(picture, x, reduction="none").flatten(1).sum(1)
    squares = ((x - picture) / GAUSSIAN_SCALE).square().flatten(1).sum(1) / 2
    return squares + x[0].numel() * math.log(GAUSSIAN_SCALE * math.sqrt(2 * math.pi))


def _total_correlation(parts: list[Tensor]) -> float | None:
    value = gaussian_total_correlation(torch.cat(parts).double().numpy(), np.random.default_rng(SEED)).value
    return value if math.isfinite(value) else None
