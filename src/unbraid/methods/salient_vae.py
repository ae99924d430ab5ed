"""Salient VAE: the salient code of a background is 0 and the common codes of both sets are distributed alike.

"Towards principled objectives for contrastive disentanglement" (under review at ICLR 2020), Eq. 7 and Eq. 8:

    L_VAE + lambda_s E_y[ |mu_s(y)|^2 + |sigma_s(y)|^2 ] + lambda_z W2^2(q(z of targets), q(z of backgrounds))

L_VAE is in `rb_vae`. The first penalty stands for KL(q(s|y) || Dirac at 0), which is infinite; it is the squared
Wasserstein distance between the same two. The second is exact optimal transport between the sampled codes of a batch,
its plan held fixed in the gradient. lambda_z = 0 is Eq. 7; lambda_s = 0 besides is `rb_vae`.

Differs from the paper: lambda_s is 10, where the paper says "large"; sigma is read as the standard deviation (Lemma 1).
"""

from __future__ import annotations

from torch import Tensor

from unbraid.config import Rate, Size
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2, squared_w2_to_zero
from unbraid.methods import two_set_bound as reference
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class SalientVAE(Method[TargetBackground]):
    """What targets have and backgrounds have not; blocks `s` (salient) and `z` (common).

    Args:
        lambda_s: weight of the salient code of backgrounds
        lambda_z: weight of the distance between the common codes of the two sets; 0 is Eq. 7
        beta: weight of the KL
        common: number of dimensions of z
        salient: number of dimensions of s
        net: network, contrast, conv, dense or mlp
        width: channels of the first convolution; dense layers have 16 and 8 times as many units
        likelihood: of the pixels, bernoulli or gaussian
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        lambda_s: float = 10.0,
        lambda_z: float = 1.0,
        beta: float = 2.0,
        common: Size = 16,
        salient: Size = 8,
        net: str = "contrast",
        width: Size = 32,
        likelihood: str = "gaussian",
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.lambda_s, self.lambda_z, self.beta, self.salient = lambda_s, lambda_z, beta, salient
        self.encoder = nets.encoder(net, spec.shape, 2 * (salient + common), width=width)
        self.decoder = nets.decoder(net, spec.shape, salient + common, width=width, likelihood=likelihood)

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = reference.l_vae(self.encoder, self.decoder, batch, self.salient)
        l_vae = bound.rec + self.beta * bound.kl
        salience = squared_w2_to_zero(bound.mu_s_y, bound.log_var_s_y).sum(-1).mean()
        w2 = squared_w2(bound.z_x, bound.z_y)
        loss = l_vae + self.lambda_s * salience + self.lambda_z * w2
        return {"model": minimise(loss, rec=bound.rec, kl=bound.kl, salience=salience, w2=w2)}

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        return reference.posterior(self.encoder, x, self.salient)

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.decoder.mean(reference.joined(blocks))
