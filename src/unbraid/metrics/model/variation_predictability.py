"""Variation predictability: how well the difference of two images shows which feature was changed.

Zhu, Xu and Tao, "Learning disentangled representations with latent variation predictability" (ECCV 2020). Pairs of
images are decoded from codes that differ in one feature; a small convolutional network learns from few pairs to predict
the feature from the difference of the images, and its accuracy on the other pairs is the score. The code of the first
image is that of a row of the data set; the changed feature takes its value from another row.

It measures whether effects are distinct and the same everywhere, not whether they are factors: any fixed set of
distinct effects scores 1. Features without an effect cannot be distinguished, so n of them among d cost up to
(n - 1) / d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import t
from torch import Tensor, nn

from unbraid.config import Rate, Share, Size
from unbraid.data.table import Table
from unbraid.errors import UserError
from unbraid.machine import forked_rng, seed_torch
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Score, metric
from unbraid.metrics.model.contract import Model

LEVEL = 0.95
CHUNK = 256  # pairs decoded, or tested, at once
NO_EFFECT = 1e-3  # a feature that changes pixels by less than this on average has no effect


@metric
def variation_predictability(
    method: Method[Any],
    table: Table,
    rng: np.random.Generator,
    *,
    pairs: Size = 3000,
    share: Share = 0.1,
    epochs: Size = 40,
    looks: Size = 1,
    batch: Size = 32,
    width: Size = 16,
    lr: Rate = 0.01,
    repeats: Size = 3,
) -> Score:
    """The accuracy of a network that predicts the feature two images differ in; by chance 1 / features.

    Args:
        pairs: pairs of images, an equal number for each feature
        share: share of the pairs that train; the others test
        epochs: passes over the training pairs; the paper has 200
        looks: number of tests, evenly over the epochs; the best counts (in the paper: a test after every epoch)
        batch: pairs in a step
        width: channels of the first convolution; the paper has 64
        lr: learning rate of Adam
        repeats: networks, each with its own pairs; the value is their mean, the interval is over them
    """
    model, train = Model(method, table), round(share * pairs)
    d = len(model.features)
    if table.shape[1] == 1 or train < d or train >= pairs:
        raise UserError(f"variation_predictability needs images, at least {d} training pairs and a test pair")
    if d < 2:
        return Score(float("nan"), warnings=("there is only one feature: there is nothing to distinguish",))
    found, effect = np.empty((2, repeats, d))
    for repeat in range(repeats):
        seen, which = image_differences(model, pairs, rng)
        effect[repeat] = _mean_change(seen, which, d)
        net = _network(table.shape[0], d, width, int(rng.integers(2**31))).to(seen.device)
        order = [rng.permutation(train) for _ in range(epochs)]
        found[repeat] = _learn(net, seen, which, order, looks=looks, batch=batch, lr=lr)
    params = {"pairs": pairs, "share": share, "epochs": epochs, "looks": looks, "batch": batch, "width": width}
    return _score(found, effect.mean(0), n=pairs, params={**params, "lr": lr, "repeats": repeats})


def _mean_change(seen: Tensor, which: Tensor, features: int) -> list[float]:
    """The mean absolute change of a pixel by each feature."""
    size = seen.float().abs().flatten(1).mean(1)
    return [size[which == k].mean().item() for k in range(features)]


def image_differences(model: Model, pairs: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Differences of images [pairs, c, h, w] and the changed feature of each [pairs]; all features equally often."""
    which = rng.permutation(np.arange(pairs) % len(model.features))
    differences = []
    for start in range(0, pairs, CHUNK):
        changed = which[start : start + CHUNK]
        rows = rng.integers(len(model.table), size=(2, len(changed)))
        code, other = model.encode(rows[0]), model.encode(rows[1])
        moved = code.clone()
        for i, k in enumerate(changed):
            moved[i, model.features[k]] = other[i, model.features[k]]
        differences.append((model.decode(moved) - model.decode(code)).half())
    return torch.cat(differences), torch.from_numpy(which).to(differences[0].device)


def _network(channels: int, outputs: int, width: int, seed: int) -> nn.Module:
    with forked_rng("cpu"):
        seed_torch(seed, "cpu")
        sizes = ((channels, width, 7, 2), (width, width, 3, 1), (width, 2 * width, 3, 1), (2 * width, 4 * width, 3, 1))
        layers: list[nn.Module] = []
        for before, after, kernel, stride in sizes:
            layers += [nn.Conv2d(before, after, kernel, stride, kernel // 2), nn.BatchNorm2d(after), nn.ReLU()]
        layers.insert(6, nn.MaxPool2d(2))
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, outputs))


def _learn(
    net: nn.Module, seen: Tensor, which: Tensor, order: list[Any], *, looks: int, batch: int, lr: float
) -> np.ndarray[Any, Any]:
    """The accuracy on each feature's test pairs, [d], at the test with the best accuracy."""
    adam, best, train = torch.optim.Adam(net.parameters(), lr), np.zeros(0), len(order[0])
    at = {round((look + 1) * len(order) / looks) for look in range(looks)}  # epochs after which to look
    for epoch, rows in enumerate(order, 1):
        net.train()
        for start in range(0, train, batch):
            some = torch.from_numpy(rows[start : start + batch])
            adam.zero_grad()
            F.cross_entropy(net(seen[some].float()), which[some]).backward()  # type: ignore[no-untyped-call]
            adam.step()
        if epoch in at:
            right = _right(net, seen[train:], which[train:])
            best = right if not len(best) or right.mean() > best.mean() else best
    return best


@torch.no_grad()
def _right(net: nn.Module, seen: Tensor, which: Tensor) -> np.ndarray[Any, Any]:
    net.eval()
    named = torch.cat([net(seen[i : i + CHUNK].float()).argmax(1) for i in range(0, len(seen), CHUNK)])
    return np.array([(named == which)[which == k].float().mean().item() for k in range(int(which.max()) + 1)])


def _score(found: np.ndarray[Any, Any], effect: np.ndarray[Any, Any], *, n: int, params: dict[str, Any]) -> Score:
    """Accuracies [repeats, d] as a score."""
    each, d = found.mean(1), found.shape[1]
    value, low, high = float(each.mean()), None, None
    if len(each) > 1:
        half = float(t.ppf((1 + LEVEL) / 2, len(each) - 1) * each.std(ddof=1) / len(each) ** 0.5)
        low, high = max(value - half, 0.0), min(value + half, 1.0)
    still = np.flatnonzero(effect < NO_EFFECT).tolist()
    notes = (f"features {still} do not change the images and cannot be distinguished",) if still else ()
    parts = {"per_feature": found.mean(0).tolist(), "effect": effect.tolist(), "chance": 1 / d}
    return Score(
        value,
        parts,
        low,
        high,
        1 / d,
        n,
        {**params, "interval": f"Student's t over {len(each)} networks" if len(each) > 1 else None},
        notes,
    )
