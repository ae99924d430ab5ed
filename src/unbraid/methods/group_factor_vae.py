"""FactorVAE for features of several dimensions, which are shuffled as a whole; Kim & Mnih 2018, extended.

    model:   E_q(z|x)[-log p(x|z)] + KL(q(z|x) || p(z)) + gamma E_q(z)[log D(z) - log(1 - D(z))]
    critic:  -1/2 E_q(z)[log D(z)] - 1/2 E_perm(z')[log(1 - D(z'))]

Differs from the paper (arXiv:1802.05983) in perm: each feature of `dims` dimensions is shuffled over the batch as a
whole, so that TC is that between features and dimensions of one feature may depend on each other. dims = 1 is
FactorVAE. "Unsupervised disentanglement learning by intervention" compares with it on coloured digits (K_Z = 2,
D_Z = 16) without saying how; in this form a feature of several dimensions can represent a factor.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Group, Loss, Method, minimise, numbered
from unbraid.nets import autoencoders as nets
from unbraid.nets.critics import critic, log_odds


class GroupFactorVAE(Method[Images]):
    """A Gaussian code that a critic should not be able to tell from one with independent features; block `z`.

    Args:
        gamma: weight of the total correlation between features; 0 is the VAE
        features: number of features
        dims: dimensions of each feature
        net: networks of encoder and decoder
        width: channels of the first convolution
        critic_width: units in each of the critic's six layers
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam for encoder and decoder
        critic_lr: learning rate of the critic's Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        gamma: Weight = 10.0,
        features: Size = 2,
        dims: Size = 16,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        critic_width: Size = 1000,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
        critic_lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.gamma, self.features, self.dims, self.critic_lr = gamma, features, dims, critic_lr
        self.encoder = nets.encoder(net, spec.shape, 2 * features * dims, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, features * dims, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.critic = critic(features * dims, hidden=critic_width)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "critic": Group(list(self.critic.parameters()), self.critic_lr, (0.5, 0.9)),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, features * dims]
        z = gaussian.sample(mu, log_var)
        joint, shuffled = (log_odds(self.critic(code)) for code in (z, self.shuffle(z.detach())))  # [b]
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        tc = joint.mean()
        critic = 0.5 * F.softplus(-joint).mean() + 0.5 * F.softplus(shuffled).mean()
        return {
            "model": minimise(rec + kl + self.gamma * tc, rec=rec, kl=kl, tc=tc),
            "critic": minimise(critic),
        }

    def shuffle(self, z: Tensor) -> Tensor:
        """Each feature shuffled over the batch as a whole. [b, features * dims] -> [b, features * dims]"""
        return torch.cat([feature[torch.randperm(len(z), device=z.device)] for feature in z.chunk(self.features, 1)], 1)

    @property
    def units(self) -> dict[str, list[int]]:
        return {"z": numbered(self.features, self.dims)} if self.dims > 1 else {}
