"""VFAE: a code for the class, the same for all nuisances, Louizos et al. 2016 (arXiv:1511.00830, eq. 5 to 8, 11).

    E[-log p(x|z1,s)] + E[log q(z1|x) - log p(z1|z2,y)] + KL(q(z2|z1,y) || p(z2)) - alpha log q(y|z1) + beta MMD(z1; s)

with z1 ~ q(z1|x), z2 ~ q(z2|z1,y). The image is decoded from the inferred z1; p(z1|z2,y) is only the prior of z1. MMD
is the squared distance between the codes of each value of a nuisance and all codes, by random Fourier features
(maths/invariance.py), summed over values and over nuisances.

Differs from the paper: the estimate of MMD has no bias (`mmd="biased"`: as there), where with beta = 100 and a batch of
64 the bias alone is 2 for two values of s, 108 for ten and 1,270 for forty; q(z1|x) instead of q(z1|x,s), because the
nuisance of a new image is not known, and can be seen in the image; convolutions; more than two values of s; the
bandwidth follows the codes, since with a fixed one of 1 the kernel is 0 between any two codes of 20 dimensions, and the
penalty has no effect.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Labelled
from unbraid.data.table import Spec
from unbraid.maths import categorical, gaussian
from unbraid.maths.invariance import group_mmd
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.requirements import require_classes, require_nuisances
from unbraid.nets import autoencoders as nets
from unbraid.nets.layers import dense


class VFAE(Method[Labelled]):
    """A Gaussian code z1 with the same distribution for all values of the known nuisances; block `z`.

    Args:
        alpha: weight of the classifier's loss
        beta: weight of the distance between the codes of different nuisances
        latents: number of dimensions of z1, and of z2
        hidden: units of the hidden layer between z1 and z2
        features: number of random Fourier features of the kernel
        bandwidth: gamma of the kernel exp(-|a - b|^2 / gamma); 0: the median of |a - b|^2 in the batch
        mmd: estimate of that distance: 0 in the mean where codes do not depend on the nuisance, or the paper's
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    has_bound = False  # its prior depends on z2 and y, and its decoder is given s

    def __init__(
        self,
        spec: Spec,
        *,
        alpha: Weight = 100.0,
        beta: Weight = 100.0,
        latents: Size = 20,
        hidden: Size = 100,
        features: Size = 500,
        bandwidth: Weight = 0.0,
        mmd: Literal["unbiased", "biased"] = "unbiased",
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        require_classes(spec, "vfae")
        require_nuisances(spec, "vfae")
        self.alpha, self.beta = alpha, beta
        self.distance = partial(group_mmd, features=features, bandwidth=bandwidth, unbiased=mmd == "unbiased")
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        inputs = latents + sum(spec.nuisances)
        self.decoder = nets.decoder(
            net, spec.shape, inputs, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.to_z2 = dense(latents + spec.classes, hidden, 2 * latents)
        self.to_z1 = dense(latents + spec.classes, hidden, 2 * latents)
        self.classifier = nn.Linear(latents, spec.classes)

    def losses(self, batch: Labelled, step: int) -> dict[str, Loss]:
        y, s = F.one_hot(batch.y, self.spec.classes).float(), categorical.one_hot(batch.s, self.spec.nuisances)
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # q(z1|x), [b, k]
        z1 = gaussian.sample(mu, log_var)
        mu2, log_var2 = self.to_z2(torch.cat([z1, y], -1)).chunk(2, -1)  # q(z2|z1,y)
        z2 = gaussian.sample(mu2, log_var2)
        prior = self.to_z1(torch.cat([z2, y], -1)).chunk(2, -1)  # p(z1|z2,y)

        rec = self.decoder.nll(torch.cat([z1, s], -1), batch.x).mean()
        kl1 = (gaussian.log_density(z1, mu, log_var) - gaussian.log_density(z1, *prior)).sum(-1).mean()
        kl2 = gaussian.kl_to_standard(mu2, log_var2).sum(-1).mean()
        ce = F.cross_entropy(self.classifier(z1), batch.y)
        mmd = sum((self.distance(z1, nuisance) for nuisance in batch.s.T), ce.new_zeros(()))
        value = rec + kl1 + kl2 + self.alpha * ce + self.beta * mmd
        return {"model": minimise(value, rec=rec, kl1=kl1, kl2=kl2, ce=ce, mmd=mmd)}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        """Drawn with equal weight on all values of each nuisance: the code does not say which it is."""
        z = blocks["z"]
        return self.decoder.mean(torch.cat([z, categorical.uniform(z.shape[0], self.spec.nuisances).to(z)], -1))
