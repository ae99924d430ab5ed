from __future__ import annotations

from itertools import permutations

import numpy as np
import ot
import pytest
import torch
from torch import Tensor

from unbraid.maths.transport import match, squared_w2, squared_w2_to_zero


def points(n: int, seed: int, d: int = 3) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(n, d))), torch.from_numpy(rng.normal(0.5, 1.3, (n, d)))


@pytest.mark.parametrize("n", range(1, 8))
@pytest.mark.parametrize("seed", [0, 1])
def test_no_permutation_is_cheaper(n: int, seed: int) -> None:
    a, b = points(n, seed)
    costs = [sum(float((a[i] - b[j]).square().sum()) for i, j in enumerate(p)) / n for p in permutations(range(n))]
    assert squared_w2(a, b).item() == pytest.approx(min(costs), rel=1e-12)


def test_the_value_is_that_of_the_network_simplex_over_all_plans() -> None:
    a, b = points(100, 3, d=16)
    uniform = np.full(100, 0.01)
    expected = ot.emd2(uniform, uniform, ot.dist(a.numpy(), b.numpy()))
    assert squared_w2(a, b).item() == pytest.approx(float(expected), rel=1e-9)


def test_on_a_line_points_are_matched_in_order() -> None:
    a, b = points(50, 0, d=1)
    expected = (a.sort(0).values - b.sort(0).values).square().mean()
    assert squared_w2(a, b).item() == pytest.approx(expected.item(), rel=1e-12)


def test_the_gradient_is_that_of_the_least_cost() -> None:
    """Central differences of the cost with its plan found anew, one coordinate at a time."""
    a, b = points(12, 5)
    a, b = a.requires_grad_(), b.requires_grad_()
    found = torch.autograd.grad(squared_w2(a, b), (a, b))
    step = 1e-6
    for side, gradient in enumerate(found):
        for place in np.ndindex(*gradient.shape):
            moved = []
            for sign in (1, -1):
                pair = [a.detach().clone(), b.detach().clone()]
                pair[side][place] += sign * step
                moved.append(squared_w2(*pair).item())
            assert gradient[place].item() == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-7)


def test_the_order_of_the_points_does_not_matter() -> None:
    a, b = points(20, 2)
    order = torch.from_numpy(np.random.default_rng(0).permutation(20))
    assert squared_w2(a[order], b).item() == pytest.approx(squared_w2(a, b).item(), rel=1e-12)
    assert torch.equal(match(a, a[order])[torch.arange(20)], order.argsort())
    assert squared_w2(a, a[order]).item() == 0


def test_a_shift_of_all_points_costs_its_square() -> None:
    a, _ = points(30, 4)
    assert squared_w2(a, a + torch.tensor([3.0, 4.0, 0.0])).item() == pytest.approx(25, rel=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_that_are_not_finite_reach_the_distance(value: float) -> None:
    a, b = points(5, 0)
    a[2, 1] = value
    assert match(a, b).tolist() == match(b, a).tolist() == [0, 1, 2, 3, 4]
    assert not torch.isfinite(squared_w2(a, b))


def test_the_distance_of_a_gaussian_to_zero_is_that_of_its_samples() -> None:
    mu, log_var = torch.tensor([0.7, -2.0]), torch.tensor([0.4, -3.0])
    torch.manual_seed(0)
    samples = mu + (0.5 * log_var).exp() * torch.randn(400_000, 2)
    torch.testing.assert_close(squared_w2_to_zero(mu, log_var), samples.square().mean(0), rtol=1e-2, atol=0)
