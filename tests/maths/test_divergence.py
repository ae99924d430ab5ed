from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm, spearmanr

from unbraid.maths import gaussian
from unbraid.maths.divergence import DIVERGENCES, jsd, jsd_exact

PAIRS = [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (-1.0, -1.0, 2.0, 0.5), (0.3, -2.0, 0.1, 0.4), (0, -3, 4, -3)]


def integrated(mu1: float, log_var1: float, mu2: float, log_var2: float, *, exact: bool) -> float:
    """Both halves of the divergence as integrals on the line."""
    one, two = norm(mu1, math.exp(log_var1 / 2)), norm(mu2, math.exp(log_var2 / 2))
    variance = (one.var() + two.var()) / 2 + (mu1 - mu2) ** 2 / 4
    matched = norm((mu1 + mu2) / 2, math.sqrt(variance))
    points = sorted({mu + k * sd for mu, sd in ((mu1, one.std()), (mu2, two.std())) for k in (-6, -2, 0, 2, 6)})

    def half(q: norm) -> float:
        def density(z: float) -> float:
            middle = np.logaddexp(one.logpdf(z), two.logpdf(z)) - math.log(2) if exact else matched.logpdf(z)
            return float(q.pdf(z) * (q.logpdf(z) - middle))

        low, high = q.mean() - 12 * q.std(), q.mean() + 12 * q.std()
        inside = [p for p in points if low < p < high]
        return float(quad(density, low, high, points=inside, limit=300, epsabs=1e-12)[0])

    return 0.5 * (half(one) + half(two))


def tensors(*values: float) -> list[torch.Tensor]:
    return [torch.tensor([value], dtype=torch.float64) for value in values]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_exact_divergence_is_the_integral(pair: tuple[float, float, float, float]) -> None:
    assert jsd_exact(*tensors(*pair)).item() == pytest.approx(integrated(*pair, exact=True), abs=1e-6)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 20.0, 100.0, 1e4])
@pytest.mark.parametrize("apart", [0.0, 0.5, 3.0, 12.0])
def test_the_exact_divergence_is_exact_for_any_scales(ratio: float, apart: float) -> None:
    """Quadrature under the wider posterior alone misses the narrower one: 0.02 to 0.11 beyond a ratio of 20."""
    pair = (0.3, 0.0, 0.3 + apart, -2 * math.log(ratio))
    expected = integrated(*pair, exact=True)
    assert jsd_exact(*tensors(*pair)).item() == pytest.approx(expected, abs=1e-6)
    single = [value.float() for value in tensors(*pair)]
    assert jsd_exact(*single).item() == pytest.approx(expected, abs=1e-4)


def test_the_gradient_of_the_exact_divergence_is_that_of_differences() -> None:
    pairs = [part[:50].clone().requires_grad_() for part in random_pairs()]
    assert torch.autograd.gradcheck(jsd_exact, pairs, atol=1e-5)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_matched_divergence_is_the_integral_with_the_matched_gaussian(
    pair: tuple[float, float, float, float],
) -> None:
    assert jsd(*tensors(*pair)).item() == pytest.approx(integrated(*pair, exact=False), abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
def test_kl_is_the_integral(pair: tuple[float, float, float, float]) -> None:
    mu1, log_var1, mu2, log_var2 = pair
    one, two = norm(mu1, math.exp(log_var1 / 2)), norm(mu2, math.exp(log_var2 / 2))
    low, high = mu1 - 12 * one.std(), mu1 + 12 * one.std()
    value = quad(lambda z: one.pdf(z) * (one.logpdf(z) - two.logpdf(z)), low, high)[0]
    assert DIVERGENCES["kl"](*tensors(*pair)).item() == pytest.approx(value, abs=1e-7)


def random_pairs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [s * torch.randn(4000, generator=generator, dtype=torch.float64) for s in (1.5, 1, 1.5, 1)]


def test_the_matched_divergence_bounds_the_exact_one_and_ranks_pairs_alike() -> None:
    pairs = random_pairs()
    above, exact = jsd(*pairs), jsd_exact(*pairs)
    assert (above >= exact - 1e-3).all()
    assert exact.max() <= math.log(2) + 1e-9
    assert above.max() > 1.5 * math.log(2)
    assert spearmanr(above, exact)[0] > 0.97


def test_both_are_symmetric_and_zero_for_equal_posteriors() -> None:
    mu1, log_var1, mu2, log_var2 = random_pairs()
    for divergence in (jsd, jsd_exact):
        torch.testing.assert_close(divergence(mu1, log_var1, mu2, log_var2), divergence(mu2, log_var2, mu1, log_var1))
        assert divergence(mu1, log_var1, mu1, log_var1).abs().max() < 1e-12
    assert not torch.allclose(gaussian.kl(mu1, log_var1, mu2, log_var2), gaussian.kl(mu2, log_var2, mu1, log_var1))
