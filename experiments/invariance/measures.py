"""What is measured of the runs of the invariance experiment, beside the scores that every run has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from unbraid.codes import Codes
from unbraid.data.compose.palette import grounds
from unbraid.data.sets.colored_mnist import ColoredMNIST
from unbraid.data.sets.rotation_colored_mnist import ANGLES, RotationColoredMNIST
from unbraid.data.table import Table
from unbraid.encode import encode_rows, images
from unbraid.methods.contract import Method
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.probe_table import probe_table
from unbraid.train.run import Run

SHIFT_ROWS = 6000
SHADES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.89, 0.9, 0.95, 1.0)
OUTSIDE = np.array([(230, 120, 0), (0, 0, 90), (90, 60, 30)], np.float32)  # orange, navy, brown: between no two grounds
REFIT_ROWS = 6000
DRAWN = 200
Pair = dict[str, float | None]  # the worst is unknown where every group has few rows


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


def shifts(run: Run, method: Method[Any], data: RotationColoredMNIST, codes: Codes) -> dict[str, Pair]:
    """Average and worst accuracy on test digits where just the angle is new, just the ground, neither or both."""
    assert isinstance(data.test, RotationColoredMNIST)
    found, test = {}, data.test
    (old_angles, old_grounds, colours), (new_angles, new_grounds, _) = data.choices, test.choices
    for name, angles, colours_below in (
        ("neither", old_angles, old_grounds),
        ("angle", new_angles, old_grounds),
        ("ground", old_angles, new_grounds),
        ("both", new_angles, new_grounds),
    ):
        table = test.using(test.digits, test.labels, (angles, colours_below, colours))
        found[name] = _accuracy(method, table, SHIFT_ROWS)
    return found


def over_shades(run: Run, method: Method[Any], data: ColoredMNIST, codes: Codes) -> dict[str, Pair]:
    """Average and worst accuracy on test digits with grounds of each shade, with those of training, and outside."""
    assert isinstance(data.test, ColoredMNIST)
    test, seen = data.test, data.test.using(data.test.digits, data.test.labels, data.choices)
    found = {"seen": _accuracy(method, seen, SHIFT_ROWS)}
    for shade in SHADES:
        found[f"{shade:g}"] = _accuracy(method, _on(test, grounds(shade)), SHIFT_ROWS)
    outside = _on(test, np.concatenate([grounds(0)[:3], OUTSIDE]))
    return {**found, "outside": _accuracy(method, outside, SHIFT_ROWS)}


def _on(table: ColoredMNIST, colours: NDArray[np.float32]) -> ColoredMNIST:
    other = table.using(table.digits, table.labels, table.choices)
    other.grounds = colours
    return other


def _some(table: Table, count: int) -> NDArray[np.int64]:
    return np.random.default_rng(0).choice(len(table), min(count, len(table)), replace=False)


@torch.no_grad()
def _accuracy(method: Method[Any], table: Table, count: int) -> Pair:
    rows = _some(table, count)
    logits = method.classify(images(method, table, rows))
    assert logits is not None
    values = table.values(rows)
    return _groups(logits.argmax(1).cpu().numpy(), values[:, 0], values[:, table.column("background")])


def _groups(predicted: NDArray[Any], classes: NDArray[Any], groups: NDArray[Any]) -> Pair:
    score = group_accuracy(predicted, classes, groups, np.random.default_rng(0), resamplings=0)
    return {"average": score.value, "worst": score.parts["worst"]}


def refitted(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, Any]:
    """Average and worst accuracy of a linear classifier that is trained to convergence on the frozen codes.

    Of digits that are turned at each test angle too.
    """
    rows = _some(data, REFIT_ROWS)
    train = encode_rows(method, data, rows)
    block, label = method.class_block, train.factor(train.label)
    model = LogisticRegression(C=100, max_iter=2000).fit(_directions(train, block), label)
    predicted = model.predict(_directions(codes, block))
    groups = np.ravel_multi_index([codes.factor(name) for name in codes.groups], [1000] * len(codes.groups))
    found: dict[str, Any] = {**_groups(predicted, codes.factor(codes.label), groups)}
    return found | (by_angle(run, method, data, replace(codes, predicted=predicted)) if "angle" in codes.groups else {})


def _directions(codes: Codes, block: str) -> NDArray[np.float64]:
    z = codes.blocks[block].codes.astype(np.float64)
    return np.asarray(z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12))


def probed(run: Run, method: Method[Any], data: RotationColoredMNIST, codes: Codes) -> dict[str, Any]:
    """What p and n tell of each factor of test digits at the angles of training, by linear probes.

    Of sampled codes as they are, and of standardised means.
    """
    if set(codes.blocks) != {"p", "n"} or codes.blocks["p"].scale is None:
        return {}
    assert isinstance(data.test, RotationColoredMNIST)
    test, (angles, _, colours) = data.test, data.choices
    table = test.using(test.digits, test.labels, (angles, test.choices[1], colours))
    rng = np.random.default_rng(0)
    own = encode_rows(method, table, _some(table, REFIT_ROWS))
    drawn = {name: block.sampled(rng) for name, block in own.blocks.items()}

    def told(codes: dict[str, NDArray[Any]], standardise: bool) -> dict[str, Any]:
        score = probe_table(
            codes,
            own.factors,
            rng,
            pair=("p", "n"),
            names=own.factor_names,
            standardise=standardise,
            resamplings=0,
            jobs=1,
        )
        return score.parts

    sampled, means = told(drawn, False), told(own.means(), True)
    return {"accuracy": sampled["accuracy"], "chance": sampled["chance"], "of means": means["accuracy"]}


@torch.no_grad()
def drawn(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, float]:
    """Mean change of a drawn pixel, of 255, where a block of the code is that of another image."""
    table = data.test or data
    blocks = method.encode(images(method, table, _some(table, DRAWN)))
    if set(blocks) != {"p", "n"}:
        return {}
    plain, found = method.decode(blocks), {}
    for name, code in blocks.items():
        other = method.decode({**blocks, name: code.roll(1, 0)})
        assert plain is not None and other is not None
        found[name] = 255 * float((other - plain).abs().mean())
    return found
