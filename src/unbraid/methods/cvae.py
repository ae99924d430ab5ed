"""cVAE: a critic keeps the salient code independent of the common one, Abid & Zou 2019 (arXiv:1902.04601).

    model:   L_VAE + lambda_tc KL(q(z,s) || q(z) q(s)),    the KL as E_q(z,s)[log D - log(1 - D)]
    critic:  -E_q(z,s)[log D(z,s)] - E_q(z)q(s)[log(1 - D(z,s))]

L_VAE is in `rb_vae`; q(z,s) is over targets; samples of q(z) q(s) have their s shuffled over the batch.

Differs from the paper: the critic has hidden layers (a linear one cannot see dependence between z and s) and its own
Adam, so that neither player updates the weights of the other; one encoder outputs both codes unless
`separate`.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.two_set_bound import bound_terms
from unbraid.nets import autoencoders as nets
from unbraid.nets.critics import critic, log_odds


class CVAE(Method[TargetBackground]):
    """What only targets have, and what both sets share; blocks `s` (salient) and `z` (common).

    Args:
        lambda_tc: weight of the dependence between s and z; 0 is RbVAE
        beta: weight of the KL
        common: number of dimensions of z
        salient: number of dimensions of s
        separate: encode s and z by two networks that share no weights, not by one
        net: networks of encoder and decoder
        width: channels of the first convolution; dense layers have 16 and 8 times as many units
        critic_width: units in each of the critic's two hidden layers
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
        lambda_tc: Weight = 1.0,
        beta: Weight = 2.0,
        common: Size = 16,
        salient: Size = 8,
        separate: bool = False,
        net: Literal["conv", "mlp", "dense", "contrast"] = "contrast",
        width: Size = 32,
        critic_width: Size = 256,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "gaussian",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
        critic_lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.lambda_tc, self.beta, self.salient, self.critic_lr = lambda_tc, beta, salient, critic_lr
        self.blocks = {"s": salient, "z": common}
        self.encoder = nets.block_encoder(net, spec.shape, (salient, common), width=width, separate=separate)
        self.decoder = nets.decoder(
            net, spec.shape, salient + common, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )
        self.critic = critic(salient + common, hidden=critic_width, layers=2)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "critic": Group(list(self.critic.parameters()), self.critic_lr, (0.5, 0.9)),
        }

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = bound_terms(self.encoder, self.decoder, batch, self.salient)
        l_vae = bound.rec + self.beta * bound.kl
        shuffled = bound.s_x[torch.randperm(len(bound.s_x), device=bound.s_x.device)]  # [b, salient]
        joint, product = (log_odds(self.critic(torch.cat([s, bound.z_x], -1))) for s in (bound.s_x, shuffled))  # [b]
        tc = joint.mean()
        critic = F.softplus(-joint).mean() + F.softplus(product).mean()
        w2 = squared_w2(bound.z_x.detach(), bound.z_y.detach())
        return {
            "model": minimise(l_vae + self.lambda_tc * tc, rec=bound.rec, kl=bound.kl, tc=tc, w2=w2),
            "critic": minimise(critic),
        }
