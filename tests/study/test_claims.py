from __future__ import annotations

import numpy as np
import pytest

from unbraid.study.claims import decide, interval, judge, noted


def test_the_interval_is_students() -> None:
    """The 0.975 quantile with two degrees of freedom is 4.3027, and the standard error of 1, 2, 3 is 1 / sqrt(3)."""
    assert interval(np.array([1.0, 2.0, 3.0])) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)
    assert np.isnan(interval(np.array([1.0]))).all()


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([(1.0, 2.0), (0.1, 0.3)], "shown"),
        ([(1.0, 2.0), (-0.1, 0.3)], "unclear"),
        ([(1.0, 2.0), (-0.4, 0.3), (-0.3, -0.1)], "not shown"),
    ],
)
def test_the_margin_that_decides_is_shown(found: list[tuple[float, float]], verdict: str) -> None:
    claim = decide("000-0", "theirs", "ours", found, 3, notes={"000-0": "too small"})
    assert (claim.verdict, (claim.low, claim.high)) == (verdict, found[-1])
    assert ("too small" in str(vars(claim))) == (verdict != "shown")


def test_a_claim_is_judged_by_every_margin() -> None:
    good, bad = np.array([1.0, 1.1, 1.2]), np.array([-1.0, -1.1, -1.2])
    assert judge("000-0", "theirs", "ours", good).verdict == "shown"
    claim = judge("000-0", "theirs", "ours", good, bad)
    assert (claim.verdict, claim.seeds) == ("not shown", 3)
    assert (claim.low, claim.high) == pytest.approx(interval(bad))


def test_a_note_goes_with_a_claim_that_is_not_shown() -> None:
    good, bad = np.array([1.0, 1.1, 1.2]), np.array([-1.0, -1.1, -1.2])
    claims = [judge("a", "", "", good), judge("b", "", "", bad, note="Rows."), judge("c", "", "", good, bad)]
    found = noted(claims, {"a": "Never seen.", "b": "Looked into."})
    assert [claim.note for claim in found] == ["", "Rows. Looked into.", ""]
