"""What is known of samples: names that were given, and values that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.data.known import known_of
from unbraid.errors import UserError

FRAME = pd.DataFrame({"colour": [0, 1, 1], "size": ["s", "l", "s"]})


@pytest.mark.parametrize(
    "values",
    [
        pd.array(["a", pd.NA, "b"], dtype="string"),
        np.array(["a", None, "b"], object),
        np.array(["a", np.nan, "b"], object),
    ],
)
def test_a_missing_value_of_any_kind_is_one_sentence(values: Any) -> None:
    with pytest.raises(UserError, match="the factor 'kind' has no value in row 1: leave such samples out"):
        known_of(3, pd.DataFrame({"kind": values}), None, None, (), None)


def test_names_that_were_given_win_over_those_of_a_frame() -> None:
    found = known_of(3, FRAME, ["tint", "extent"], "tint", ("extent",), None)
    assert [factor.name for factor in found.factors] == ["tint", "extent"]
    assert [factor.name for factor in known_of(3, FRAME, None, None, (), None).factors] == ["colour", "size"]
    for names in (["tint"], ["tint", "tint"]):
        with pytest.raises(UserError, match=f"there are 2 factors and the names {', '.join(names)}: one for each"):
            known_of(3, FRAME, names, None, (), None)
