"""SlowVAE: from one moment to the next most factors hardly move, Klindt et al. 2021 (arXiv:2007.10930, section 4).

    E[-log p(x_1|z_1) - log p(x_2|z_2)] + beta KL(q(z_1|x_1) || p(z)) + gamma E_q(z_1|x_1) KL(q(z_2|x_2) || p(z_2|z_1))

    p(z) = N(0, 1),   p(z_2|z_1) = product over dimensions of rate/2 exp(-rate |z_2 - z_1|)

A sparse prior on what changes between two successive images makes the axes of the code special; a normal prior does
not. Both KLs have closed forms: the second is rate E|z_2 - z_1| - log(rate/2) minus the entropy of q(z_2|x_2), and
z_2 - z_1 is Gaussian. Pairs are taken forwards and backwards, and both KLs are means over the two directions.

Defaults are those of the authors' code. Differs from the paper: the second KL is averaged over q(z_1|x_1); the authors'
code has the mean of z_1 in its place. It also adds the cross entropies of the two directions but subtracts the entropy
of one, so that its second term is 2 E[cross entropy] - E[entropy], twice as heavy a pull and no KL; here it is the KL.
"""

from __future__ import annotations

from typing import Literal

import torch

from unbraid.config import Rate, Size, Weight
from unbraid.data.batch import Transitions
from unbraid.data.table import Spec
from unbraid.maths import gaussian, laplace
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class SlowVAE(Method[Transitions]):
    """A code that changes sparsely between successive images; block `z`.

    Args:
        gamma: weight of the KL to the transition prior; 0 is the beta-VAE
        rate: of the transition prior, in units of the code; the larger, the less should move
        beta: weight of the KL to the standard normal prior
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
        gamma: Weight = 10.0,
        rate: Rate = 6.0,
        beta: Weight = 1.0,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.gamma, self.rate, self.beta = gamma, rate, beta
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Transitions, step: int) -> dict[str, Loss]:
        x = torch.cat([batch.x1, batch.x2])  # [2 b, c, h, w]
        mu, log_var = self.encoder(x).chunk(2, -1)  # [2 b, k]
        z = gaussian.sample(mu, log_var)
        rec = 2 * self.decoder.nll(z, x).mean()  # of both images of a pair
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        before = mu.roll(len(batch.x1), 0), log_var.roll(len(batch.x1), 0)  # the other image of the pair
        transition = laplace.transition_kl(mu, log_var, *before, rate=self.rate).sum(-1).mean()
        value = rec + self.beta * kl + self.gamma * transition
        return {"model": minimise(value, rec=rec, kl=kl, transition=transition)}
