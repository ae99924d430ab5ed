"""sRbVAE: the bound of RbVAE made symmetric by two discriminators, Ruiz et al. 2019 (arXiv:1901.08534).

    model:  L_VAE + lambda_sym KL(p(x,z,s,c) || q(x,z,s,c)),  the KL as -E_p[d_t(G(z,s),z,s)] - E_p[d_b(G(z,0),z)]
    critic: -log D on (image, its code) and -log(1 - D) on (G(code), code of the prior), for each set; d is D's logit

L_VAE is in `rb_vae`; c is target or background; z and s of p come from the prior, G is the decoder. For an optimal
critic the logit is log q / p. In the model's step the critic is a fixed function, which does not depend on the encoder:
the part of KL(p || q) that does is -E_p[log q(z,s|G(z,s))], which is added with G held fixed.

Differs from the paper: L_VAE keeps its closed form (the paper estimates it by the same critics); G(z,s) is the mean of
p(x|z,s); the salient code of a background is 0, so its discriminator does not see it.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.maths.transport import squared_w2
from unbraid.methods.contract import Group, Loss, Method, minimise
from unbraid.methods.two_set_bound import bound_terms
from unbraid.nets import autoencoders as nets
from unbraid.nets.critics import JointCritic


class SRbVAE(Method[TargetBackground]):
    """What only targets have, and what both sets share; blocks `s` (salient) and `z` (common).

    Args:
        lambda_sym: weight of the second KL; 0 is RbVAE
        beta: weight of the KL
        common: number of dimensions of z
        salient: number of dimensions of s
        net: networks of encoder and decoder
        width: channels of the first convolution; dense layers have 16 and 8 times as many units
        critic_width: units in each of the last two hidden layers of a discriminator
        likelihood: distribution of the pixels given the code
        lr: learning rate of Adam for encoder and decoder
        critic_lr: learning rate of the discriminators' Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        lambda_sym: Weight = 1.0,
        beta: Weight = 2.0,
        common: Size = 16,
        salient: Size = 8,
        net: Literal["conv", "mlp", "dense", "contrast"] = "contrast",
        width: Size = 32,
        critic_width: Size = 256,
        likelihood: Literal["bernoulli", "gaussian"] = "gaussian",
        lr: Rate = 1e-3,
        critic_lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.lambda_sym, self.beta, self.critic_lr = lambda_sym, beta, critic_lr
        self.salient, self.common = salient, common
        self.blocks = {"s": salient, "z": common}
        self.encoder = nets.encoder(net, spec.shape, 2 * (salient + common), width=width)
        self.decoder = nets.decoder(net, spec.shape, salient + common, width=width, likelihood=likelihood)
        self.target = JointCritic(net, spec.shape, salient + common, width=width, hidden=critic_width)
        self.background = JointCritic(net, spec.shape, common, width=width, hidden=critic_width)

    def groups(self) -> dict[str, Group]:
        return {
            "model": Group([*self.encoder.parameters(), *self.decoder.parameters()], self.lr),
            "critic": Group([*self.target.parameters(), *self.background.parameters()], self.critic_lr, (0.5, 0.9)),
        }

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = bound_terms(self.encoder, self.decoder, batch, self.salient)
        l_vae, b = bound.rec + self.beta * bound.kl, len(batch.target)
        prior = torch.randn(2 * b, self.salient + self.common, device=bound.z_x.device)  # targets, then backgrounds
        prior[b:, : self.salient] = 0
        drawn = self.decoder.mean(prior)  # [2 b, c, h, w]
        d_p = self._logits(drawn[:b], drawn[b:], prior[:b], prior[b:, self.salient :])  # [2 b]
        d_q = self._logits(batch.target, batch.background, torch.cat([bound.s_x, bound.z_x], -1), bound.z_y)
        symmetry = -2 * d_p.mean()
        inverse = -self._log_q(drawn.detach(), prior)
        critic = 2 * F.softplus(-d_q).mean() + 2 * F.softplus(d_p).mean()
        w2 = squared_w2(bound.z_x.detach(), bound.z_y.detach())
        loss = l_vae + self.lambda_sym * (symmetry + inverse)
        terms = {"rec": bound.rec, "kl": bound.kl, "symmetry": symmetry, "inverse": inverse, "w2": w2}
        return {"model": minimise(loss, **terms), "critic": minimise(critic)}

    def _logits(self, x: Tensor, y: Tensor, of_x: Tensor, of_y: Tensor) -> Tensor:
        """log q / p of images with their codes, targets and then backgrounds. -> [2 b]"""
        return torch.cat([self.target(x, of_x), self.background(y, of_y)])

    def _log_q(self, x: Tensor, code: Tensor) -> Tensor:
        """log q(z,s|x) of targets plus log q(z|y) of backgrounds, whose s is 0 for certain. -> []"""
        density = gaussian.log_density(code, *self.encoder(x).chunk(2, -1))  # [2 b, salient + common]
        certain = torch.zeros_like(density, dtype=torch.bool)
        certain[len(x) // 2 :, : self.salient] = True
        return 2 * density.masked_fill(certain, 0).sum(-1).mean()
