"""Codes from files of one's own: what does not fit is one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unbraid.codes import Codes
from unbraid.errors import UserError

PLAIN: dict[str, Any] = {"codes_z": np.zeros((4, 2)), "factors": np.zeros((4, 1), int)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"codes_z": np.array(3.0)}, "the codes of z are float64"),
        ({"background_rows": np.arange(2)}, "'background_rows', and no 'background_z'"),
        ({"label": np.array("kind"), "groups": np.array(["hue"])}, "'groups' does not fit"),
        ({"shared": np.array(["hue"])}, "'shared' does not fit"),
        ({"label": np.array("kind"), "predicted": np.zeros(4, int)}, "'label' does not fit"),
        ({"factor_names": np.array(["hue"]), "kinds": np.array([0])}, "'0' is not in its 'factor_names' .hue."),
        ({"kinds": np.array(["hue"])}, "'hue' is not in its 'factor_names' .there are none."),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(more: dict[str, Any], message: str) -> None:
    Codes.from_arrays(PLAIN)
    with pytest.raises(UserError, match=message):
        Codes.from_arrays(PLAIN | more)
