from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from unbraid.maths.contrast import supcon


def naive(z: Tensor, y: Tensor, temperature: float) -> float:
    """Anchor by anchor and positive by positive."""
    codes = [[value / math.hypot(*row) for value in row] for row in z.double().tolist()]
    classes, n = y.tolist(), len(z)

    def alike(i: int, j: int) -> float:
        return math.exp(sum(a * b for a, b in zip(codes[i], codes[j], strict=True)) / temperature)

    anchors = []
    for i in range(n):
        total = sum(alike(i, a) for a in range(n) if a != i)
        losses = [-math.log(alike(i, p) / total) for p in range(n) if p != i and classes[p] == classes[i]]
        if losses:
            anchors.append(sum(losses) / len(losses))
    return sum(anchors) / len(anchors) if anchors else 0.0


def codes(n: int) -> Tensor:
    return 3 * torch.randn(n, 5, generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize("classes", [[0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0], [3, 1, 3, 2, 5, 4], [0, 0, 1, 1, 2, 2]])
@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_supcon_is_the_double_loop_over_anchors_and_positives(classes: list[int], temperature: float) -> None:
    y = torch.tensor(classes)
    assert supcon(codes(6), y, temperature).item() == pytest.approx(naive(codes(6), y, temperature), rel=1e-5)


@pytest.mark.parametrize("classes", [[0, 1, 2, 3], [7]])
def test_without_any_positive_the_loss_and_its_gradient_are_zero(classes: list[int]) -> None:
    z = codes(len(classes)).requires_grad_()
    loss = supcon(z, torch.tensor(classes), 0.1)
    (gradient,) = torch.autograd.grad(loss, z)
    assert loss.item() == 0
    assert (gradient == 0).all()


def test_the_gradient_is_that_of_finite_differences_with_an_anchor_that_has_no_positive() -> None:
    z = codes(5).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: supcon(z, torch.tensor([0, 0, 1, 1, 2]), 0.5), z)


def test_the_length_of_a_code_does_not_matter() -> None:
    z, y = codes(6), torch.tensor([0, 0, 1, 1, 2, 2])
    stretched = z * torch.tensor([1.0, 2.0, 0.5, 9.0, 4.0, 0.1])[:, None]
    torch.testing.assert_close(supcon(stretched, y, 0.2), supcon(z, y, 0.2))


def test_classes_on_opposite_corners_are_best() -> None:
    """Two classes of m codes at +e and -e: each anchor sees m - 1 at similarity 1 and m at -1."""
    m, temperature = 4, 0.5
    z = torch.tensor([[1.0, 0.0]] * m + [[-1.0, 0.0]] * m)
    y = torch.tensor([0] * m + [1] * m)
    expected = math.log((m - 1) * math.exp(2) + m * math.exp(-2)) - 2
    assert supcon(z, y, temperature).item() == pytest.approx(expected, rel=1e-6)
