from __future__ import annotations

import pytest
import torch

from unbraid.maths import categorical


def test_variables_are_written_side_by_side() -> None:
    s = torch.tensor([[1, 0], [2, 1]])
    assert categorical.one_hot(s, (3, 2)).tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]
    assert categorical.uniform(1, (4, 2)).tolist() == [[0.25] * 4 + [0.5] * 2]


def test_the_cross_entropy_is_the_mean_over_known_classes_and_0_without_any() -> None:
    logits, y = torch.randn(5, 3), torch.tensor([0, -1, 2, -1, 1])
    expected = -logits.log_softmax(1)[[0, 2, 4], [0, 2, 1]].mean().item()
    assert categorical.cross_entropy_where_known(logits, y).item() == pytest.approx(expected, rel=1e-6)
    one = categorical.cross_entropy_where_known(logits, torch.tensor([-1, -1, -1, 2, -1])).item()
    assert one == pytest.approx(-logits.log_softmax(1)[3, 2].item(), rel=1e-6)
    assert categorical.cross_entropy_where_known(logits, torch.full((5,), -1)).item() == 0
