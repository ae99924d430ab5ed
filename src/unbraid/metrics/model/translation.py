"""Translation: how hard it is to learn the effect of one feature on images; needs no factors, and lower is better.

"Unsupervised disentanglement learning by intervention", definition 1 and algorithm 1. A feature is set to two values a
and b in many images: u are the images with a, v those with b. A translator M takes `steps` steps of Adam on
crossentropy(v, M(u)) and is tested on other images. If a feature has one effect, whatever the others are, M learns it
fast. (The algorithm uses plain gradient descent, which does not learn the shift of a sprite in 30 steps.)

A feature that the decoder ignores is the easiest (u = v), so the plain loss is lowest for a collapsed model. The value
is therefore the share of the change that M has not learned, [L(M(u)) - H(v)] / [L(u) - H(v)] with sums over the active
features: 0 if v is predicted exactly, 1 if M is no better than the identity. The plain loss over all features, the
algorithm's own number, is the part `loss`; `active` is the number of features that change images.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.stats import t
from torch import Tensor
from torch.func import functional_call

from unbraid.config import Size, Weight
from unbraid.data.table import Table
from unbraid.errors import UserError
from unbraid.maths.intervention import adapted, cross_entropy
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Score, metric
from unbraid.metrics.model.contract import Model
from unbraid.nets.translator import Translator

LEVEL = 0.95


@metric
def translation(
    method: Method[Any],
    table: Table,
    rng: np.random.Generator,
    *,
    steps: Size = 30,
    alpha: Weight = 0.03,
    batch: Size = 64,
    repeats: Size = 3,
    width: Size = 16,
    least: Weight = 1.0,
) -> Score:
    """The share of a feature's effect on images that a translator has not learned after a few steps.

    Args:
        steps: steps of the translator's Adam (s in the paper)
        alpha: learning rate of these steps
        batch: images that train the translator, and as many others that test it
        repeats: pairs of values for each feature; the interval is over these pairs
        width: channels of the translator's first convolution
        least: nats per image by which a feature must change images to be counted as active
    """
    if table.shape[1] == 1:
        raise UserError("translation needs images, and these are features")
    model, net = Model(method, table), Translator(table.shape, width=width).to(next(method.parameters()).device)
    losses = np.empty((3, repeats, len(model.features)))  # of the translator, of the identity, of v itself
    for repeat in range(repeats):
        for k, columns in enumerate(model.features):
            rows = rng.choice(len(table), 2 * batch + 2, replace=len(table) < 2 * batch + 2)
            code = model.encode(rows)
            u, v = (model.decode(_set(code[2:], columns, value)) for value in code[:2])
            losses[:, repeat, k] = _losses(net, u, v, batch, steps, alpha)
    return _score(losses, steps=steps, alpha=alpha, batch=batch, repeats=repeats, width=width, least=least)


def _set(code: Tensor, columns: list[int], value: Tensor) -> Tensor:
    moved = code.clone()
    moved[:, columns] = value[columns]
    return moved


def _losses(net: Translator, u: Tensor, v: Tensor, batch: int, steps: int, alpha: float) -> list[float]:
    learned = adapted(net, u[:batch], v[:batch], steps=steps, rate=alpha)
    u, v = u[batch:], v[batch:]
    with torch.no_grad():
        predictions = functional_call(net, learned, (u,)), net(u), net(v)
        return [cross_entropy(prediction, v).item() for prediction in predictions]


def _score(losses: np.ndarray[Any, np.dtype[np.float64]], **params: Any) -> Score:
    loss, identity, own = losses  # [repeats, features] each
    active = np.flatnonzero((identity - own).mean(0) > params["least"])
    parts: dict[str, Any] = {"loss": float(loss.mean()), "active": float(len(active)), "per_feature": loss.mean(0)}
    parts |= {"effect": (identity - own).mean(0), "left": (loss - own).mean(0)}
    n = int(params["batch"]) * loss.size
    if not len(active):
        return Score(float("nan"), parts, n=n, params=params, warnings=("translation: no feature changes the images",))
    left, effect = (loss - own)[:, active].sum(1), (identity - own)[:, active].sum(1)  # [repeats]
    value = float(left.sum() / effect.sum())
    low = high = None
    if len(left) > 1:  # a ratio of two means: the spread of its linearisation
        spread = float((left - value * effect).std(ddof=1) / effect.mean() / len(left) ** 0.5)
        reach = float(t.ppf((1 + LEVEL) / 2, len(left) - 1)) * spread
        low, high = value - reach, value + reach
    return Score(value, parts, low, high, None, n, params)
