"""Salient VAE: the salient code of backgrounds is 0, and the common codes of both sets have the same distribution.

"Towards principled objectives for contrastive disentanglement" (under double-blind review), Eq. 7 and Eq. 8:

    L_VAE + lambda_s E_y[ |mu_s(y)|^2 + |sigma_s(y)|^2 ] + lambda_z W2^2(q(z of targets), q(z of backgrounds))

L_VAE is in `rb_vae`. The first penalty stands for KL(q(s|y) || Dirac at 0), which is infinite; it is the squared
Wasserstein distance between the same two. The second is exact optimal transport between the codes of a batch, its
plan held fixed in the gradient: between samples of the posteriors or between their means (`transport`; the paper's
words allow both). lambda_z = 0 is Eq. 7; with lambda_s = 0 as well it is `rb_vae`.

Differs from the paper: lambda_s is 10, where the paper says "large"; sigma is read as the standard deviation (Lemma 1).
"""

from __future__ import annotations

from typing import Literal

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2, squared_w2_to_zero
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.methods.two_set_bound import bound_terms
from unbraid.nets import autoencoders as nets


class SalientVAE(Method[TargetBackground]):
    """What only targets have, and what both sets share; blocks `s` (salient) and `z` (common).

    Args:
        lambda_s: weight of the size of the salient code of backgrounds
        lambda_z: weight of the distance between the common codes of the two sets; 0 is Eq. 7
        transport: common codes between which the distance is taken, samples of the posteriors or their means
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
        lambda_s: Weight = 10.0,
        lambda_z: Weight = 1.0,
        transport: Literal["samples", "means"] = "samples",
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
        self.lambda_s, self.lambda_z, self.beta, self.salient = lambda_s, lambda_z, beta, salient
        self.transport = transport
        self.blocks = {"s": salient, "z": common}
        self.encoder = nets.block_encoder(net, spec.shape, (salient, common), width=width, separate=separate)
        self.decoder = nets.decoder(
            net, spec.shape, salient + common, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = bound_terms(self.encoder, self.decoder, batch, self.salient)
        l_vae = bound.rec + self.beta * bound.kl
        salience = squared_w2_to_zero(bound.mu_s_y, bound.log_var_s_y).sum(-1).mean()
        of_means = self.transport == "means"
        w2 = squared_w2(*((bound.mu_z_x, bound.mu_z_y) if of_means else (bound.z_x, bound.z_y)))
        loss = l_vae + self.lambda_s * salience + self.lambda_z * w2
        return {"model": minimise(loss, rec=bound.rec, kl=bound.kl, salience=salience, w2=w2)}
