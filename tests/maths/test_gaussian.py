from __future__ import annotations

import math

import torch
from torch.distributions import Normal, kl_divergence

from unbraid.maths import gaussian


def pair(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(50, 4, generator=generator), torch.randn(50, 4, generator=generator)


def normal(mu: torch.Tensor, log_var: torch.Tensor) -> Normal:
    return Normal(mu, (0.5 * log_var).exp())


def test_densities_and_divergences_against_torch_distributions() -> None:
    (mu1, lv1), (mu2, lv2), (z, _) = pair(0), pair(1), pair(2)
    standard = Normal(torch.zeros_like(mu1), torch.ones_like(mu1))
    torch.testing.assert_close(gaussian.log_density(z, mu1, lv1), normal(mu1, lv1).log_prob(z))  # type: ignore[no-untyped-call]
    torch.testing.assert_close(gaussian.kl_to_standard(mu1, lv1), kl_divergence(normal(mu1, lv1), standard))
    torch.testing.assert_close(gaussian.kl(mu1, lv1, mu2, lv2), kl_divergence(normal(mu1, lv1), normal(mu2, lv2)))


def test_kl_is_the_mean_log_ratio_of_samples() -> None:
    torch.manual_seed(0)
    mu, log_var = torch.tensor([0.7]), torch.tensor([-0.5])
    z = gaussian.sample(mu.expand(200_000, 1), log_var.expand(200_000, 1))
    ratio = gaussian.log_density(z, mu, log_var) - gaussian.log_density(z, torch.zeros(1), torch.zeros(1))
    assert math.isclose(ratio.mean().item(), gaussian.kl_to_standard(mu, log_var).item(), abs_tol=4e-3)


def test_samples_have_the_mean_and_the_variance() -> None:
    torch.manual_seed(0)
    mu, log_var = torch.tensor([1.5, -2.0]), torch.tensor([0.8, -1.2])
    z = gaussian.sample(mu.expand(100_000, 2), log_var.expand(100_000, 2))
    torch.testing.assert_close(z.mean(0), mu, atol=0.02, rtol=0)
    torch.testing.assert_close(z.var(0), log_var.exp(), atol=0, rtol=0.02)
