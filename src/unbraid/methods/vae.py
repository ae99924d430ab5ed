"""VAE: the variational autoencoder, Kingma & Welling 2014 (arXiv:1312.6114, eq. 3).

    E_q(z|x)[-log p(x|z)] + KL(q(z|x) || p(z))

Differs from the paper: nothing; networks and optimiser are those of Locatello et al. 2019 (arXiv:1811.12359).
"""

from __future__ import annotations

from typing import Literal

from unbraid.config import Rate, Size
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import gaussian
from unbraid.methods.contract import Loss, Method, minimise
from unbraid.nets import autoencoders as nets


class VAE(Method[Images]):
    """A Gaussian code under a standard normal prior; block `z`.

    Args:
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
        latents: Size = 10,
        net: Literal["conv", "mlp", "dense", "contrast"] = "conv",
        width: Size = 32,
        likelihood: Literal["bernoulli", "gaussian", "negative_binomial"] = "bernoulli",
        sigma: Rate = 0.1,
        learn_sigma: bool = False,
        lr: Rate = 1e-4,
    ) -> None:
        super().__init__(spec, lr=lr)
        self.encoder = nets.encoder(net, spec.shape, 2 * latents, width=width)
        self.decoder = nets.decoder(
            net, spec.shape, latents, width=width, likelihood=likelihood, sigma=sigma, learn_sigma=learn_sigma
        )

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        mu, log_var = self.encoder(batch.x).chunk(2, -1)  # [b, k]
        z = gaussian.sample(mu, log_var)
        rec = self.decoder.nll(z, batch.x).mean()
        kl = gaussian.kl_to_standard(mu, log_var).sum(-1).mean()
        return {"model": minimise(rec + kl, rec=rec, kl=kl)}
