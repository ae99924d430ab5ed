"""Scores as plain data, and arguments that are checked before a metric runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from unbraid.config import Size
from unbraid.errors import UserError
from unbraid.metrics.contract import Score, metric


def test_a_score_becomes_plain_json() -> None:
    parts: Any = {
        "a": np.array([1.0, np.nan]),
        3: (np.int64(2), [np.float32(0.5)]),
        "b": {"c": float("inf")},
        "d": True,
    }
    plain = Score(float("nan"), parts, low=0.25, n=7, params={"x": None}, warnings=("one",)).as_dict()
    assert plain == {
        "value": None,
        "parts": {"a": [1.0, None], "3": [2, [0.5]], "b": {"c": None}, "d": True},
        "low": 0.25,
        "high": None,
        "null": None,
        "n": 7,
        "params": {"x": None},
        "warnings": ["one"],
    }
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_score_is_its_value_alone_unless_more_is_known() -> None:
    first, second = Score(0.5), Score(0.5)
    assert (first.parts, first.low, first.high, first.null, first.n) == ({}, None, None, None, 0)
    assert first.params == {} and first.warnings == () and first.parts is not second.parts


def test_a_metric_gets_its_arguments_after_they_are_checked() -> None:
    seen: list[Any] = []

    @metric
    def mine(codes: Any, factors: Any, *, bins: Size = 4) -> Score:
        seen.append((codes, factors, bins))
        return Score(1.0)

    assert mine(1, 2).value == 1 and mine(3, 4, bins=5).value == 1
    with pytest.raises(UserError, match="bins of mine must be 1 or more, not 0"):
        mine(1, 2, bins=0)
    assert seen == [(1, 2, 4), (3, 4, 5)] and mine.__name__ == "mine"
