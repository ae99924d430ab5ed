"""The negative binomial likelihood of counts, against SciPy, a product of plain factors, and its limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid.maths.negative_binomial import negative_log_probability

COUNTS = torch.tensor([0.0, 1, 2, 7, 40, 3000], dtype=torch.float64)


def of(counts: torch.Tensor, mean: float, theta: float) -> torch.Tensor:
    logs = torch.tensor([mean, theta], dtype=torch.float64).log()
    return negative_log_probability(counts, logs[0], logs[1])


@pytest.mark.parametrize("mean", [0.01, 3.0, 500.0])
@pytest.mark.parametrize("theta", [0.1, 1.0, 30.0])
def test_it_is_that_of_scipy(mean: float, theta: float) -> None:
    wanted = -stats.nbinom.logpmf(COUNTS.numpy(), theta, theta / (theta + mean))
    np.testing.assert_allclose(of(COUNTS, mean, theta), wanted, rtol=1e-9, atol=1e-9)


def test_it_is_a_product_of_chances() -> None:
    """p(k) = p(0) times (theta + i) / (i + 1) m / (theta + m) for each i below k: no Gamma function in sight."""
    mean, theta = 2.5, 1.7
    p = (theta / (theta + mean)) ** theta
    for k in range(30):
        assert of(torch.tensor(float(k), dtype=torch.float64), mean, theta).item() == pytest.approx(-math.log(p))
        p *= (theta + k) / (k + 1) * mean / (theta + mean)


def test_the_mean_and_the_variance_are_what_they_are_called() -> None:
    k, mean, theta = torch.arange(4000, dtype=torch.float64), 6.0, 0.8
    p = of(k, mean, theta).neg().exp()
    assert p.sum().item() == pytest.approx(1, abs=1e-9)
    assert (p * k).sum().item() == pytest.approx(mean, rel=1e-6)
    assert (p * (k - mean) ** 2).sum().item() == pytest.approx(mean + mean**2 / theta, rel=1e-6)


def test_with_a_large_theta_it_is_a_poisson_distribution() -> None:
    k = COUNTS[:5]
    wanted = -stats.poisson.logpmf(k.numpy(), 3.0)
    distance = [np.abs(of(k, 3.0, theta).numpy() - wanted).max() for theta in (1e2, 1e4, 1e6)]
    assert distance[2] < 2e-3 and distance[0] > 50 * distance[1] > 2500 * distance[2]


def test_its_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    log_mean, log_theta = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((4, 6), (6,)))
    assert torch.autograd.gradcheck(lambda m, t: negative_log_probability(COUNTS, m, t), (log_mean, log_theta))


@pytest.mark.parametrize("log_mean", [-60.0, 12.0])
@pytest.mark.parametrize("log_theta", [-12.0, 7.0])
def test_extreme_values_stay_finite_in_single_precision(log_mean: float, log_theta: float) -> None:
    given = [torch.full((6,), value, requires_grad=True) for value in (log_mean, log_theta)]
    loss = negative_log_probability(COUNTS.float(), *given).sum()
    assert torch.isfinite(loss) and all(torch.isfinite(g).all() for g in torch.autograd.grad(loss, given))
