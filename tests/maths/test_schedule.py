from __future__ import annotations

from unbraid.maths.schedule import linear


def test_linear_rises_to_its_end_and_stays() -> None:
    assert [linear(step, 0, 10, 4) for step in (0, 1, 2, 4, 100)] == [0, 2.5, 5, 10, 10]
    assert linear(0, 1, 3, 0) == 3
