"""What is measured of the runs of the invariance experiment, beside the scores that every run has."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from unbraid.codes import Codes
from unbraid.data.sets.rotation_colored_mnist import ANGLES, RotationColoredMNIST
from unbraid.data.table import Table
from unbraid.encode import images
from unbraid.methods.contract import Method
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.train.run import Run

SHIFT_ROWS = 3000


def by_angle(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, dict[str, float | None]]:
    """Average and worst accuracy at each test angle, over groups of digit and ground."""
    assert codes.predicted is not None
    angles, grounds, digits = (codes.factor(name) for name in ("angle", "background", "digit"))
    found = {}
    for angle in np.unique(angles):
        at = angles == angle
        score = group_accuracy(codes.predicted[at], digits[at], grounds[at], np.random.default_rng(0), resamplings=0)
        found[f"{ANGLES[angle]:+.0f}"] = {"average": score.value, "worst": score.parts["worst"]}
    return found


@torch.no_grad()
def shifts(run: Run, method: Method[Any], data: RotationColoredMNIST, codes: Codes) -> dict[str, float]:
    """Accuracy on test digits where just the angle is new, just the ground, neither or both."""
    assert isinstance(data.test, RotationColoredMNIST)
    found, test = {}, data.test
    (old_angles, old_grounds, colours), (new_angles, new_grounds, _) = data.choices, test.choices
    for name, angles, grounds in (
        ("neither", old_angles, old_grounds),
        ("angle", new_angles, old_grounds),
        ("ground", old_angles, new_grounds),
        ("both", new_angles, new_grounds),
    ):
        table = test.using(test.digits, test.labels, (angles, grounds, colours))
        rows = np.random.default_rng(0).choice(len(table), SHIFT_ROWS, replace=False)
        logits = method.classify(images(method, table, rows))
        assert logits is not None
        found[name] = float((logits.argmax(1).cpu().numpy() == table.values(rows)[:, 0]).mean())
    return found


@torch.no_grad()
def drawn(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, float]:
    """Mean change of a drawn pixel, of 255, where a block of the code is that of another image."""
    blocks = method.encode(images(method, data.test or data, np.arange(0, 2000, 10)))
    if set(blocks) != {"p", "n"}:
        return {}
    plain, found = method.decode(blocks), {}
    for name, code in blocks.items():
        other = method.decode({**blocks, name: code.roll(1, 0)})
        assert plain is not None and other is not None
        found[name] = 255 * float((other - plain).abs().mean())
    return found
