"""The standard deviation of the gaussian likelihood: given, or learnt with the decoder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.toys import Squares
from unbraid import catalogue
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.methods.vae import VAE
from unbraid.metrics.model.quantities import unsupervised_quantities
from unbraid.nets.autoencoders import Decoder
from unbraid.train.trainer import Trainer

TABLE = Squares()
WITH = [n for n, e in catalogue.entries("methods").items() if "likelihood" in {a.name for a in e.arguments}]


def build(name: str, **arguments: Any) -> Method[Any]:
    torch.manual_seed(0)
    method: Method[Any] = catalogue.find("methods", name).load()(
        TABLE.spec, net="dense", width=2, likelihood="gaussian", **arguments
    )
    return method


@pytest.mark.parametrize("learn", [False, True])
def test_the_likelihood_is_that_of_a_normal_with_this_standard_deviation(learn: bool) -> None:
    decoder, logits, x = Decoder(nn.Identity(), "gaussian", 0.3, learn), torch.randn(4, 1, 5, 5), torch.rand(4, 1, 5, 5)
    normal = torch.distributions.Normal(logits.sigmoid(), 0.3)
    expected = -normal.log_prob(x).flatten(1).sum(1)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(decoder.nll(logits, x), expected)
    other = torch.randn(4, 1, 5, 5)
    apart = torch.distributions.kl_divergence(normal, torch.distributions.Normal(other.sigmoid(), 0.3))
    torch.testing.assert_close(decoder.divergence_of(other, logits), apart.flatten(1).sum(1))
    assert decoder.sigma == pytest.approx(0.3)


def test_the_best_variance_is_the_mean_squared_error() -> None:
    """At the minimum in closed form the gradient is 0; from elsewhere Adam arrives there."""
    logits, x = torch.randn(6, 1, 5, 5), torch.rand(6, 1, 5, 5)
    best = float(((x - logits.sigmoid()) ** 2).mean().sqrt())
    decoder = Decoder(nn.Identity(), "gaussian", best, learn_sigma=True)
    (gradient,) = torch.autograd.grad(decoder.nll(logits, x).mean(), list(decoder.parameters()))
    assert gradient.item() == pytest.approx(0, abs=1e-4)
    decoder = Decoder(nn.Identity(), "gaussian", 0.1, learn_sigma=True)
    adam = torch.optim.Adam(decoder.parameters(), lr=0.05)
    for _ in range(200):
        adam.zero_grad()
        decoder.nll(logits, x).mean().backward()  # type: ignore[no-untyped-call]
        adam.step()
    assert decoder.sigma == pytest.approx(best, rel=1e-3)
    least = 25 * (math.log(best) + 0.5 * math.log(2 * math.pi) + 0.5)
    assert decoder.nll(logits, x).mean().item() == pytest.approx(least, abs=1e-3)


@pytest.mark.parametrize("name", WITH)
def test_every_method_with_a_likelihood_takes_it_and_learns_it_with_the_decoder(name: str) -> None:
    assert build(name).decoder.sigma == 0.1
    assert build(name, sigma=0.3).decoder.sigma == 0.3
    assert not any("sigma" in key for key in build(name, sigma=0.3).state_dict())
    method = build(name, sigma=0.3, learn_sigma=True)
    learnt = method.decoder.log_sigma
    (group,) = (g for g in method.groups().values() if any(p is learnt for p in g.parameters))
    assert {id(p) for p in method.decoder.parameters()} <= {id(p) for p in group.parameters}
    trainer = Trainer(method)
    trainer.step(sampler(TABLE, method.batch_kind, batch=16, seed=0)(0).on("cpu"), 0)
    assert method.decoder.sigma != pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize("learn", [False, True])
def test_the_reconstruction_of_a_trained_model_is_scored_with_its_own_standard_deviation(learn: bool) -> None:
    method = build("vae", sigma=0.4, learn_sigma=learn, latents=2)
    assert isinstance(method, VAE)
    if learn:
        method.decoder.log_sigma.data.fill_(math.log(0.2))  # type: ignore[union-attr]
    for weight in method.encoder[-1].parameters():  # type: ignore[index]
        nn.init.zeros_(weight)  # whatever the image, the code is a draw of the prior
    for weight in method.decoder.parameters():
        if weight.ndim:
            nn.init.zeros_(weight)  # whatever the code, the mean is 1/2
    rows = np.arange(40)
    x = TABLE.images(rows) / 255
    sigma = 0.2 if learn else 0.4
    density = np.exp(-0.5 * ((x - 0.5) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    found = unsupervised_quantities(method, TABLE, rows)["reconstruction"]
    assert found == pytest.approx(-np.log(density).reshape(40, -1).sum(1).mean(), rel=1e-5)


def test_what_has_no_standard_deviation_cannot_learn_it() -> None:
    with pytest.raises(UserError, match="learn_sigma needs the gaussian likelihood"):
        VAE(TABLE.spec, likelihood="bernoulli", learn_sigma=True)
    with pytest.raises(UserError, match="sigma of vae must be more than 0, not 0"):
        VAE(TABLE.spec, sigma=0.0)
