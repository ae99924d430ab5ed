"""iVAE: a prior that depends on something known makes the code identifiable, Khemakhem et al. 2020 (arXiv:1907.04809).

    E_q(z|x)[-log p(x|z)] + beta KL(q(z|x) || p(z|u)),   p(z|u) = N(m(u), diag v(u))

u is the class, or the known nuisances, of each image; m and v are networks that are learnt with the others. Where u
takes enough values, and means and variances change enough with it, the code is determined up to a permutation of its
dimensions and a function of each (theorems 1 and 2 of the paper), which no prior that ignores u can do.

Differs from the paper: the encoder is not given u, so that images without it can be encoded; mean and variance of the
prior both depend on u.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths import categorical, gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_nuisances
from unbraid.nets import autoencoders as nets
from unbraid.nets.layers import dense


class IVAE(Method[Labelled]):
    """A Gaussian code whose prior depends on the class or on known nuisances; block `z`.

    Args:
        auxiliary: what the prior is given, the class or the known nuisances
        beta: weight of the KL
        hidden: units of the hidden layer of the prior's network
        latents: number of dimensions of the code
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    has_bound = False  # its prior depends on u

    def __init__(
        self,
        spec: Spec,
        *,
        auxiliary: Literal["class", "nuisances"] = "class",
        beta: Weight = 1.0,
        hidden: Size = 50,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.by_class, self.beta = auxiliary == "class", beta
        if not self.by_class:
            require_nuisances(spec, "ivae --auxiliary nuisances")
        self.sizes = (spec.classes,) if self.by_class else spec.nuisances
        self.prior = dense(sum(self.sizes), hidden, 2 * latents)
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl(mu, log_var, *self.prior_of(batch)).sum(-1).mean()
        return {"model": minimise(rec + self.beta * kl, rec=rec, kl=kl)}

    def prior_of(self, batch: Labelled) -> tuple[Tensor, ...]:
        """Mean and log variance of p(z|u), [b, k] each."""
        u = batch.y[:, None] if self.by_class else batch.s
        return torch.chunk(self.prior(categorical.one_hot(u, self.sizes)), 2, -1)
