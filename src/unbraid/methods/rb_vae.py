"""RbVAE: target and background share one code, targets have a second one, Ruiz et al. 2019 (arXiv:1901.08534).

    E_x[ beta KL(q(z|x) q(s|x) || p(z) p(s)) - log p(x|z,s) ] + E_y[ beta KL(q(z|y) || p(z)) - log p(y|z,0) ]

This is L_VAE, the bound that `cvae`, `srb_vae` and `salient_vae` add to. Nothing in it asks that the salient code of a
background be 0: only its decoder is told so.

Differs from the paper: the salient code of a background is the constant 0, not a learned one; the KL has a weight, as
in the comparison of contrastive methods where beta = 2.
"""

from __future__ import annotations

from torch import Tensor

from unbraid.config import Rate, Size
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Spec
from unbraid.maths.transport import squared_w2
from unbraid.methods import two_set_bound as reference
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class RbVAE(Method[TargetBackground]):
    """What targets have and backgrounds have not; blocks `s` (salient) and `z` (common).

    Args:
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
        beta: float = 2.0,
        common: Size = 16,
        salient: Size = 8,
        net: str = "contrast",
        width: Size = 32,
        likelihood: str = "gaussian",
        lr: Rate = 1e-3,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.beta, self.salient = beta, salient
        self.encoder = nets.encoder(net, spec.shape, 2 * (salient + common), width=width)
        self.decoder = nets.decoder(net, spec.shape, salient + common, width=width, likelihood=likelihood)

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        bound = reference.l_vae(self.encoder, self.decoder, batch, self.salient)
        rec, kl, w2 = bound.rec, bound.kl, squared_w2(bound.z_x.detach(), bound.z_y.detach())
        return {"model": minimise(rec + self.beta * kl, rec=rec, kl=kl, w2=w2)}

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        return reference.posterior(self.encoder, x, self.salient)

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return self.decoder.mean(reference.joined(blocks))
