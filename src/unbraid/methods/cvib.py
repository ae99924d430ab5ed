"""CVIB: a bottleneck that is told the nuisance when it draws, Moyer et al. 2018 (arXiv:1805.09458, eq. 8).

    E_q(z|x)[-log q(y|z) - lambda log p(x|z,s)] + (beta + lambda) KL(q(z|x) || q(z))

The decoder is given the nuisances s, so the code need not carry them, and the last term makes it costly to.
KL(q(z|x) || q(z)) is bounded by the mean of KL(q(z|x_i) || q(z|x_j)) over all pairs of the batch.

Paper -> here: lambda -> reconstruction. Differs from the paper: no entropy term, an error of its first version that the
author's tutorial takes back; weights for images (the paper's 1e-4 is for tables of a few numbers).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets
from unbraid.nets.heads import need_classes, need_nuisances, no_nuisance, one_hot


class CVIB(Method[Labelled]):
    """A compressed code for the class; what it draws is told the known nuisances; block `z`.

    Args:
        beta: price of a nat in the code
        reconstruction: lambda, weight of the image's likelihood and of leaving the nuisances to the decoder
        latents: number of dimensions of the code
        net: network, conv, mlp or dense
        width: channels of the first convolution
        likelihood: of the pixels, bernoulli or gaussian
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        beta: float = 0.01,
        reconstruction: float = 0.01,
        latents: Size = 20,
        net: str = "conv",
        width: Size = 32,
        likelihood: str = "bernoulli",
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        need_classes(spec, "cvib")
        need_nuisances(spec, "cvib")
        self.beta, self.reconstruction = beta, reconstruction
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        drawn_from = latents + sum(spec.nuisances)
        self.decoder = nets.decoder(net, spec.shape, drawn_from, width=width, likelihood=likelihood)
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        s = one_hot(batch.s, self.spec.nuisances)
        ce = F.cross_entropy(self.classifier(z), batch.y)
        rec = self.decoder.nll(torch.cat([z, s], -1), batch.x).mean()
        kl = kl_between(mu, log_var)
        value = ce + self.reconstruction * rec + (self.beta + self.reconstruction) * kl
        return {"model": minimise(value, ce=ce, rec=rec, kl=kl)}

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        mu, log_var = self.encoder(x).chunk(2, -1)
        return {"z": (mu, log_var)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        """Drawn with no value of a nuisance before another: the code does not say which."""
        z = blocks["z"]
        return self.decoder.mean(torch.cat([z, no_nuisance(len(z), self.spec.nuisances).to(z)], -1))

    def classify(self, x: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.encode(x)["z"])
        return logits


def kl_between(mu: Tensor, log_var: Tensor) -> Tensor:
    """The mean of KL(q_i || q_j) over all ordered pairs of posteriors, each with itself too. [b, k] -> []"""
    return gaussian.kl(mu[:, None], log_var[:, None], mu, log_var).sum(-1).mean()
