from __future__ import annotations

import math

import numpy as np
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


@pytest.mark.parametrize("unbiased", [True, False])
def test_the_distance_of_groups_is_that_of_the_kernel(unbiased: bool) -> None:
    """Against sums of exp(-|a - b|^2 / gamma) over pairs; unbiased: of different samples, where a group has two.

    The mean over all is that of the groups' means by their shares, so that pairs within a group are of two samples.
    """
    torch.manual_seed(0)
    z, group = torch.randn(31, 2), torch.tensor([0, 0, 0, 3, 5, 5] * 5 + [7])
    z[group == 3] += 1
    z[group == 5] *= 2
    kept = [value for value in (0, 3, 5, 7) if not unbiased or value != 7]
    of = {value: torch.nonzero(group == value).flatten().tolist() for value in kept}
    total = sum(map(len, of.values()))

    def mean_kernel(a: int, b: int) -> float:
        pairs = [(i, j) for i in of[a] for j in of[b] if i != j or not unbiased]
        return sum(math.exp(-float(((z[i] - z[j]) ** 2).sum()) / 2.0) for i, j in pairs) / len(pairs)

    expected = 0.0
    for here in kept:
        weight = {value: (value == here) - len(of[value]) / total for value in kept}
        expected += sum(weight[a] * weight[b] * mean_kernel(a, b) for a in kept for b in kept)
    draws = [group_mmd(z, group, features=20_000, bandwidth=2.0, unbiased=unbiased) for _ in range(10)]
    assert torch.stack(draws).mean().item() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("groups", "by_chance"), [(2, 2.03), (10, 108), (40, 1270)])
def test_codes_that_do_not_depend_on_the_group_are_apart_by_chance_in_the_biased_form_alone(
    groups: int, by_chance: float
) -> None:
    """100 MMD of a batch of 64 and 20 latents, as in `vfae`."""
    torch.manual_seed(0)
    drawn: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(300):
        z, group = torch.randn(64, 20), torch.randint(groups, (64,))
        for unbiased, found in drawn.items():
            found.append(100 * group_mmd(z, group, unbiased=unbiased).item())
    assert np.mean(drawn[False]) == pytest.approx(by_chance, rel=0.03)
    error = np.std(drawn[True]) / math.sqrt(300)
    assert error < 0.02 * by_chance
    assert abs(np.mean(drawn[True])) < 3 * error


@pytest.mark.parametrize("unbiased", [True, False])
def test_a_batch_that_has_no_groups_to_compare_has_no_distance(unbiased: bool) -> None:
    """One sample; one group; in the unbiased form also samples that are all alone in their groups."""
    cases = [torch.zeros(1), torch.zeros(9)] + [torch.arange(9)] * unbiased
    for group in cases:
        z = torch.randn(len(group), 3, requires_grad=True)
        found = group_mmd(z, group, unbiased=unbiased)
        assert found.item() == pytest.approx(0, abs=1e-6)
        if found.requires_grad:
            (gradient,) = torch.autograd.grad(found, z)
            assert torch.allclose(gradient, torch.zeros_like(z), atol=1e-6)


def test_the_bandwidth_follows_the_codes_unless_it_is_given() -> None:
    """In 20 dimensions a kernel of width 1 is 0 between any two codes: alike or apart, groups look the same."""
    torch.manual_seed(0)
    z, group = 3 * torch.randn(300, 20), torch.arange(300) % 3
    apart = z + 6 * group[:, None]

    def distance(codes: torch.Tensor, **given: float) -> float:
        torch.manual_seed(1)
        return group_mmd(codes, group, features=2000, unbiased=False, **given).item()

    assert distance(apart, bandwidth=1.0) == pytest.approx(distance(z, bandwidth=1.0), rel=0.05)
    assert distance(apart) > 20 * distance(z)
    for factor in (5, 1e-4):
        assert distance(factor * apart) == pytest.approx(distance(apart), rel=1e-3)
    square = (torch.cdist(apart, apart) ** 2)[*torch.triu_indices(300, 300, 1)].median().item()
    assert distance(apart) == pytest.approx(distance(apart, bandwidth=square), rel=1e-4)
    codes = apart.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(group_mmd(codes, group), codes)
    assert gradient.abs().max() > 0
    assert (gradient * codes).sum().abs() < 1e-3 * gradient.norm() * codes.norm()  # no shrinking, no growing


def test_groups_that_are_alike_have_no_distance() -> None:
    torch.manual_seed(0)
    z = torch.randn(40, 3).repeat(2, 1)
    groups = torch.tensor([0] * 40 + [1] * 40)
    assert group_mmd(z, groups, unbiased=False).item() == pytest.approx(0, abs=1e-9)
    assert group_mmd(z + torch.arange(80)[:, None] / 40, groups).item() > 0.05
