"""cVAE: a critic keeps the salient code independent of the common one, Abid & Zou 2019 (arXiv:1902.04601).

    model:   L_VAE + lambda_tc KL(q(z,s) || q(z) q(s)),    the KL as E_q(z,s)[log D - log(1 - D)]
    critic:  -E_q(z,s)[log D(z,s)] - E_q(z)q(s)[log(1 - D(z,s))]

L_VAE is in `rb_vae`; q(z,s) is over targets; samples of q(z) q(s) have their s shuffled over the batch.

Differs from the paper: the critic has hidden layers (a linear one cannot see dependence between z and s) and an Adam of
its own, so that neither player moves the other's weights; one encoder has both codes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Rate, Size
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2
from unbraid.methods import two_set_bound as reference
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class CVAE(Method[TargetBackground]):
    """What targets have and backgrounds have not; blocks `s` (salient) and `z` (common).

    Args:
        lambda_tc: weight of the dependence between s and z; 0 is RbVAE
        beta: weight of the KL
        common: number of dimensions of z
        salient: number of dimensions of s
        net: network, contrast, conv, dense or mlp
        width: channels of the first convolution; dense layers have 16 and 8 times as many units
        critic_width: units in each of the critic's two hidden layers
        likelihood: of the pixels, bernoulli or gaussian
        lr: learning rate of Adam for encoder and decoder
        critic_lr: learning rate of the critic's Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        lambda_tc: float = 1.0,
        beta: float = 2.0,
        common: Size = 16,
        salient: Size = 8,
        net: str = "contrast",
        width: Size = 32,
        critic_width: Size = 256,
        likelihood: str = "gaussian",
        lr: Rate = 1e-3,
        critic_lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.lambda_tc, self.beta, self.salient, self.critic_lr = lambda_tc, beta, salient, critic_lr
        self.encoder = nets.encoder(net, spec.shape, 2 * (salient + common), width=width)
        self.decoder = nets.decoder(net, spec.shape, salient + common, width=width, likelihood=likelihood)
        self.critic = nets.critic(salient + common, hidden=critic_width, layers=2)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "critic": Group(list(self.critic.parameters()), self.critic_lr, (0.5, 0.9)),
        }

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = reference.l_vae(self.encoder, self.decoder, batch, self.salient)
        l_vae = bound.rec + self.beta * bound.kl
        shuffled = bound.s_x[torch.randperm(len(bound.s_x), device=bound.s_x.device)]  # [b, salient]
        joint, product = self._logit(bound.s_x, bound.z_x), self._logit(shuffled, bound.z_x)  # [b]
        tc = joint.mean()
        critic = F.softplus(-joint).mean() + F.softplus(product).mean()
        w2 = squared_w2(bound.z_x.detach(), bound.z_y.detach())
        return {
            "model": minimise(l_vae + self.lambda_tc * tc, rec=bound.rec, kl=bound.kl, tc=tc, w2=w2),
            "critic": minimise(critic),
        }

    def _logit(self, s: Tensor, z: Tensor) -> Tensor:
        """log D(z, s) - log(1 - D(z, s)). -> [b]"""
        joint, product = self.critic(torch.cat([s, z], -1)).unbind(-1)
        difference: Tensor = joint - product
        return difference

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        return reference.posterior(self.encoder, x, self.salient)

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.decoder.mean(reference.joined(blocks))
