from __future__ import annotations

import pytest
import torch

from unbraid.nets.normalisation import BatchNorm, spectral, update_normalisation


def test_batch_normalisation_is_torch_s_and_its_statistics_move_after_the_step() -> None:
    torch.manual_seed(0)
    ours, theirs = BatchNorm(3), torch.nn.BatchNorm2d(3)
    for _ in range(3):
        x = torch.randn(8, 3, 5, 5) * 2 + 1
        before = ours.mean.clone()
        torch.testing.assert_close(ours(x), theirs(x))
        assert torch.equal(ours.mean, before)
        ours.absorb()
    x = torch.randn(8, 3, 5, 5)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x))


def test_the_spectral_norm_is_the_largest_singular_value_and_improves_after_the_step() -> None:
    torch.manual_seed(0)
    layer = spectral(torch.nn.Linear(7, 5))

    def largest() -> float:
        weight = layer.weight
        assert isinstance(weight, torch.Tensor)
        return float(torch.linalg.matrix_norm(weight.detach(), 2))

    assert largest() == pytest.approx(1, abs=0.01)
    with torch.no_grad():
        layer.parametrizations.weight.original.copy_(torch.randn(5, 7))  # type: ignore[operator, union-attr]
    moved = largest()
    assert moved == largest()  # looking at it changes nothing
    assert abs(moved - 1) > 0.05
    for _ in range(30):
        update_normalisation(layer)
    assert largest() == pytest.approx(1, abs=0.01)
