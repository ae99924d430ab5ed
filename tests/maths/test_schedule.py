from __future__ import annotations

import pytest

from unbraid.maths.schedule import falling, linear


def test_linear_rises_to_its_end_and_stays() -> None:
    assert [linear(step, 0, 10, 4) for step in (0, 1, 2, 4, 100)] == [0, 2.5, 5, 10, 10]
    assert linear(0, 1, 3, 0) == 3


def test_falling_is_1_and_then_a_line_down_to_one_percent_at_the_last_step() -> None:
    assert [falling(step, 10, 0.3) for step in range(10)] == pytest.approx([1.0] * 7 + [0.67, 0.34, 0.01])
    assert {falling(step, 10, 0.0) for step in range(10)} == {1.0}
    assert [falling(step, 4, 1.0) for step in range(4)] == pytest.approx([1 - 0.99 * (i + 1) / 4 for i in range(4)])
