"""What is measured of the runs of the invariance experiment, beside the scores that every run has."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.sets.rotation_colored_mnist import ANGLES
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.suite import score as score_arrays

SHIFT_ROWS = 3000
METRICS: dict[str, dict[str, Any]] = {
    "mig": {},
    "sap": {},
    "irs": {},
    "factor_vae_score": {"batch": 32, "votes": 500, "test_votes": 250},
    "dci": {},
}


def disentanglement(codes: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The five scores of table 3, of the code's only block."""
    block = next(value for name, value in codes.items() if name.startswith("codes_"))
    names = [str(name) for name in codes["factor_names"]]
    return score_arrays(
        block, codes["factors"], metrics=list(METRICS), options=METRICS, names=names, bootstrap=0, jobs=1
    )


def by_angle(codes: dict[str, NDArray[Any]]) -> dict[str, dict[str, float | None]]:
    """Average and worst accuracy at each test angle, over groups of digit and ground."""
    names = [str(name) for name in codes["factor_names"]]
    if "predicted" not in codes or "angle" not in names:
        return {}
    factors, found = codes["factors"], {}
    for value in np.unique(factors[:, names.index("angle")]):
        at = factors[:, names.index("angle")] == value
        ground, digit = factors[at][:, names.index("background")], factors[at][:, names.index("digit")]
        score = group_accuracy(codes["predicted"][at], digit, ground, np.random.default_rng(0), resamplings=0)
        found[f"{ANGLES[value]:+.0f}"] = {"average": score.value, "worst": score.parts["worst"]}
    return found


def shifts(method: Any, data: Any) -> dict[str, float]:
    """Accuracy on test digits where just the angle is new, just the ground, neither or both."""
    if data.name != "rotation_colored_mnist":
        return {}
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
        with torch.no_grad():
            logits = method.classify(torch.from_numpy(table.images(rows)).float() / 255)
        found[name] = float((logits.argmax(1).numpy() == table.values(rows)[:, 0]).mean())
    return found


def drawn(method: Any, data: Any) -> dict[str, float]:
    """Mean change of a drawn pixel, of 255, where a block of the code is that of another image."""
    x = torch.from_numpy((data.test or data).images(np.arange(0, 2000, 10))).float() / 255
    with torch.no_grad():
        blocks = method.encode(x)
        if set(blocks) != {"p", "n"}:
            return {}
        other = {name: code.roll(1, 0) for name, code in blocks.items()}
        plain = method.decode(blocks)
        return {
            name: 255 * float((method.decode({**blocks, name: other[name]}) - plain).abs().mean()) for name in blocks
        }
