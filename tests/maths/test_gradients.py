from __future__ import annotations

import torch
from torch import Tensor, nn

from unbraid.maths.gradients import one_backward_pass, scale_gradient


def test_a_scaled_gradient_is_larger_and_the_value_is_not() -> None:
    x = torch.tensor([2.0, -1.0], requires_grad=True)
    scaled = scale_gradient(x, 3.0)
    (scaled**2).sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(scaled, x)
    assert x.grad is not None and x.grad.tolist() == [12.0, -6.0]


def test_each_part_gets_its_own_gradient_from_a_scalar_of_value_zero() -> None:
    first, second = nn.Linear(3, 2), nn.Linear(2, 1)
    x = torch.randn(4, 3)
    total = second(first(x).tanh()).square().sum()
    expected = torch.autograd.grad(total, [*first.parameters(), *second.parameters()], retain_graph=True)
    scalars = one_backward_pass(total, first, second)
    found = [gradient for s, part in zip(scalars, (first, second), strict=True) for gradient in of(s, part)]
    assert [s.item() for s in scalars] == [0, 0]
    torch.testing.assert_close(found, list(expected))
    first.bias.requires_grad_(False)
    scalar, _ = one_backward_pass(second(first(x).tanh()).square().sum(), first, second)
    torch.testing.assert_close(torch.autograd.grad(scalar, first.weight)[0], expected[0])


def of(scalar: Tensor, part: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(scalar, list(part.parameters())))
