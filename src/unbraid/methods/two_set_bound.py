"""L_VAE, the bound that the methods for a target and a background set share (Ruiz et al. 2019, arXiv:1901.08534).

    E_x[ KL(q(z|x) q(s|x) || p(z) p(s)) - E_q[log p(x|z,s)] ] + E_y[ KL(q(z|y) || p(z)) - E_q[log p(y|z,0)] ]

x are targets, y backgrounds; z is the common code of both, s the salient code, which is 0 for a background.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unbraid.data.batch import TargetBackground
from unbraid.maths import gaussian
from unbraid.nets.autoencoders import Decoder


@dataclass(frozen=True)
class BoundTerms:
    """The two terms of L_VAE, and the codes that they were computed from."""

    rec: Tensor  # [] of targets plus that of backgrounds
    kl: Tensor  # [] of targets plus that of backgrounds
    s_x: Tensor  # [b, salient] sampled salient codes of targets
    z_x: Tensor  # [b, common] sampled common codes of targets
    z_y: Tensor  # [b, common] sampled common codes of backgrounds
    mu_s_y: Tensor  # [b, salient] salient posterior of backgrounds, which L_VAE does not constrain
    log_var_s_y: Tensor


def bound_terms(encoder: nn.Module, decoder: Decoder, batch: TargetBackground, salient: int) -> BoundTerms:
    """The terms of L_VAE on a batch; both sets go through the networks together."""
    x, b = torch.cat([batch.target, batch.background]), len(batch.target)  # [2 b, c, h, w]
    mu, log_var = encoder(x).chunk(2, -1)  # [2 b, salient + common]
    present = torch.ones_like(mu)
    present[b:, :salient] = 0
    code = gaussian.sample(mu, log_var) * present
    kl = gaussian.kl_to_standard(mu, log_var) * present
    return BoundTerms(
        rec=2 * decoder.nll(code, x).mean(),
        kl=2 * kl.sum(-1).mean(),
        s_x=code[:b, :salient],
        z_x=code[:b, salient:],
        z_y=code[b:, salient:],
        mu_s_y=mu[b:, :salient],
        log_var_s_y=log_var[b:, :salient],
    )
