from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid.maths import laplace

CASES = [(0.0, 1.0), (0.3, 0.04), (-2.0, 0.5), (1.5, 4.0), (-0.01, 1e-4)]


@pytest.mark.parametrize(("mu", "var"), CASES)
def test_the_expected_distance_is_that_of_the_folded_normal(mu: float, var: float) -> None:
    sigma = var**0.5
    found = laplace.expected_distance(*torch.tensor([mu, var], dtype=torch.float64)).item()
    assert found == pytest.approx(stats.foldnorm(abs(mu) / sigma, scale=sigma).mean(), rel=1e-9)


@pytest.mark.parametrize(("mu", "var"), CASES)
@pytest.mark.parametrize("rate", [0.5, 6.0])
def test_the_kl_is_the_integral_of_its_definition(mu: float, var: float, rate: float) -> None:
    """Over both variables, by sums of densities of scipy on a fine grid."""
    before, q = stats.norm(0.2, 0.3), stats.norm(mu, var**0.5)
    first, second = (one.mean() + one.std() * np.linspace(-8, 8, 801) for one in (before, q))
    weights = np.outer(before.pdf(first), q.pdf(second))
    ratio = q.logpdf(second) - stats.laplace(first[:, None], 1 / rate).logpdf(second)
    expected = (weights * ratio).sum() / weights.sum()
    numbers = torch.tensor([mu, np.log(var), before.mean(), np.log(before.var())], dtype=torch.float64)
    assert laplace.transition_kl(*numbers, rate=rate).item() == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_the_kl_falls_as_the_code_stays_and_has_a_gradient_where_it_does() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(5, generator=generator, dtype=torch.float64).requires_grad_() for _ in range(4)]
    assert torch.autograd.gradcheck(lambda *parts: laplace.transition_kl(*parts, rate=6.0), inputs)
    still = [torch.zeros(1, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    assert torch.autograd.gradcheck(lambda *parts: laplace.transition_kl(*parts, rate=6.0), still)
    far = laplace.transition_kl(torch.tensor(3.0), *torch.zeros(3), rate=6.0)
    assert far > laplace.transition_kl(*torch.zeros(4), rate=6.0)


def test_a_narrow_posterior_stays_finite() -> None:
    mu, log_var = torch.tensor([0.0, 5.0]), torch.tensor([-40.0, -40.0])
    found = laplace.transition_kl(mu, log_var, torch.zeros(2), log_var, rate=2.0)
    assert torch.isfinite(found).all()
    assert (found[1] - found[0]).item() == pytest.approx(10.0, rel=1e-5)  # rate times |z - z'|
