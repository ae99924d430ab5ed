from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.maths.dependence import permute_dims
from unbraid.methods.factor_vae import FactorVAE
from unbraid.methods.vae import VAE
from unbraid.nets.critics import log_odds
from unbraid.train.trainer import Trainer

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def build(gamma: float = 10.0, second_batch: bool = False) -> FactorVAE:
    torch.manual_seed(0)
    return FactorVAE(TABLE.spec, gamma=gamma, critic_width=32, second_batch=second_batch)


def test_the_critic_cannot_move_the_encoder() -> None:
    """The encoder's gradient is that of the VAE's loss plus gamma TC, whatever the critic's own loss is."""
    method = build()
    torch.manual_seed(1)
    x = batch().x
    mu, log_var = method.encoder(x).chunk(2, -1)
    z = gaussian.sample(mu, log_var)
    joint, product = method.critic(z).unbind(-1)
    kl = 0.5 * (mu**2 + log_var.exp() - log_var - 1).sum(1).mean()
    rec = F.binary_cross_entropy_with_logits(method.decoder(z), x, reduction="sum") / len(x)
    parameters = [*method.encoder.parameters(), *method.decoder.parameters()]
    expected = torch.autograd.grad(rec + kl + 10 * (joint - product).mean(), parameters)
    torch.manual_seed(1)
    Trainer(method).step(batch(), 0)
    for parameter, gradient in zip(parameters, expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def test_the_encoder_cannot_move_the_critic() -> None:
    """The critic's gradient is that of its classification loss alone."""
    method = build(gamma=1000.0)
    torch.manual_seed(1)
    with torch.no_grad():
        z = gaussian.sample(*method.encoder(batch().x).chunk(2, -1))
    logits = method.critic(torch.cat([z, permute_dims(z)]))
    labels = torch.tensor([0] * 16 + [1] * 16)
    parameters = list(method.critic.parameters())
    expected = torch.autograd.grad(F.cross_entropy(logits, labels), parameters)
    torch.manual_seed(1)
    Trainer(method).step(batch(), 0)
    for parameter, gradient in zip(parameters, expected, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_without_gamma_the_model_minimises_the_vae_loss() -> None:
    method = build(gamma=0.0)
    torch.manual_seed(0)
    vae = VAE(TABLE.spec)
    torch.manual_seed(1)
    ours = method.losses(batch(), 0)["model"].value
    torch.manual_seed(1)
    assert ours.item() == pytest.approx(vae.losses(batch(), 0)["model"].value.item(), rel=1e-6)


def test_the_second_batch_is_other_images() -> None:
    """Half of the batch is reconstructed, the permuted codes come from the other half."""
    method, both = build(second_batch=True), batch()
    torch.manual_seed(1)
    whole = method.losses(both, 0)
    changed = Images(both.index, torch.cat([both.x[:8], 1 - both.x[8:]]))
    torch.manual_seed(1)
    other = method.losses(changed, 0)
    assert whole["model"].value == other["model"].value
    assert whole["critic"].value != other["critic"].value


def test_with_a_second_batch_the_critic_tells_codes_of_one_half_from_shuffled_codes_of_the_other() -> None:
    method = build(second_batch=True).double()
    images = replace(batch(), x=batch().x.double())
    torch.manual_seed(1)
    with torch.no_grad():
        (mu, other), (log_var, other_log_var) = (half.chunk(2) for half in method.encoder(images.x).chunk(2, -1))
        z = mu + (log_var / 2).exp() * torch.randn_like(mu)
        other = other + (other_log_var / 2).exp() * torch.randn_like(mu)
        order = torch.rand_like(mu).argsort(0)
    shuffled = torch.stack([other[order[:, j], j] for j in range(10)], 1)
    expected = F.cross_entropy(method.critic(torch.cat([z, shuffled])), torch.tensor([0] * 8 + [1] * 8))
    torch.manual_seed(1)
    found, parameters = method.losses(images, 0)["critic"].value, list(method.critic.parameters())
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-12)


def test_a_trained_critic_measures_the_total_correlation() -> None:
    """Two Gaussian latents with correlation rho have TC = -log(1 - rho^2) / 2."""
    rho = 0.8
    method = build()
    method.critic = torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)
    )
    adam = torch.optim.Adam(method.critic.parameters(), 3e-3)
    torch.manual_seed(0)

    def draw(n: int) -> torch.Tensor:
        a, b = torch.randn(2, n)
        return torch.stack([a, rho * a + math.sqrt(1 - rho**2) * b], 1)

    for _ in range(600):
        z = draw(512)
        joint, product = (log_odds(method.critic(code)) for code in (z, permute_dims(z)))
        loss = F.softplus(-joint).mean() + F.softplus(product).mean()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        assert log_odds(method.critic(draw(50_000))).mean().item() == pytest.approx(
            -0.5 * math.log(1 - rho**2), abs=0.06
        )


def test_one_image_cannot_be_halved() -> None:
    with pytest.raises(UserError, match="it needs a batch of two or more"):
        build(second_batch=True).losses(Images(batch().index[:1], batch().x[:1]), 0)
