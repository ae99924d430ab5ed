from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.methods.beta_factor_tcvae import BetaFactorTCVAE
from unbraid.methods.beta_tcvae import BetaTCVAE
from unbraid.methods.factor_vae import FactorVAE

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def test_it_is_the_sum_of_factor_vae_and_beta_tcvae() -> None:
    """With the capacity at 0: rec + KL once, and the total correlation of each with the one weight."""
    values = {}
    for name, kind, arguments in (
        ("both", BetaFactorTCVAE, {"weight": 3.0, "c_max": 0.0, "critic_width": 16}),
        ("critic", FactorVAE, {"gamma": 3.0, "critic_width": 16}),
        ("batch", BetaTCVAE, {"beta": 4.0}),
        ("neither", BetaTCVAE, {"beta": 1.0}),
    ):
        torch.manual_seed(0)
        method = kind(TABLE.spec, latents=6, width=4, **arguments)  # type: ignore[arg-type]
        with torch.no_grad():
            for parameter in method.encoder.parameters():
                parameter.mul_(4)  # codes that differ
        torch.manual_seed(1)
        values[name] = method.losses(batch(), 0)["model"].value.item()
    assert values["both"] == pytest.approx(values["critic"] + values["batch"] - values["neither"], rel=1e-5)
    assert values["batch"] != pytest.approx(values["neither"], rel=1e-4)


def test_the_capacity_grows_and_the_kl_is_held_to_it() -> None:
    torch.manual_seed(0)
    method = BetaFactorTCVAE(TABLE.spec, latents=6, width=4, beta=7.0, weight=0.0, c_max=10.0, c_steps=4)
    for step, capacity in ((0, 0.0), (2, 5.0), (9, 10.0)):
        torch.manual_seed(1)
        loss = method.losses(batch(), step)["model"]
        assert loss.terms["capacity"].item() == capacity
        expected = loss.terms["rec"] + 7 * (loss.terms["kl"] - capacity).abs()
        assert loss.value.item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_critic_tells_joint_codes_from_codes_with_each_dimension_shuffled() -> None:
    """Its gradient is that of a classifier whose first class is "joint"."""
    torch.manual_seed(0)
    method = BetaFactorTCVAE(TABLE.spec, latents=6, width=4, critic_width=16).double()
    images = replace(batch(), x=batch().x.double())
    torch.manual_seed(1)
    with torch.no_grad():
        mu, log_var = method.encoder(images.x).chunk(2, -1)
        z = mu + (log_var / 2).exp() * torch.randn_like(mu)
        order = torch.rand_like(z).argsort(0)
    shuffled = torch.stack([z[order[:, j], j] for j in range(6)], 1)
    expected = F.cross_entropy(method.critic(torch.cat([z, shuffled])), torch.tensor([0] * 16 + [1] * 16))
    torch.manual_seed(1)
    found, parameters = method.losses(images, 0)["critic"].value, list(method.critic.parameters())
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-12)
