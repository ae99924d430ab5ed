"""beta-TCVAE: the total correlation of the code has its own weight, Chen et al. 2018 (arXiv:1802.04942, eq. 4).

    E_q(z|x)[-log p(x|z)] + alpha I(x; z) + beta KL(q(z) || prod_k q(z_k)) + gamma sum_k KL(q(z_k) || p(z_k))

With weights of one, the last three terms sum to KL(q(z|x) || p(z)), so this is the VAE plus (alpha - 1) I(x; z) and so
on, which is how it is written below. Paper -> here: q(z) is estimated from the batch (maths/aggregate.py),
N -> spec.n_train, and spec.n_background where half of each batch is background.

Differs from the paper: the KL is in closed form, as in Locatello et al. 2019 (arXiv:1811.12359), whose networks,
optimiser and grid of beta (1, 2, 4, 6, 8, 10) are used; the weighted estimate leaves out the paper's factor 1/N, which
has no gradient; the stratified one treats all other rows alike, and counts a row that was drawn twice once. The log
shows the stratified estimates, whichever is minimised, because the weighted ones have a large bias
(docs/methods/beta_tcvae.md).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import aggregate, gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class BetaTCVAE(Method[Images]):
    """A Gaussian code whose total correlation is estimated from the batch; block `z`.

    Args:
        alpha: weight of the mutual information of image and code
        beta: weight of the total correlation; 1 (with alpha and gamma) is the VAE
        gamma: weight of each dimension's divergence from the prior
        estimator: how q(z) is estimated from a batch
        latents: number of dimensions of the code
        net: networks of encoder and decoder
        width: channels of the first convolution
        likelihood: distribution of the pixels given the code; negative_binomial of features that are counts
        sigma: standard deviation of the gaussian likelihood, at first where it is learnt
        learn_sigma: learn the standard deviation, one number for all pixels
        lr: learning rate of Adam
    """

    def __init__(
        self,
        spec: Spec,
        *,
        alpha: Weight = 1.0,
        beta: Weight = 6.0,
        gamma: Weight = 1.0,
        estimator: Literal["weighted", "stratified"] = "weighted",
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.alpha, self.beta, self.gamma, self.estimator = alpha, beta, gamma, estimator
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        mi, tc, dkl = parts_of_kl(z, mu, log_var, self._log_weights(self.estimator, batch.index))
        value = rec + kl + (self.alpha - 1) * mi + (self.beta - 1) * tc + (self.gamma - 1) * dkl
        with torch.no_grad():
            mi, tc, dkl = parts_of_kl(z, mu, log_var, self._log_weights("stratified", batch.index))
        return {"model": minimise(value, rec=rec, kl=kl, mi=mi, tc=tc, dkl=dkl)}

    def _log_weights(self, estimator: str, rows: Tensor) -> Tensor:  # [b] -> [b, b]
        return aggregate.log_weights(estimator, rows, self.spec.n_train, self.spec.n_background)


def parts_of_kl(z: Tensor, mu: Tensor, log_var: Tensor, log_weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mutual information, total correlation and the sum of KLs by dimension; they add up to log q(z|x) - log p(z)."""
    joint, each = aggregate.log_mixture(z, mu, log_var, log_weight.to(z))  # [b], [b, k]
    own, zero = gaussian.log_density(z, mu, log_var).sum(-1), torch.zeros_like(z)
    prior = gaussian.log_density(z, zero, zero).sum(-1)
    return (own - joint).mean(), aggregate.total_correlation(joint, each), (each.sum(-1) - prior).mean()
