from __future__ import annotations

import pytest
import torch

from unbraid.maths.exchange import class_average, swap, unchanged


def test_all_but_the_k_most_distant_dimensions_are_unchanged() -> None:
    distance = torch.tensor([[0.1, 5.0, 0.2, 3.0], [9.0, 8.0, 7.0, 6.0], [1.0, 2.0, 3.0, 4.0]])
    k = torch.tensor([2, 1, 4])
    expected = [[True, False, True, False], [False, True, True, True], [False] * 4]
    assert unchanged(distance, k, 1.0).tolist() == expected


def test_fewer_dimensions_are_swapped_at_first_and_the_closest_come_first() -> None:
    distance = torch.tensor([[4.0, 1.0, 3.0, 2.0, 5.0, 9.0]])
    counts = []
    for share in (0.0, 0.24, 0.25, 0.5, 0.75, 1.0):
        chosen = unchanged(distance, torch.tensor([1]), share)[0]
        counts.append(int(chosen.sum()))
        assert sorted(distance[0, chosen].tolist()) == sorted(distance[0].tolist())[: counts[-1]]
    assert counts == [1, 1, 2, 3, 4, 5]
    assert not unchanged(distance, torch.tensor([6]), 0.0).any()


def test_a_swap_exchanges_and_leaves_the_rest() -> None:
    z = torch.arange(12.0).reshape(4, 3)
    where = torch.tensor([[True, False, False], [False, True, True]])
    expected = [[6.0, 1.0, 2.0], [3.0, 10.0, 11.0], [0.0, 7.0, 8.0], [9.0, 4.0, 5.0]]
    assert swap(z, where).tolist() == expected


@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_the_class_average_is_a_loop_over_classes_and_singletons_stay(precision: torch.dtype) -> None:
    mean, variance = torch.randn(6, 2, dtype=precision), torch.rand(6, 2, dtype=precision)
    found = class_average(mean, variance, torch.tensor([0, 1, 0, -1, 0, -1]))
    for of, averaged in zip((mean, variance), found, strict=True):
        torch.testing.assert_close(averaged[[0, 2, 4]], ((of[0] + of[2] + of[4]) / 3).expand(3, 2))
        torch.testing.assert_close(averaged[[1, 3, 5]], of[[1, 3, 5]])
