"""What can be known of a trained model without labels. All in nats per sample, on the encoded rows:

reconstruction             E_q(z|x)[-log p(x|z)], one sample of z for each row
kl                         KL(q(z|x) || p(z)), summed over latents, in closed form
elbo                       -(reconstruction + kl)
total_correlation.mean     of a Gaussian with the covariance of the posterior means (first block)
total_correlation.sampled  the same of samples from the posterior
active_units               latents whose KL is above ACTIVE nats

kl, elbo and active_units are left out of methods with another prior or bound (`Method.has_bound`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.data.table import Rows, Table
from unbraid.encode import BATCH, encoded, images
from unbraid.machine import forked_rng, seed_torch
from unbraid.maths import gaussian
from unbraid.methods.contract import Method
from unbraid.metrics.gaussian_total_correlation import gaussian_total_correlation
from unbraid.nets.autoencoders import GAUSSIAN_SCALE, Decoder, counts_nll

ACTIVE = 0.01  # nats


@torch.no_grad()
def unsupervised_quantities(method: Method[Any], table: Table, rows: Rows, *, seed: int = 0) -> dict[str, float | None]:
    """Only what the method has parts for.

    Args:
        seed: of the sampled codes
    """
    totals: dict[str, float] = {}
    kl = torch.zeros(0)
    means: list[Tensor] = []
    samples: list[Tensor] = []
    device = next(method.parameters()).device
    with forked_rng(device):
        seed_torch(seed, device)
        for start in range(0, len(rows), BATCH):
            x = images(method, table, rows[start : start + BATCH])
            blocks, posterior = encoded(method, x)
            drawn = {block: gaussian.sample(mu, log_var) for block, (mu, log_var) in posterior.items()}
            compared = posterior.values() if method.has_bound else ()
            each = [gaussian.kl_to_standard(mu, log_var).sum(0).cpu().double() for mu, log_var in compared]
            kl = torch.cat(each) + (kl if len(kl) else 0.0) if each else kl  # [latents of all blocks]
            picture = method.decode(blocks | drawn) if posterior else None
            if picture is not None:
                nll = image_nll(picture, x, *likelihood_of(method)).cpu().double().sum().item()
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
    return found | {f"total_correlation.{name}": _total_correlation(p, seed) for name, p in correlations.items() if p}


def likelihood_of(method: Method[Any]) -> tuple[str, float, Tensor | None]:
    """The distribution of the pixels with its standard deviation or log theta, which the decoder may have learnt."""
    decoder, given = getattr(method, "decoder", None), method.arguments
    if isinstance(decoder, Decoder):
        return decoder.likelihood, decoder.sigma, decoder.log_theta
    return given.get("likelihood", "bernoulli"), given.get("sigma", GAUSSIAN_SCALE), None


def image_nll(
    picture: Tensor, x: Tensor, likelihood: str, sigma: float = GAUSSIAN_SCALE, log_theta: Tensor | None = None
) -> Tensor:
    """-log p(x|z) in nats, summed over the image, from the expected image. [b, c, h, w] -> [b]

    A Bernoulli's logit is limited to 16.6, above which 1 - p is not a float32 any more. Of counts, picture and x are
    log(1 + count), and only the shares of the expected counts in their sum matter.
    """
    if log_theta is not None:
        expected = torch.expm1(picture.flatten(1)).clamp(min=torch.finfo(torch.float32).tiny)
        return counts_nll((expected / expected.sum(1, keepdim=True)).log(), x, log_theta)
    if likelihood == "bernoulli":
        picture = picture.clamp(torch.finfo(torch.float32).tiny, 1 - 2.0**-24)
        return F.binary_cross_entropy(picture, x, reduction="none").flatten(1).sum(1)
    squares = ((x - picture) / sigma).square().flatten(1).sum(1) / 2
    return squares + x[0].numel() * math.log(sigma * math.sqrt(2 * math.pi))


def _total_correlation(parts: list[Tensor], seed: int) -> float | None:
    value = gaussian_total_correlation(torch.cat(parts).double().numpy(), np.random.default_rng(seed)).value
    return value if math.isfinite(value) else None
