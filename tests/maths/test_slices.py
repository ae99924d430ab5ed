"""Each regulariser against a loop over samples and coordinates, and by what is known of its values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.maths.contrast import supcon, supcon_of_units
from unbraid.maths.slices import hessian, infomin, named, orthogonality

TAU = 0.1


def codes(k: int, n: int, d: int, seed: int = 0) -> Tensor:
    return torch.randn(k, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def units(k: int, n: int, d: int, seed: int = 0) -> Tensor:
    return F.normalize(codes(k, n, d, seed), dim=-1)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("literal", [False, True])
def test_infomin_is_the_printed_sum(k: int, literal: bool) -> None:
    z = units(k, 5, 4).numpy()
    total = 0.0
    for one in range(k):
        for other in range(k):
            for i in range(5):
                if one == other:
                    continue
                if literal:
                    below = sum(math.exp(float(z[one, i] @ z[one, a]) / TAU) for a in range(5) if a != i)
                else:
                    below = sum(math.exp(float(z[one, i] @ z[other, a]) / TAU) for a in range(5))
                total += math.log(math.exp(float(z[one, i] @ z[other, i]) / TAU) / below) / 5
    assert infomin(torch.from_numpy(z), TAU, literal=literal).item() == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_infomin_is_minus_the_cross_entropy_of_finding_ones_own_other_slice() -> None:
    one, other = units(2, 7, 4)
    found = [F.cross_entropy(a @ b.T / TAU, torch.arange(7)) for a, b in ((one, other), (other, one))]
    assert infomin(torch.stack([one, other]), TAU).item() == pytest.approx(-float(sum(found)), rel=1e-9)


def test_infomin_lies_between_its_bounds_and_comes_near_both() -> None:
    """Slices that are copies, all different: near 0. Slices opposite to those of their own sample only: far below."""
    n = 16
    same = torch.eye(n, dtype=torch.float64)
    told = infomin(torch.stack([same, same]), 0.01).item()
    assert -1e-6 < told <= 0
    hidden = F.normalize(torch.ones(n, n, dtype=torch.float64) - n * same, dim=-1)
    least = -2 * (2 / TAU + math.log(n))
    assert least < infomin(torch.stack([same, hidden]), TAU).item() < -2 * (1 / TAU + math.log(n - 1) - 1)
    for seed in range(5):
        assert least < infomin(units(2, n, 4, seed), TAU).item() <= 0


def test_literal_infomin_pulls_the_samples_of_a_slice_together() -> None:
    """The other slice does not enter its denominator, so that it falls when all samples become alike."""
    spread, other = units(2, 16, 4)
    alike = F.normalize(torch.ones_like(spread) + 0.01 * spread, dim=-1)
    orthogonal = other - (other @ alike.T).diag()[:, None] * alike
    kept = [torch.stack([first, F.normalize(orthogonal, dim=-1)]) for first in (spread, alike)]
    assert infomin(kept[1], TAU, literal=True) < infomin(kept[0], TAU, literal=True) - 2
    assert infomin(torch.stack([spread, spread]), 1.0, literal=True) > -20


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("permuted", [False, True])
def test_orthogonality_is_the_printed_sum(permuted: bool, k: int) -> None:
    n, d = 4, 5
    one, other = codes(k, n, d), codes(k, n, d, 1)
    order = torch.randperm(d, generator=torch.Generator().manual_seed(3)) if permuted else None
    both = torch.cat([one, other], 1).numpy()  # the positive of sample i is i + n, and back
    total = 0.0
    for a in range(k):
        for b in range(k):
            for i in range(2 * n):
                for j in (i, (i + n) % (2 * n)):
                    left = both[a, i][order.numpy()] if order is not None else both[a, i]
                    cosine = left @ both[b, j] / np.linalg.norm(left) / np.linalg.norm(both[b, j])
                    total += abs(cosine) / (2 * n) if a != b else 0
    assert orthogonality(one, other, order).item() == pytest.approx(total, rel=1e-9)


def test_orthogonality_is_zero_just_for_orthogonal_slices_and_two_for_copies() -> None:
    one = torch.zeros(2, 6, 4, dtype=torch.float64)
    one[0, :, :2], one[1, :, 2:] = codes(1, 6, 2)[0], codes(1, 6, 2, 1)[0]
    assert orthogonality(one, one.flip(1)).item() == 0
    copy = codes(1, 6, 4).repeat(2, 1, 1)
    assert orthogonality(copy, copy).item() == pytest.approx(2 * 2)
    assert orthogonality(-copy, copy).item() == pytest.approx(2 * 2)
    assert 0 < orthogonality(*codes(4, 6, 4).chunk(2)).item() < 2 * 2


def test_orthogonality_does_not_see_lengths() -> None:
    one, other = codes(2, 6, 4), codes(2, 6, 4, 1)
    scales = torch.rand(2, 6, 1, dtype=torch.float64) + 0.1
    torch.testing.assert_close(orthogonality(scales * one, 7 * other), orthogonality(one, other))


def test_a_permuted_penalty_does_not_fall_when_slices_become_orthogonal() -> None:
    """For 8 dimensions, slices at right angles have a mean |cosine| of 0.289 after a random permutation."""
    one = codes(2, 4000, 8)
    one[1] -= (one[0] * one[1]).sum(-1, keepdim=True) / (one[0] ** 2).sum(-1, keepdim=True) * one[0]
    generator = torch.Generator().manual_seed(0)
    drawn = [orthogonality(one, one, torch.randperm(8, generator=generator)).item() / 4 for _ in range(60)]
    assert orthogonality(one, one).item() < 1e-9
    assert np.mean(drawn) == pytest.approx(0.289, abs=0.01)


def test_the_permuted_penalty_has_its_zero_where_one_slice_is_constant_and_the_other_sums_to_zero() -> None:
    one = codes(2, 6, 4)
    one[0] = 3.0
    one[1] -= one[1].mean(-1, keepdim=True)
    for seed in range(4):
        order = torch.randperm(4, generator=torch.Generator().manual_seed(seed))
        assert orthogonality(one, one, order).item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("k", "d"), [(2, 4), (3, 4), (4, 2)])
def test_the_hessian_is_that_of_explicit_outer_products(k: int, d: int) -> None:
    n = 6
    g = codes(n, k, d).numpy()
    flat = g.reshape(n, k * d)
    slice_of = np.repeat(np.arange(k), d)
    upper = slice_of[:, None] < slice_of
    h = np.sum([np.outer(row, row) for row in flat], 0) / n
    assert hessian(torch.from_numpy(g)).item() == pytest.approx(np.linalg.norm(h[upper]), rel=1e-9)
    each = [np.linalg.norm(np.outer(row, row)[upper]) for row in flat]
    assert hessian(torch.from_numpy(g), per_sample=True).item() == pytest.approx(np.mean(each), rel=1e-9)


def test_a_samples_own_hessian_is_the_product_of_two_lengths() -> None:
    g = codes(1, 2, 4)
    assert hessian(g).item() == pytest.approx(float(g[0, 0].norm() * g[0, 1].norm()), rel=1e-9)
    torch.testing.assert_close(hessian(g), hessian(g, per_sample=True))


def test_gradients_that_do_not_go_together_have_no_hessian_but_each_sample_has() -> None:
    g = codes(1, 2, 4).repeat(2, 1, 1)
    g[1, 1] *= -1
    assert hessian(g).item() == pytest.approx(0, abs=1e-12)
    assert hessian(g, per_sample=True).item() > 0.1


def test_the_hessian_grows_with_the_square_of_the_loss_and_has_a_gradient_at_zero() -> None:
    g = codes(5, 2, 3)
    torch.testing.assert_close(hessian(3 * g), 9 * hessian(g))
    for per_sample in (False, True):
        nothing = torch.zeros(5, 2, 3, requires_grad=True)
        hessian(nothing, per_sample=per_sample).backward()  # type: ignore[no-untyped-call]
        assert nothing.grad is not None
        assert torch.equal(nothing.grad, torch.zeros_like(nothing))


@pytest.mark.parametrize("per_sample", [False, True])
def test_the_second_order_gradient_is_that_of_finite_differences(per_sample: bool) -> None:
    """R as a function of what goes into the normalisation, through the gradient of the contrast at the unit vectors."""
    y = torch.tensor([0, 1, 2, 0, 1, 2])

    def penalty(z: Tensor) -> Tensor:
        unit = F.normalize(z, dim=-1)
        (g,) = torch.autograd.grad(6 * supcon_of_units(unit, y, 0.5), unit, create_graph=True)
        return hessian(g.view(6, 2, 3), per_sample=per_sample)

    z = codes(1, 6, 6)[0].requires_grad_()
    assert torch.autograd.gradcheck(penalty, (z,), eps=1e-6, atol=1e-6, rtol=1e-5)
    (slope,) = torch.autograd.grad(penalty(z), z)
    assert slope.norm() > 1e-3
    torch.testing.assert_close(penalty(7 * z), penalty(z))  # longer codes do not make it smaller


def test_the_gradient_at_unit_codes_is_that_of_the_dot_products() -> None:
    """It has a part along the code, which the gradient through the normalisation has not."""
    y = torch.tensor([0, 1, 0, 1])
    unit = units(1, 4, 3)[0].requires_grad_()
    (whole,) = torch.autograd.grad(supcon_of_units(unit, y, TAU), unit)
    (across,) = torch.autograd.grad(supcon(unit, y, TAU), unit)
    along = (whole * unit).sum(-1, keepdim=True) * unit
    torch.testing.assert_close(whole - along, across)
    assert along.norm() > 0.1


def test_slices_are_named_by_number() -> None:
    code = torch.arange(12.0).view(2, 6)
    found = named("z", code, 3)
    assert list(found) == ["z", "z0", "z1", "z2"]
    assert torch.equal(found["z1"], code[:, 2:4])
    assert torch.equal(torch.cat([found[f"z{k}"] for k in range(3)], 1), found["z"])
