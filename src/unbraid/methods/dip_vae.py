"""DIP-VAE: the covariance of the code is pulled to the identity, Kumar et al. 2018 (arXiv:1711.00848, section 3).

    E_q(z|x)[-log p(x|z)] + KL(q(z|x) || p(z)) + lambda_od sum_{i != j} C_ij^2 + lambda_d sum_i (C_ii - 1)^2

    DIP-VAE-I:   C = Cov_x[mu(x)]
    DIP-VAE-II:  C = Cov_x[mu(x)] + E_x[diag(sigma^2(x))],  which is the covariance of z

Both are taken over the batch; the covariance is the biased one, divided by the size of the batch.

Differs from the paper: networks, optimiser and weights are those of Locatello et al. 2019 (arXiv:1811.12359), whose
grid of lambda_od is 1, 2, 5, 10, 20, 50, with lambda_d = 10 lambda_od in DIP-VAE-I and lambda_od in DIP-VAE-II.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class DIPVAE(Method[Images]):
    """A Gaussian code whose dimensions are drawn towards no correlation and a variance of one; block `z`.

    Args:
        dip_variant: penalise the covariance of the posterior means (i) or of the samples (ii)
        lambda_od: weight of the squared off-diagonal entries of the covariance
        lambda_d: weight of the squared deviations of the variances from 1; None: 10 lambda_od (i) or lambda_od (ii)
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
        dip_variant: Literal["i", "ii"] = "ii",
        lambda_od: Weight = 10.0,
        lambda_d: Weight | None = None,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.sampled = dip_variant == "ii"
        self.lambda_od = lambda_od
        self.lambda_d = lambda_d if lambda_d is not None else lambda_od if self.sampled else 10 * lambda_od
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        od, d = penalties(mu, log_var if self.sampled else None)
        value = rec + kl + self.lambda_od * od + self.lambda_d * d
        return {"model": minimise(value, rec=rec, kl=kl, off_diagonal=od, diagonal=d)}


def penalties(mu: Tensor, log_var: Tensor | None) -> tuple[Tensor, Tensor]:
    """The sums of C_ij^2 over i != j, and of (C_ii - 1)^2; C is the covariance of the means, or of samples."""
    centred = mu - mu.mean(0)
    c = centred.T @ centred / len(mu)  # [k, k]
    if log_var is not None:
        c = c + log_var.exp().mean(0).diag()
    diagonal = c.diagonal()
    return (c - diagonal.diag()).square().sum(), (diagonal - 1).square().sum()
