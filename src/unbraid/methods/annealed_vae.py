"""AnnealedVAE: a code whose capacity grows during training, Burgess et al. 2018 (arXiv:1804.03599, eq. 8).

    E_q(z|x)[-log p(x|z)] + gamma |KL(q(z|x) || p(z)) - C|

Paper -> here: KL is the mean over the batch of its sum over latents; C, in nats, grows linearly from 0 to `c_max`
over the first `c_steps` steps, and stays there.

Differs from the paper: networks, optimiser, gamma and the growth of C are those of Locatello et al. 2019
(arXiv:1811.12359), whose grid of c_max is 5, 10, 25, 50, 75, 100.
"""

from __future__ import annotations

from typing import Literal

from unbraid.config import Count, Rate, Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import gaussian, schedule
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class AnnealedVAE(Method[Images]):
    """A Gaussian code whose KL is held at a capacity that grows during training; block `z`.

    Args:
        gamma: weight of the distance between the KL and the capacity
        c_max: final capacity, in nats
        c_steps: steps over which the capacity grows from 0
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
        gamma: Weight = 1000.0,
        c_max: Weight = 25.0,
        c_steps: Count = 100_000,
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.gamma, self.c_max, self.c_steps = gamma, c_max, c_steps
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        c = mu.new_tensor(schedule.linear(step, 0.0, self.c_max, self.c_steps))
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        return {"model": minimise(rec + self.gamma * (kl - c).abs(), rec=rec, kl=kl, capacity=c)}
