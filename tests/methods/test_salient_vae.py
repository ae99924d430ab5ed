from __future__ import annotations

import math

import pytest
import torch

from tests.methods.two_sets import B, Told, batch, build, loss, told
from unbraid.data.batch import TargetBackground
from unbraid.maths.transport import squared_w2
from unbraid.methods.salient_vae import SalientVAE


def test_the_salient_penalty_is_the_squared_mean_plus_the_variance() -> None:
    method = build(SalientVAE, lambda_s=7.0, lambda_z=0.0)
    mu, log_var = told(method)
    expected = sum((mu[i, :3] ** 2).sum() + log_var[i, :3].exp().sum() for i in range(B, 2 * B)) / B
    without = build(SalientVAE, lambda_s=0.0, lambda_z=0.0)
    told(without)
    added = loss(method)["model"].value - loss(without)["model"].value
    assert added.item() == pytest.approx(7 * float(expected), rel=1e-4)


def test_a_salient_mean_of_2_and_a_variance_of_a_hundredth_cost_three_times_4_01() -> None:
    """On backgrounds alone: targets, and the common codes of both, may be anything."""
    method = build(SalientVAE, lambda_s=7.0, lambda_z=0.0)
    told(method)
    with torch.no_grad():
        method.encoder.outputs[B:, :3], method.encoder.outputs[B:, 7:10] = 2.0, math.log(0.01)
    found = loss(method)["model"]
    assert found.terms["salience"].item() == pytest.approx(3 * (4 + 0.01), rel=1e-6)
    (gradient,) = torch.autograd.grad(found.value, method.encoder.outputs)
    torch.testing.assert_close(gradient[B:, :3], torch.full((B, 3), 7 * 2 * 2.0 / B), rtol=1e-5, atol=0)
    torch.testing.assert_close(gradient[B:, 7:10], torch.full((B, 3), 7 * 0.01 / B), rtol=1e-5, atol=0)


def test_the_transport_term_is_between_sampled_common_codes_and_moves_both_sets() -> None:
    """With variance almost 0 and one set a shifted copy of the other, W2^2 is the shift's square."""
    method, shift = build(SalientVAE, lambda_s=0.0, lambda_z=5.0), torch.tensor([1.0, -2.0, 0.5, 0.0])
    mu, log_var = torch.randn(2 * B, 7), torch.full((2 * B, 7), -30.0)
    order = torch.randperm(B)
    mu[B:, 3:] = mu[order, 3:] + shift
    method.encoder = Told(torch.cat([mu, log_var], 1))
    found = loss(method)["model"]
    assert found.terms["w2"].item() == pytest.approx(5.25, rel=1e-4)
    without = build(SalientVAE, lambda_s=0.0, lambda_z=0.0)
    without.encoder = method.encoder
    (difference,) = torch.autograd.grad(found.value - loss(without)["model"].value, method.encoder.outputs)
    torch.testing.assert_close(difference[:B, 3:7], (-2 * 5 * shift / B).expand(B, 4), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(difference[B:, 3:7], (2 * 5 * shift / B).expand(B, 4), rtol=1e-3, atol=1e-3)
    assert difference[:, :3].abs().max() < 1e-3


def test_a_decoder_takes_salient_before_common() -> None:
    method = build(SalientVAE).eval()
    x = batch().target
    with torch.no_grad():
        blocks = method.encode(x)
        mu = method.encoder(x).chunk(2, -1)[0]
        assert torch.equal(torch.cat([blocks["s"], blocks["z"]], 1), mu)
        torch.testing.assert_close(method.decode(blocks), method.decoder.mean(mu))
    assert list(blocks) == ["s", "z"]


def test_transport_of_means_does_not_see_the_noise() -> None:
    """Means of one set are those of the other in another order and moved: the square of the shift."""
    method, shift = (
        build(SalientVAE, lambda_s=0.0, lambda_z=5.0, transport="means"),
        torch.tensor([1.0, -2.0, 0.5, 0.0]),
    )
    mu, log_var = torch.randn(2 * B, 7), torch.full((2 * B, 7), 2.0)
    mu[B:, 3:] = mu[torch.randperm(B), 3:] + shift
    method.encoder = Told(torch.cat([mu, log_var], 1))
    found = loss(method)["model"]
    assert found.terms["w2"].item() == pytest.approx(5.25, rel=1e-4)
    without = build(SalientVAE, lambda_s=0.0, lambda_z=0.0, transport="means")
    without.encoder = method.encoder
    (difference,) = torch.autograd.grad(found.value - loss(without)["model"].value, method.encoder.outputs)
    torch.testing.assert_close(difference[:B, 3:7], (-2 * 5 * shift / B).expand(B, 4), rtol=1e-3, atol=1e-3)
    assert difference[:, 7:].abs().max() < 1e-3  # the log variances have no part in it
    assert (
        loss(build(SalientVAE))["model"].terms["w2"]
        == loss(build(SalientVAE, transport="samples"))["model"].terms["w2"]
    )


def test_means_see_what_samples_cannot() -> None:
    """z of targets is +-0.8 with variance 0.36, that of backgrounds 0 with variance 1: alike in mean and variance.

    W2 between the mixtures is small beside that between the means, 0.8^2 in each of four dimensions.
    """
    many = 600
    found = {}
    for transport in ("samples", "means"):
        method = build(SalientVAE, transport=transport)
        mu, log_var = torch.zeros(2 * many, 7), torch.zeros(2 * many, 7)
        mu[:many, 3:] = 0.8 * torch.randint(0, 2, (many, 4), generator=torch.Generator().manual_seed(0)).mul(2).sub(1)
        log_var[:many, 3:] = math.log(1 - 0.8**2)
        method.encoder = Told(torch.cat([mu, log_var], 1))
        x = torch.zeros(many, *batch().target.shape[1:])
        of = TargetBackground(torch.arange(many), x, x)
        found[transport] = loss(method, of)["model"].terms["w2"].item()
    assert found["means"] == pytest.approx(4 * 0.8**2, rel=1e-5)
    null = squared_w2(*torch.randn(2, many, 4, generator=torch.Generator().manual_seed(1))).item()
    assert found["samples"] < null + 0.15 < 0.5 * found["means"]


def test_the_loss_is_the_weighted_sum_of_the_terms_that_are_logged() -> None:
    found = loss(build(SalientVAE, beta=3.0, lambda_s=5.0, lambda_z=7.0))["model"]
    weights = {"rec": 1, "kl": 3, "salience": 5, "w2": 7}
    assert found.value.item() == pytest.approx(
        sum(w * found.terms[name].item() for name, w in weights.items()), rel=1e-5
    )
