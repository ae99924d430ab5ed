from __future__ import annotations

import math

import pytest
import torch

from unbraid.maths.invariance import fourier_features, group_mmd, reverse


def test_reversal_is_the_identity_whose_gradient_is_an_explicit_minus() -> None:
    torch.manual_seed(0)
    first, second, x = torch.nn.Linear(4, 3), torch.nn.Linear(3, 1), torch.randn(7, 4)
    plain, turned = second(first(x)).square().mean(), second(reverse(first(x), 0.7)).square().mean()
    assert turned.item() == plain.item()
    behind = list(second.parameters())
    for a, b in zip(
        torch.autograd.grad(turned, behind, retain_graph=True), torch.autograd.grad(plain, behind), strict=True
    ):
        torch.testing.assert_close(a, b)
    before = list(first.parameters())
    explicit = torch.autograd.grad(-0.7 * second(first(x)).square().mean(), before)
    for a, b in zip(torch.autograd.grad(turned, before), explicit, strict=True):
        torch.testing.assert_close(a, b)
        assert a.abs().max() > 0


@pytest.mark.parametrize("bandwidth", [0.5, 1.0, 4.0])
def test_random_features_give_the_gaussian_kernel(bandwidth: float) -> None:
    """Also where the frequencies are scaled: a phase that is scaled with them would be no whole turn."""
    torch.manual_seed(0)
    z = torch.randn(6, 3)
    phi = fourier_features(z, torch.randn(3, 200_000), 2 * math.pi * torch.rand(200_000), bandwidth)
    kernel = torch.exp(-(torch.cdist(z, z) ** 2) / bandwidth)
    torch.testing.assert_close(phi @ phi.T, kernel, atol=0.01, rtol=0)


def test_the_distance_of_groups_is_that_of_the_kernel() -> None:
    """Against sums of exp(-|a - b|^2 / gamma) over pairs of samples."""
    torch.manual_seed(0)
    z, group = torch.randn(30, 2), torch.tensor([0, 3, 5] * 10)
    z[group == 3] += 1
    z[group == 5] *= 2

    def mean_kernel(a: torch.Tensor, b: torch.Tensor) -> float:
        return sum(math.exp(-float(((p - q) ** 2).sum()) / 2.0) for p in a for q in b) / (len(a) * len(b))

    expected = 0.0
    for value in (0, 3, 5):
        part = z[group == value]
        expected += mean_kernel(part, part) - 2 * mean_kernel(part, z) + mean_kernel(z, z)
    found = torch.stack([group_mmd(z, group, features=20_000, bandwidth=2.0) for _ in range(10)]).mean()
    assert found.item() == pytest.approx(expected, rel=0.02)


def test_the_bandwidth_follows_the_codes_unless_it_is_given() -> None:
    """In 20 dimensions a kernel of width 1 is 0 between any two codes: alike or apart, groups look the same."""
    torch.manual_seed(0)
    z, group = 3 * torch.randn(300, 20), torch.arange(300) % 3
    apart = z + 6 * group[:, None]

    def distance(codes: torch.Tensor, **given: float) -> float:
        torch.manual_seed(1)
        return group_mmd(codes, group, features=2000, **given).item()

    assert distance(apart, bandwidth=1.0) == pytest.approx(distance(z, bandwidth=1.0), rel=0.05)
    assert distance(apart) > 20 * distance(z)
    assert distance(5 * apart) == pytest.approx(distance(apart), rel=1e-3)
    square = (torch.cdist(apart, apart) ** 2)[*torch.triu_indices(300, 300, 1)].median().item()
    assert distance(apart) == pytest.approx(distance(apart, bandwidth=square), rel=1e-4)
    codes = apart.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(group_mmd(codes, group), codes)
    assert gradient.abs().max() > 0
    assert (gradient * codes).sum().abs() < 1e-3 * gradient.norm() * codes.norm()  # no shrinking, no growing


def test_groups_that_are_alike_have_no_distance() -> None:
    torch.manual_seed(0)
    z = torch.randn(40, 3).repeat(2, 1)
    assert group_mmd(z, torch.tensor([0] * 40 + [1] * 40)).item() == pytest.approx(0, abs=1e-9)
    assert group_mmd(z + torch.arange(80)[:, None] / 40, torch.tensor([0] * 40 + [1] * 40)).item() > 0.05
