"""Functions of the step."""

from __future__ import annotations


def linear(step: int, start: float, end: float, steps: int) -> float:
    """From `start` at step 0 to `end` at step `steps`, and `end` from there on."""
    return end if step >= steps else start + (end - start) * step / steps
