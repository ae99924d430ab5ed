from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tests.methods.labelled import batch, build, losses
from unbraid.maths import gaussian
from unbraid.methods.cvib import CVIB, kl_between


def test_cvib_s_divergence_is_the_mean_over_pairs_of_posteriors() -> None:
    """Each pair on its own too: the log determinants cancel in the mean over all pairs, so a wrong sign would pass."""
    torch.manual_seed(0)
    mu, log_var = torch.randn(5, 3), torch.randn(5, 3)
    total = 0.0
    for i in range(5):
        for j in range(5):
            for d in range(3):
                ratio = math.exp(log_var[i, d] - log_var[j, d])
                shift = float((mu[i, d] - mu[j, d]) ** 2) / math.exp(log_var[j, d])
                pair = 0.5 * (ratio + shift - 1 - math.log(ratio))
                total += pair
                found = gaussian.kl(mu[i, d], log_var[i, d], mu[j, d], log_var[j, d])
                assert found.item() == pytest.approx(pair, rel=1e-4, abs=1e-6)
    assert kl_between(mu, log_var).item() == pytest.approx(total / 25, rel=1e-5)
    assert kl_between(mu[:1].expand(4, 3), log_var[:1].expand(4, 3)).item() == pytest.approx(0, abs=1e-6)


def test_cvib_s_loss_is_its_equation_and_its_decoder_is_told_the_nuisance() -> None:
    method = build(CVIB, beta=0.3, reconstruction=0.2, latents=6)
    with torch.no_grad():
        method.encoder[-1].weight.mul_(100)  # codes that differ, so that their divergence counts
    x, y, s = batch().x, batch().y, batch().s
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    z = mu + (log_var / 2).exp() * torch.randn(12, 6)
    ce = F.cross_entropy(method.classifier(z), y)
    nuisance = torch.cat([torch.eye(4)[s[:, 0]], torch.eye(3)[s[:, 1]]], 1)
    rec = F.binary_cross_entropy_with_logits(method.decoder(torch.cat([z, nuisance], 1)), x, reduction="sum") / 12
    kl = kl_between(mu, log_var)
    expected = ce + 0.2 * rec + 0.5 * kl
    assert 0.2 * kl > 0.05 * expected  # otherwise the weight of the divergence is not tested
    assert losses(method)["model"].value.item() == pytest.approx(expected.item(), rel=1e-5)


def test_cvib_decodes_the_code_before_a_nuisance_that_is_not_known() -> None:
    method = build(CVIB, latents=6)
    z = method.encoder(batch().x)[:, :6]
    unknown = torch.tensor([0.25] * 4 + [1 / 3] * 3).expand(12, 7)
    expected = torch.sigmoid(method.decoder(torch.cat([z, unknown], 1)))
    torch.testing.assert_close(method.decode(method.encode(batch().x)), expected, rtol=0, atol=1e-6)
