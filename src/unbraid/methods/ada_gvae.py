"""Ada-GVAE: pairs that differ in a few factors, Locatello et al. 2020 (arXiv:2002.02886, section 4 and eq. 5).

    sum over the pair of 1/2 ( E[-log p(x|z)] + beta KL(q~(z|x) || p(z)) )

where q~ averages the two posteriors in the dimensions that the pair seems to share: with
delta_i = KL(q(z_i|x1) || q(z_i|x2)), those with delta_i < (max_j delta_j + min_j delta_j) / 2; there both get the
mean (mu1 + mu2) / 2 and the variance (sigma1^2 + sigma2^2) / 2. With `known_k` the threshold is not needed: of a pair
that differs in k factors, all dimensions but the k with the largest delta are shared. A single image is encoded without
any averaging.

Differs from the paper: nothing; delta is the asymmetric KL of the authors' code.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Pairs
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class AdaGVAE(Method[Pairs]):
    """Weak supervision: posteriors are averaged in the dimensions that a pair shares; block `z`.

    Args:
        beta: weight of the KL
        known_k: it is known in how many factors a pair differs
        latents: number of dimensions of the code
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        beta: Weight = 1.0,
        known_k: bool = False,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.beta, self.known_k = beta, known_k
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
        x = torch.cat([batch.x1, batch.x2])  # [2 b, c, h, w]
        mu, log_var = self.encoder(x).chunk(2, -1)  # [2 b, k]
        shared = shared_dims(*_halves(mu, log_var), changed=batch.k if self.known_k else None)  # [b, k]
        mu, log_var = average(mu, log_var, shared)
        z = gaussian.sample(mu, log_var)
        rec = self.decoder.nll(z, x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        return {"model": minimise(rec + self.beta * kl, rec=rec, kl=kl, shared=shared.float().sum(-1).mean())}


def shared_dims(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor, changed: Tensor | None = None) -> Tensor:
    """The dimensions that a pair seems to share, all but `changed` [b] where that is known. [b, k] -> bool [b, k]"""
    delta = gaussian.kl(mu1, log_var1, mu2, log_var2).detach()
    if changed is not None:
        places = delta.argsort(-1, descending=True).argsort(-1)  # 0 where the pair differs most
        return places >= changed[:, None]
    threshold = (delta.amax(-1, keepdim=True) + delta.amin(-1, keepdim=True)) / 2
    return delta < threshold


def average(mu: Tensor, log_var: Tensor, shared: Tensor) -> tuple[Tensor, Tensor]:
    """Both posteriors of each pair, averaged where `shared`. [2 b, k]"""
    mu1, log_var1, mu2, log_var2 = _halves(mu, log_var)
    mean = ((mu1 + mu2) / 2).repeat(2, 1)
    pooled = (torch.logaddexp(log_var1, log_var2) - math.log(2)).repeat(2, 1)
    both = shared.repeat(2, 1)
    return torch.where(both, mean, mu), torch.where(both, pooled, log_var)


def _halves(mu: Tensor, log_var: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    (mu1, mu2), (log_var1, log_var2) = mu.chunk(2), log_var.chunk(2)
    return mu1, log_var1, mu2, log_var2
