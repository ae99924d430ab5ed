"""beta-FactorTCVAE: total correlation penalised twice, by a critic and within the batch.

    model:   E_q(z|x)[-log p(x|z)] + beta |KL(q(z|x) || p(z)) - C| + weight (TC_critic + TC_batch)
    critic:  as that of factor_vae

A row of table 3 in the paper of `swap_vae`, not a published method of its own. This follows the only public code of
that name (https://github.com/amir-abdi/disentanglement-pytorch), which adds the terms of FactorVAE (Kim & Mnih 2018,
arXiv:1802.05983) and of beta-TCVAE (Chen et al. 2018, arXiv:1802.04942) with one weight, and a growing capacity C.
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import aggregate, gaussian, schedule
from unbraid.maths.dependence import permute_dims
from unbraid.methods.beta_tcvae import parts_of_kl
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import autoencoders as nets
from unbraid.nets.critics import critic, log_odds


class BetaFactorTCVAE(Method[Images]):
    """A Gaussian code whose total correlation is estimated in two ways at once; block `z`.

    Args:
        beta: weight of the distance between the KL and the capacity
        weight: weight of both estimates of the total correlation
        c_max: final capacity, in nats
        c_steps: steps over which the capacity grows from 0
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
        beta: Weight = 1.0,
        weight: Weight = 2.0,
        c_max: Weight = 25.0,
        c_steps: Count = 100_000,
        latents: Size = 20,
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
        self.beta, self.weight, self.c_max, self.c_steps, self.critic_lr = beta, weight, c_max, c_steps, critic_lr
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
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        joint, permuted = (log_odds(self.critic(code)) for code in (z, permute_dims(z.detach())))  # [b]
        c = mu.new_tensor(schedule.linear(step, 0.0, self.c_max, self.c_steps))
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        tc_critic = joint.mean()
        weights = aggregate.log_weights("weighted", batch.index, self.spec.n_train)  # [b, b]
        _, tc_batch, _ = parts_of_kl(z, mu, log_var, weights)
        value = rec + self.beta * (kl - c).abs() + self.weight * (tc_critic + tc_batch)
        critic = 0.5 * F.softplus(-joint).mean() + 0.5 * F.softplus(permuted).mean()
        return {
            "model": minimise(value, rec=rec, kl=kl, capacity=c, tc_critic=tc_critic, tc_batch=tc_batch),
            "critic": minimise(critic),
        }
