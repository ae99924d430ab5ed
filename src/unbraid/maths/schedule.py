"""Functions of the step."""

from __future__ import annotations

LAST = 0.01  # share of a learning rate at the last step, where it falls


def linear(step: int, start: float, end: float, steps: int) -> float:
    """From `start` at step 0 to `end` at step `steps`, and `end` from there on."""
    return end if step >= steps else start + (end - start) * step / steps


def falling(step: int, steps: int, decay: float) -> float:
    """The share of a learning rate at a step: 1, then in a line down to LAST over the last `decay` of the steps."""
    length = round(decay * steps)
    return linear(max(0, step + 1 - (steps - length)), 1.0, LAST, length) if length else 1.0
