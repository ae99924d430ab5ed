"""RbVAE: target and background share one code, targets have a second one, Ruiz et al. 2019 (arXiv:1901.08534).

    E_x[ beta KL(q(z|x) q(s|x) || p(z) p(s)) - log p(x|z,s) ] + E_y[ beta KL(q(z|y) || p(z)) - log p(y|z,0) ]

This is L_VAE, the bound that `cvae`, `srb_vae` and `salient_vae` add to. Nothing in it makes the encoder give a
background a salient code of 0: only the decoder is given 0.

Differs from the paper: the salient code of a background is the constant 0, not a learned one; the KL has a weight, as
in the comparison of contrastive methods, where beta = 2.
"""

from __future__ import annotations

from typing import Literal

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.two_set_bound import bound_terms
from unbraid.nets import autoencoders as nets


class RbVAE(Method[TargetBackground]):
    """What only targets have, and what both sets share; blocks `s` (salient) and `z` (common).

    Args:
        beta: weight of the KL
        common: number of dimensions of z
        salient: number of dimensions of s
        separate: encode s and z by two networks that share no weights, not by one
        net: networks of encoder and decoder
        width: channels of the first convolution; dense layers have 16 and 8 times as many units
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        beta: Weight = 2.0,
        common: Size = 16,
        salient: Size = 8,
        separate: bool = False,
        net: Literal["conv", "mlp", "dense", "contrast"] = "contrast",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "gaussian",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.beta, self.salient = beta, salient
        self.blocks = {"s": salient, "z": common}
        self.encoder = nets.block_encoder(net, spec.shape, (salient, common), width=width, separate=separate)
        self.decoder = nets.decoder(
            net, spec.shape, salient + common, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = bound_terms(self.encoder, self.decoder, batch, self.salient)
        rec, kl, w2 = bound.rec, bound.kl, squared_w2(bound.z_x.detach(), bound.z_y.detach())
        return {"model": minimise(rec + self.beta * kl, rec=rec, kl=kl, w2=w2)}
