"""Why the game does not ask for separate features: what the objective says of three codes, in a world without networks.

Two factors a and b have the joint distribution p. A code has two features, each a function of (a, b), and a decoder
that draws a pair from them:

    separate    a in the first, b in the second
    redundant   both factors in both features; the decoder reads a from the first and b from the second
    collapsed   both factors in the first; the decoder ignores the second

All three reconstruct exactly, also after an exchange and its reversal, so that L_rec and L_in are least. An exchange
turns p into p'. With the best critic L_adv is -2 log 2 + 2 JSD(p, w p'), and the best weights are w = p / p'. The
collapsed code has p' = p: nothing is left to learn. A separate code has p' = p for independent factors alone; for
correlated ones it costs 2 JSD(p, p') until the weights are learned, and they are learned at a tenth of the encoder's
rate. So correlation makes the game prefer the collapsed code while it matters. Nor does L_diff, the mean over features,
speak for the separate code: nothing need be translated between two values of a feature that holds nothing.

SAP cannot tell the separate code from the collapsed one: in both, one feature tells each factor and the other does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from unbraid.data.sets.cmnist import CMNIST
from unbraid.data.split import correlation
from unbraid.maths import intervention
from unbraid.nets.translator import Translator
from unbraid.study.claims import Table

from .study import INDEPENDENT

Floats = NDArray[np.float64]
Pair = tuple[int, int]
SIZE = 10  # values of each factor
BATCH, INNER_STEPS, INNER_RATE, REPEATS = 64, 10, 0.03, 8


@dataclass(frozen=True)
class Code:
    """Features of a pair of factors, and the pair that is drawn from two features, each of another pair perhaps."""

    features: Callable[[Pair], tuple[object, object]]
    drawn: Callable[[Pair, Pair], Pair]  # from the first feature of one pair and the second feature of another


CODES = {
    "separate": Code(lambda x: x, lambda one, two: (one[0], two[1])),
    "redundant": Code(lambda x: (x, x), lambda one, two: (one[0], two[1])),
    "collapsed": Code(lambda x: (x, 0), lambda one, two: one),
}


def exchanged(code: Code, p: Floats) -> Floats:
    """The distribution p' of what is drawn after one of the two features, either as likely, is taken from another."""
    found = np.zeros_like(p)
    pairs = list(np.ndindex(p.shape))
    for host, donor in product(pairs, pairs):
        for one, two in ((donor, host), (host, donor)):
            found[code.drawn(one, two)] += p[host] * p[donor] / 2
    return found


def jensen_shannon(p: Floats, q: Floats) -> float:
    """In nats."""
    middle = (p + q) / 2

    def to_middle(x: Floats) -> float:
        seen = x > 0
        return float((x[seen] * np.log(x[seen] / middle[seen])).sum())

    return (to_middle(p) + to_middle(q)) / 2


def sap(code: Code, size: int = SIZE) -> float:
    """Mean over factors of the best feature's accuracy less the other's, for independent factors."""
    gaps = []
    for factor in (0, 1):
        accuracies = [_accuracy([code.features(x)[k] for x in _all(size)], factor, size) for k in (0, 1)]
        gaps.append(abs(accuracies[0] - accuracies[1]))
    return float(np.mean(gaps))


def _accuracy(feature: list[object], factor: int, size: int) -> float:
    """Of the best guess of a factor from a feature, over all pairs."""
    counts: dict[object, list[int]] = {}
    for value, x in zip(feature, _all(size), strict=True):
        counts.setdefault(value, [0] * size)[x[factor]] += 1
    return sum(max(row) for row in counts.values()) / size**2


def _all(size: int) -> list[Pair]:
    return list(np.ndindex(size, size))


def exchange(code: Code, size: int = SIZE) -> float:
    """The metric `exchange`, for independent factors: 1 if each factor follows one feature alone."""
    donor, host = np.zeros((2, 2)), np.zeros((2, 2))  # [feature, factor]: how often it follows either
    for factor in (0, 1):
        pairs = [(x, y) for x, y in product(_all(size), _all(size)) if x[factor] != y[factor]]
        for x, y in pairs:
            for k, drawn in enumerate((code.drawn(y, x), code.drawn(x, y))):
                donor[k, factor] += (drawn[factor] == y[factor]) / len(pairs)
                host[k, factor] += (drawn[factor] == x[factor]) / len(pairs)
    credit = donor + host[::-1] - 1
    return float(max(0.0, credit.trace() / 2, np.fliplr(credit).trace() / 2))


@cache
def table(sigmas: tuple[float, ...] = (INDEPENDENT, 0.4, 0.3, 0.2)) -> Table:
    """What each part of the objective and each metric says of the three codes."""
    rows: list[list[object]] = []
    for name, code in CODES.items():
        for sigma in sigmas:
            p = correlation((SIZE, SIZE), sigma)
            drawn = exchanged(code, p)
            weights = p / drawn
            costs = [2 * jensen_shannon(p, weighted) for weighted in (drawn, weights * drawn)]
            variance = float((drawn * (weights - 1) ** 2).sum())
            kind = "independent" if sigma == INDEPENDENT else sigma
            numbers = (*costs, variance, sap(code), exchange(code))
            rows.append([name, kind, *(round(abs(number), 9) for number in numbers)])
    t = translated()
    note = (
        "Exact, for two factors of ten values; SAP and exchange for independent factors. L_rec and L_in are the same "
        "for all three. L_adv: above its least value, at the best critic. "
        "L_diff of real coloured digits, in nats above the least that a picture allows, mean over "
        f"{REPEATS} draws: hue exchanged {t['hue']:.0f}, digit {t['digit']:.0f}, so {(t['hue'] + t['digit']) / 2:.0f} "
        f"for the separate code; everything exchanged {t['everything']:.0f}, nothing {t['nothing']:.0f}, so "
        f"{(t['everything'] + t['nothing']) / 2:.0f} for the collapsed one."
    )
    columns = ["code", "sigma", "L_adv, weights one", "L_adv, best weights", "variance of these", "SAP", "exchange"]
    return Table("What the objective says of three codes", columns, rows, note)


def translated(repeats: int = REPEATS) -> dict[str, float]:
    """How hard it is to translate between two values of a feature (algorithm 1), by what the feature holds."""
    data, rng = CMNIST(), np.random.default_rng(0)
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        digits, hues = rng.integers(len(data) // SIZE, size=BATCH), rng.integers(SIZE, size=BATCH)
        for name in ("hue", "digit", "everything", "nothing"):
            of_digit, of_hue = name in ("digit", "everything"), name in ("hue", "everything")
            sides = [
                _images(data, digits[side] if of_digit else digits, hues[side] if of_hue else hues) for side in (0, 1)
            ]
            found.setdefault(name, []).append(_difficulty(*sides))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _images(data: CMNIST, digits: NDArray[np.int64], hues: NDArray[np.int64]) -> Tensor:
    rows = np.broadcast_to(digits, BATCH) * SIZE + np.broadcast_to(hues, BATCH)
    return torch.from_numpy(data.images(rows)).float() / 255


def _difficulty(u: Tensor, v: Tensor) -> float:
    """Of pictures that were not learned from, above the cross-entropy of v with itself."""
    net, half = Translator((3, 28, 28), width=16), BATCH // 2
    learned = intervention.adapted(net, u[:half], v[:half], steps=INNER_STEPS, rate=INNER_RATE)
    with torch.no_grad():
        loss = intervention.cross_entropy(functional_call(net, learned, (u[half:],)), v[half:])
        least = intervention.cross_entropy(torch.logit(v[half:], 1e-6), v[half:])
    return float(loss - least)
