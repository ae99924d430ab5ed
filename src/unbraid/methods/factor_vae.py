"""FactorVAE: a critic estimates the total correlation of the code, Kim & Mnih 2018 (arXiv:1802.05983, eq. 2 and 3).

    model:   E_q(z|x)[-log p(x|z)] + KL(q(z|x) || p(z)) + gamma E_q(z)[log D(z) - log(1 - D(z))]
    critic:  -1/2 E_q(z)[log D(z)] - 1/2 E_perm(z')[log(1 - D(z'))]

Paper -> here: D(z) is the softmax of the critic's two logits, the first meaning "joint"; perm shuffles each
dimension over the batch. The critic's loss does not update the encoder: each group has its own gradient.

Differs from the paper: with `second_batch` (the paper's form) the batch is split in two, so that the permuted codes z'
come from other images than z; without it they are shuffled codes of the same images, as in Locatello et al. 2019.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.maths.dependence import permute_dims
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import autoencoders as nets
from unbraid.nets.critics import critic, log_odds


class FactorVAE(Method[Images]):
    """A Gaussian code that a critic should not be able to tell from one with independent dimensions; block `z`.

    Args:
        gamma: weight of the total correlation; 0 is the VAE
        second_batch: split the batch, and permute the codes of the half that the model's loss does not see
        latents: number of dimensions of the code
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
        second_batch: bool = False,
        latents: Size = 10,
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
        self.gamma, self.second_batch, self.critic_lr = gamma, second_batch, critic_lr
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.critic = critic(latents, hidden=critic_width)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "critic": Group(list(self.critic.parameters()), self.critic_lr, (0.5, 0.9)),
        }

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        if self.second_batch and len(batch.x) < 2:
            raise UserError("factor_vae with second_batch halves the batch: it needs a batch of two or more")
        x, other = batch.x.chunk(2) if self.second_batch else (batch.x, None)
        mu, log_var = self.encoder(x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        joint = log_odds(self.critic(z))  # [b]
        shuffled = permute_dims(z.detach() if other is None else self._codes(other))  # [b, k]
        permuted = log_odds(self.critic(shuffled))  # [b]
        rec = self.decoder.nll(z, x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        tc = joint.mean()
        critic = 0.5 * F.softplus(-joint).mean() + 0.5 * F.softplus(permuted).mean()
        return {
            "model": minimise(rec + kl + self.gamma * tc, rec=rec, kl=kl, tc=tc),
            "critic": minimise(critic),
        }

    @torch.no_grad()
    def _codes(self, x: Tensor) -> Tensor:
        return gaussian.sample(*self.encoder(x).chunk(2, -1))
