from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.methods.labelled import batch, build, losses
from unbraid.maths import gaussian
from unbraid.methods import vfae as vfae_module
from unbraid.methods.vfae import VFAE


def vfae(**arguments: Any) -> VFAE:
    method: VFAE = build(VFAE, latents=5, hidden=7, **arguments)
    with torch.no_grad():  # a code that differs from its prior
        method.encoder[-1].weight.mul_(8)  # type: ignore[index]
    return method


def test_vfae_s_loss_is_its_equation_from_the_inferred_code() -> None:
    """x is drawn from the inferred z1 and s; z = mu + sigma eps; log q(z1|x) - log p(z1|z2,y), not the reverse."""
    method, x, y, s = vfae(alpha=2.0, beta=0.0), batch().x, batch().y, batch().s
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    z1 = mu + (log_var / 2).exp() * torch.randn(12, 5)
    label = torch.eye(3)[y]
    mu2, log_var2 = method.to_z2(torch.cat([z1, label], 1)).chunk(2, -1)
    z2 = mu2 + (log_var2 / 2).exp() * torch.randn(12, 5)
    prior_mu, prior_log_var = method.to_z1(torch.cat([z2, label], 1)).chunk(2, -1)
    nuisance = torch.cat([torch.eye(4)[s[:, 0]], torch.eye(3)[s[:, 1]]], 1)
    rec = F.binary_cross_entropy_with_logits(method.decoder(torch.cat([z1, nuisance], 1)), x, reduction="sum") / 12
    q = torch.distributions.Normal(mu, (log_var / 2).exp())
    prior = torch.distributions.Normal(prior_mu, (prior_log_var / 2).exp())
    kl1 = (q.log_prob(z1) - prior.log_prob(z1)).sum() / 12  # type: ignore[no-untyped-call]
    kl2 = 0.5 * (mu2**2 + log_var2.exp() - log_var2 - 1).sum() / 12
    ce = F.cross_entropy(method.classifier(z1), y)
    found, expected = losses(method)["model"], rec + kl1 + kl2 + 2 * ce
    assert found.value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert found.terms["kl1"].item() == pytest.approx(kl1.item(), rel=1e-4)
    parameters = list(method.parameters())
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found.value, expected)), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_vfae_s_first_divergence_is_that_of_the_posterior_from_its_prior() -> None:
    """Where the prior does not depend on z2 the mean over draws is the closed KL(q || p), which KL(p || q) is not."""
    method = vfae()
    with torch.no_grad():
        last = list(method.to_z1.parameters())
        last[-2].zero_()
        last[-1].copy_(torch.tensor([0.5] * 5 + [1.0] * 5))
        mu, log_var = method.encoder(batch().x).chunk(2, -1)
        right, wrong = (
            gaussian.kl(*pair).sum(-1).mean().item()
            for pair in (
                (mu, log_var, torch.full_like(mu, 0.5), torch.full_like(mu, 1.0)),
                (torch.full_like(mu, 0.5), torch.full_like(mu, 1.0), mu, log_var),
            )
        )
        draws = []
        for seed in range(400):
            torch.manual_seed(seed)
            draws.append(method.losses(batch(), 0)["model"].terms["kl1"].item())
    assert sum(draws) / 400 == pytest.approx(right, rel=0.03)
    assert abs(wrong - right) > 0.1 * right


def test_vfae_s_hidden_layers_bend() -> None:
    """Without its activation a network of two layers would be linear."""
    for net in (vfae().to_z1, vfae().to_z2):
        a, b = torch.randn(2, 6, 8).unbind(0)
        zero = net(torch.zeros(6, 8))
        assert not torch.allclose(net(a + b) - zero, (net(a) - zero) + (net(b) - zero), atol=1e-3)


def test_vfae_compares_the_codes_of_every_nuisance(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def spy(z: torch.Tensor, group: torch.Tensor, **_: Any) -> torch.Tensor:
        seen.append((z, group))
        return z.sum() * 0 + 1

    monkeypatch.setattr(vfae_module, "group_mmd", spy)
    found = losses(vfae(beta=9.0))["model"]
    without = losses(vfae(beta=0.0))["model"]
    assert found.value.item() - without.value.item() == pytest.approx(2 * 9, rel=1e-3)
    assert torch.equal(torch.stack([group for _, group in seen[:2]], 1), batch().s)


@pytest.mark.parametrize("mmd", ["biased", "unbiased"])
def test_vfae_s_distance_is_that_of_the_sampled_codes_and_reaches_the_encoder(mmd: str) -> None:
    """Value by value of each nuisance, with features and bandwidth as given; z1 is drawn, then z2, then features."""
    method = vfae(beta=9.0, features=11, bandwidth=3.0, mmd=mmd).double()
    images, encoder = replace(batch(), x=batch().x.double()), list(method.encoder.parameters())
    mu, log_var = method.encoder(images.x).chunk(2, -1)
    torch.manual_seed(1)
    z1, _ = mu + (log_var / 2).exp() * torch.randn_like(mu), torch.randn_like(mu)
    expected = torch.zeros((), dtype=torch.double)
    for nuisance in (0, 1):
        frequencies, phases = torch.randn(5, 11, dtype=z1.dtype), 2 * math.pi * torch.rand(11, dtype=z1.dtype)
        phi = math.sqrt(2 / 11) * torch.cos(math.sqrt(2 / 3) * z1 @ frequencies + phases)
        s = images.s[:, nuisance].tolist()
        chosen = [i for i in range(12) if mmd == "biased" or s.count(s[i]) > 1]
        for value in {s[i] for i in chosen}:
            weight = torch.tensor([(s[i] == value) / s.count(value) - 1 / len(chosen) for i in chosen], dtype=z1.dtype)
            products = weight[:, None] * weight * (phi[chosen] @ phi[chosen].T)
            expected = expected + products.sum()
            if mmd == "biased":
                continue
            for other in {s[i] for i in chosen}:  # a mean over pairs of different samples of a group
                of = [k for k, i in enumerate(chosen) if s[i] == other]
                within = products[of][:, of]
                rest = within.sum() - within.trace()
                expected = expected - within.sum() + rest * len(of) / (len(of) - 1)
    gradients = []
    for beta in (9.0, 0.0):
        method.beta = beta
        torch.manual_seed(1)
        found = method.losses(images, 0)["model"]
        gradients.append(torch.autograd.grad(found.value, encoder))
    torch.testing.assert_close(found.terms["mmd"], expected.detach())
    for ours, without, theirs in zip(*gradients, torch.autograd.grad(9 * expected, encoder), strict=True):
        torch.testing.assert_close(ours - without, theirs, rtol=1e-7, atol=1e-10)


def test_a_batch_of_one_has_no_distance() -> None:
    for mmd in ("biased", "unbiased"):
        loss = vfae(mmd=mmd).losses(batch(1), 0)["model"]
        assert loss.terms["mmd"].item() == 0
        assert torch.isfinite(loss.value)


def test_vfae_decodes_the_code_before_a_nuisance_that_is_not_known() -> None:
    method = vfae()
    z = method.encoder(batch().x)[:, :5]
    unknown = torch.tensor([0.25] * 4 + [1 / 3] * 3).expand(12, 7)
    expected = torch.sigmoid(method.decoder(torch.cat([z, unknown], 1)))
    torch.testing.assert_close(method.decode(method.encode(batch().x)), expected, rtol=0, atol=1e-6)
