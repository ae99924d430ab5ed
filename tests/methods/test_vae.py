from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.vae import VAE
from unbraid.nets.autoencoders import GAUSSIAN_SCALE

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=6, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def by_hand(method: VAE | BetaVAE, x: torch.Tensor, likelihood: str, seed: int) -> tuple[float, float]:
    """Reconstruction and KL of the ELBO, pixel by pixel and latent by latent."""
    with torch.no_grad():
        mu, log_var = (part.double().numpy() for part in method.encoder(x).chunk(2, -1))
        torch.manual_seed(seed)
        z = mu + np.exp(log_var / 2) * torch.randn(mu.shape).double().numpy()
        p = torch.sigmoid(method.decoder(torch.tensor(z).float())).double().numpy()
    rec = kl = 0.0
    for i, image in enumerate(x.double().numpy()):
        for value, mean in zip(image.ravel(), p[i].ravel(), strict=True):
            if likelihood == "bernoulli":
                rec -= value * np.log(mean) + (1 - value) * np.log(1 - mean)
            else:
                density = np.exp(-0.5 * ((value - mean) / GAUSSIAN_SCALE) ** 2) / (GAUSSIAN_SCALE * np.sqrt(2 * np.pi))
                rec -= np.log(density)
        for m, lv in zip(mu[i], log_var[i], strict=True):
            kl += 0.5 * (np.exp(lv) + m**2 - 1 - lv)
    return rec / len(x), kl / len(x)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_loss_is_the_negative_elbo_in_nats_per_image(likelihood: Any) -> None:
    torch.manual_seed(0)
    method = VAE(TABLE.spec, latents=3, width=4, likelihood=likelihood)
    rec, kl = by_hand(method, batch().x, likelihood, seed=1)
    torch.manual_seed(1)
    loss = method.losses(batch(), 0)["model"]
    assert loss.terms["rec"].item() == pytest.approx(rec, rel=1e-4)
    assert loss.terms["kl"].item() == pytest.approx(kl, rel=1e-4)
    assert loss.value.item() == pytest.approx(rec + kl, rel=1e-4)


def test_beta_weighs_the_kl_and_beta_one_is_the_vae() -> None:
    found = {}
    for beta in (None, 1.0, 4.0):
        torch.manual_seed(0)
        method = VAE(TABLE.spec) if beta is None else BetaVAE(TABLE.spec, beta=beta)
        torch.manual_seed(1)
        found[beta] = method.losses(batch(), 0)["model"]
    assert found[None].value == found[1.0].value
    assert found[4.0].value.item() == pytest.approx((found[1.0].value + 3 * found[1.0].terms["kl"]).item(), rel=1e-6)


def test_the_code_of_an_image_is_its_posterior_mean() -> None:
    method = VAE(TABLE.spec)
    x = batch().x
    torch.testing.assert_close(method.encode(x)["z"], method.encoder(x)[:, :10])
