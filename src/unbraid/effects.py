"""What each latent moves: how each feature that the decoder draws changes when one latent goes up and all else stays.

A latent goes from one standard deviation below the mean of its codes to one above. Its effect on a feature is the mean
change over some samples, with the interval of that mean: how sure the effect of *this* decoder is, given the samples.
It does not hold what another seed would have learnt, and has no width where the decoder is linear.

The change is in the units of the feature; of counts it is the log2 fold change of the expected count, which does not
depend on the library size. `standardised` is the change in standard deviations of the feature over the training
samples; of counts it is that of log(1 + count) in a row of typical library size, so that fold changes of what is hardly
ever counted weigh little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t
from torch import Tensor

from unbraid.data.counts import Counts
from unbraid.data.features import REACH, Scaling

if TYPE_CHECKING:
    from pandas import DataFrame

    from unbraid.methods.contract import Method

BATCH = 256
LEVEL = 0.95
COLUMNS = ("latent", "feature", "effect", "low", "high", "standardised")


@torch.no_grad()
def effects(
    method: Method[Any], codes: Mapping[str, Tensor], block: str, scaling: Scaling | Counts
) -> NDArray[np.float64]:
    """Effect, lower and upper end of its interval and standardised effect of each latent on each feature.

    Args:
        codes: all blocks of the codes of some samples, each [n, d], on the method's device
        block: whose latents are moved

    Returns:
        [latents, features, 4]
    """
    n = len(codes[block])
    reach = t.ppf((1 + LEVEL) / 2, n - 1) if n > 1 else np.nan
    found = []
    for latent in range(codes[block].shape[1]):
        mean, error, drawn = (part.numpy() for part in _moved(method, codes, block, latent, scaling))
        spread = scaling.spread if isinstance(scaling, Counts) else np.where(scaling.spread > 0, 1 / (2 * REACH), 0)
        standardised = np.divide(drawn, spread, out=np.zeros_like(drawn), where=spread > 0)
        found.append(np.stack([mean, mean - reach * error, mean + reach * error, standardised], -1))
    return np.stack(found)


def _moved(
    method: Method[Any], codes: Mapping[str, Tensor], block: str, latent: int, scaling: Scaling | Counts
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean and standard error over samples of the change that one latent makes, and the mean change of x. [d] each"""
    column, n = codes[block][:, latent], len(codes[block])
    ends = [column.mean() + sign * column.std(correction=0) for sign in (-1, 1)]
    first, total, squares, drawn = None, torch.zeros(()), torch.zeros(()), torch.zeros(())
    for start in range(0, n, BATCH):
        low, high = (_drawn(method, codes, block, latent, end, slice(start, start + BATCH)) for end in ends)
        change = _change(low, high, scaling)
        first = change[0] if first is None else first  # sums about the first change: nothing cancels
        total, squares = (change - first).sum(0) + total, (change - first).square().sum(0) + squares
        drawn = (high - low).sum(0) / n + drawn
    assert first is not None
    variance = (squares - total**2 / n).clamp(min=0) / max(n - 1, 1)
    return first + total / n, (variance / n).sqrt(), drawn


def _drawn(
    method: Method[Any], codes: Mapping[str, Tensor], block: str, latent: int, value: Tensor, rows: slice
) -> Tensor:
    """What the method draws of some codes, in one of which a latent has another value. [n, d]"""
    moved = {name: code[rows] for name, code in codes.items()}
    moved[block] = moved[block].clone()
    moved[block][:, latent] = value
    picture = method.decode(moved)
    assert picture is not None
    return picture.flatten(1).cpu().double()  # not all devices have float64


def _change(low: Tensor, high: Tensor, scaling: Scaling | Counts) -> Tensor:
    """From one drawing to another, in the units of features; log2 fold changes of counts. [n, d]"""
    if isinstance(scaling, Counts):
        least, most = (torch.expm1(drawn).clamp(min=torch.finfo(torch.float32).tiny) for drawn in (low, high))
        return (most / least).log2()
    return (high - low) * torch.from_numpy(2 * REACH * scaling.spread).to(low)


def effect_table(found: Mapping[str, NDArray[Any]], features: Sequence[str]) -> DataFrame:
    """Effects of the latents of some blocks as a table: latent by latent, the largest standardised effect first.

    Args:
        found: what `effects` gave of each block
        features: their names
    """
    import pandas as pd

    lines = []
    for block, effect in found.items():
        for latent, order in enumerate(np.argsort(-np.abs(effect[..., 3]), 1, kind="stable")):
            lines += [(f"{block}{latent}", features[k], *effect[latent, k]) for k in order]
    return pd.DataFrame(lines, columns=list(COLUMNS))
