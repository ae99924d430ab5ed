"""CVIB: an information bottleneck whose decoder is given the nuisances, Moyer et al. 2018 (arXiv:1805.09458, eq. 8).

    E_q(z|x)[-log q(y|z) - lambda log p(x|z,s)] + (beta + lambda) KL(q(z|x) || q(z))

The decoder is given the nuisances s, so the code need not carry them, and the last term penalises doing so.
KL(q(z|x) || q(z)) is bounded by the mean of KL(q(z|x_i) || q(z|x_j)) over all pairs of the batch.

Paper -> here: lambda -> reconstruction. Differs from the paper: no entropy term, an error in its first version that the
author's tutorial corrects; weights for images (the paper's 1e-4 is for tables of a few numbers).
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths import categorical, gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_classes, require_nuisances
from unbraid.nets import autoencoders as nets


class CVIB(Method[Labelled]):
    """A compressed code for the class; the decoder is given the known nuisances; block `z`.

    Args:
        beta: weight of the KL
        reconstruction: lambda, weight of the reconstruction, which is added to that of the KL
        latents: number of dimensions of the code
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    has_bound = False  # its prior is the mean of all posteriors, and its decoder is given s

    def __init__(
        self,
        spec: Spec,
        *,
        beta: Weight = 0.01,
        reconstruction: Weight = 0.01,
        latents: Size = 20,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "cvib")
        require_nuisances(spec, "cvib")
        self.beta, self.reconstruction = beta, reconstruction
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        inputs = latents + sum(spec.nuisances)
        self.decoder = nets.decoder(
            net, spec.shape, inputs, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        s = categorical.one_hot(batch.s, self.spec.nuisances)
        ce = F.cross_entropy(self.classifier(z), batch.y)
        rec = self.decoder.nll(torch.cat([z, s], -1), batch.x).mean()
        kl = kl_between(mu, log_var)
        value = ce + self.reconstruction * rec + (self.beta + self.reconstruction) * kl
        return {"model": minimise(value, ce=ce, rec=rec, kl=kl)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        """Drawn with equal weight on all values of each nuisance: the code does not say which it is."""
        z = blocks["z"]
        return self.decoder.mean(torch.cat([z, categorical.uniform(z.shape[0], self.spec.nuisances).to(z)], -1))


def kl_between(mu: Tensor, log_var: Tensor) -> Tensor:
    """The mean of KL(q_i || q_j) over all ordered pairs of posteriors, with i = j included. [b, k] -> []"""
    return gaussian.kl(mu[:, None], log_var[:, None], mu, log_var).sum(-1).mean()
