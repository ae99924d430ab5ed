"""A classifier on the code of a beta-VAE (the row beta-VAE in table 1 of the paper of swap_vae).

    -weight log q(y|mu(x)) + E_q(z|x)[-log p(x|z)] + beta KL(q(z|x) || p(z)),    q(z|x) = N(mu(x), sigma(x)^2)

The paper gives no sizes and no weights. The classifier sees the posterior mean, in training as well as afterwards.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import nn

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_classes
from unbraid.nets import autoencoders as nets


class BetaVAEClassifier(Method[Labelled]):
    """Class and image are predicted from one Gaussian code; block `z`.

    Args:
        beta: weight of the KL
        weight: weight of the classifier's loss
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
        beta: Weight = 4.0,
        weight: Weight = 100.0,
        latents: Size = 20,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "beta_vae_classifier")
        self.beta, self.weight = beta, weight
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        ce = F.cross_entropy(self.classifier(mu), batch.y)
        rec = self.decoder.nll(gaussian.sample(mu, log_var), batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        return {"model": minimise(self.weight * ce + rec + self.beta * kl, ce=ce, rec=rec, kl=kl)}
