from __future__ import annotations

import pytest
import torch
from torch.distributions import Independent, Laplace, Normal, kl_divergence

from tests.toys import Squares
from unbraid.data.batch import Transitions
from unbraid.data.samplers import sampler
from unbraid.methods.slow_vae import SlowVAE

TABLE = Squares()


def batch(n: int = 6) -> Transitions:
    drawn = sampler(TABLE, Transitions, batch=n, seed=0)(0).on("cpu")
    assert isinstance(drawn, Transitions)
    return drawn


def spread(method: SlowVAE) -> SlowVAE:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in method.encoder.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return method


def test_the_loss_is_the_bound_of_a_pair_by_distributions_of_torch() -> None:
    """The mean over both directions; the second KL by samples of both codes."""
    method = spread(SlowVAE(TABLE.spec, gamma=3.0, rate=2.0, beta=5.0, width=4, latents=3))
    pairs = batch()
    found = method.losses(pairs, 0)["model"]
    with torch.no_grad():
        q = [
            Normal(mu, (0.5 * log_var).exp())
            for x in (pairs.x1, pairs.x2)
            for mu, log_var in [method.posterior(x)["z"]]
        ]
    kl, transition = 0.0, 0.0
    torch.manual_seed(0)
    for first, second in ((q[0], q[1]), (q[1], q[0])):
        standard = Normal(torch.zeros(3), torch.ones(3))
        kl += kl_divergence(first, standard).sum(-1).mean().item() / 2
        z1, z2 = first.sample((40_000,)), second.sample((40_000,))  # type: ignore[no-untyped-call]
        prior = Independent(Laplace(z1, 0.5), 1)
        ratio = Independent(second, 1).log_prob(z2) - prior.log_prob(z2)  # type: ignore[no-untyped-call]
        transition += ratio.mean().item() / 2
    assert (q[0].mean - q[1].mean).abs().max() > 0.1
    assert found.terms["kl"].item() == pytest.approx(kl, rel=1e-5)
    assert found.terms["transition"].item() == pytest.approx(transition, abs=0.02)
    whole = found.terms["rec"] + 5 * found.terms["kl"] + 3 * found.terms["transition"]
    assert found.value.item() == pytest.approx(whole.item(), rel=1e-6)


def test_both_images_are_reconstructed() -> None:
    method, pairs = SlowVAE(TABLE.spec, width=4), batch()
    torch.manual_seed(1)
    found = method.losses(pairs, 0)["model"].terms["rec"].item()
    torch.manual_seed(1)
    x = torch.cat([pairs.x1, pairs.x2])
    mu, log_var = method.posterior(x)["z"]
    z = mu + (log_var / 2).exp() * torch.randn(12, 10)
    nll = method.decoder.nll(z, x)
    assert found == pytest.approx((nll[:6].mean() + nll[6:].mean()).item(), rel=1e-5)


def test_the_order_of_a_pair_does_not_matter_and_its_partner_does() -> None:
    method, pairs = spread(SlowVAE(TABLE.spec, width=4)), batch()
    turned = Transitions(pairs.index, pairs.x2, pairs.x1)
    others = Transitions(pairs.index, pairs.x1, pairs.x2.roll(1, 0))
    straight, back, mixed = (
        method.losses(one, 0)["model"].terms["transition"].item() for one in (pairs, turned, others)
    )
    assert straight == pytest.approx(back, rel=1e-5)
    assert straight != pytest.approx(mixed, rel=1e-3)
