"""Ada-ML-VAE: as Ada-GVAE, with a product in place of the average, Locatello et al. 2020 (arXiv:2002.02886, section 4).

    sum over the pair of 1/2 ( E[-log p(x|z)] + beta KL(q~(z|x) || p(z)) )

In the dimensions that the pair seems to share (ada_gvae.py) both posteriors are replaced by their product, as in the
ML-VAE of Bouchacourt et al. 2018 (arXiv:1705.08841): 1/sigma^2 = 1/sigma1^2 + 1/sigma2^2 and
mu = sigma^2 (mu1 / sigma1^2 + mu2 / sigma2^2).

Differs from the authors' code: its variance is twice that of the product (`doubled`), so that two equal posteriors stay
as they are.
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
from unbraid.methods.ada_gvae import shared_dims
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class AdaMLVAE(Method[Pairs]):
    """Weak supervision: the posteriors of a pair are multiplied in the dimensions that it shares; block `z`.

    Args:
        beta: weight of the KL
        doubled: double the variance of the product, as the authors' code does
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
        doubled: bool = False,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.beta, self.doubled = beta, doubled
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Pairs, step: int) -> dict[str, Loss]:
        x = torch.cat([batch.x1, batch.x2])  # [2 b, c, h, w]
        mu, log_var = self.encoder(x).chunk(2, -1)  # [2 b, k]
        (mu1, mu2), (log_var1, log_var2) = mu.chunk(2), log_var.chunk(2)
        shared = shared_dims(mu1, log_var1, mu2, log_var2)  # [b, k]
        mean, log_variance = product(mu1, log_var1, mu2, log_var2, doubled=self.doubled)
        both = shared.repeat(2, 1)
        mu = torch.where(both, mean.repeat(2, 1), mu)
        log_var = torch.where(both, log_variance.repeat(2, 1), log_var)
        rec = self.decoder.nll(gaussian.sample(mu, log_var), x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        return {"model": minimise(rec + self.beta * kl, rec=rec, kl=kl, shared=shared.float().sum(-1).mean())}


def product(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor, *, doubled: bool) -> tuple[Tensor, Tensor]:
    """Mean and log variance of the normalised product of two Gaussian densities, dimension by dimension."""
    log_var = -torch.logaddexp(-log_var1, -log_var2)
    mu = mu1 * (log_var - log_var1).exp() + mu2 * (log_var - log_var2).exp()
    return mu, log_var + math.log(2) if doubled else log_var
