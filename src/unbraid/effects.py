"""What each latent moves: how each feature that the decoder draws changes when one latent goes up and all else stays.

A latent goes from one standard deviation below the mean of its codes to one above. Its effect on a feature is the mean
change over some samples, with the interval of that mean: how sure the effect of *this* decoder is, given the samples.
It does not hold what another seed would have learnt, and has no width where the decoder is linear.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t
from torch import Tensor

if TYPE_CHECKING:
    from pandas import DataFrame

    from unbraid.data.features import Scaling
    from unbraid.methods.contract import Method

BATCH = 256
LEVEL = 0.95
COLUMNS = ("latent", "feature", "effect", "low", "high", "standardised")


@torch.no_grad()
def effects(method: Method[Any], codes: Mapping[str, Tensor], block: str, scaling: Scaling) -> NDArray[np.float64]:
    """Effect, lower and upper end of its interval, of each latent on each feature in its own units, [latents, d, 3].

    Args:
        codes: all blocks of the codes of some samples, each [n, d], on the method's device
        block: whose latents are moved
    """
    unit = np.abs(scaling.undo(np.ones((1, len(scaling.mean)))) - scaling.undo(np.zeros((1, len(scaling.mean)))))[0]
    found = [_moved(method, codes, block, latent) for latent in range(codes[block].shape[1])]
    n = len(codes[block])
    reach = t.ppf((1 + LEVEL) / 2, n - 1) if n > 1 else np.nan
    return np.stack([np.stack([m, m - reach * e, m + reach * e], -1) * unit[:, None] for m, e in found])


def _moved(
    method: Method[Any], codes: Mapping[str, Tensor], block: str, latent: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard error over samples of the change that one latent makes, as the method draws it, [d] each."""
    column, n = codes[block][:, latent], len(codes[block])
    ends = [column.mean() + sign * column.std(correction=0) for sign in (-1, 1)]
    first, total, squares = None, torch.zeros(()), torch.zeros(())  # sums about the first change: nothing cancels
    for start in range(0, n, BATCH):
        drawn = []
        for end in ends:
            moved = {name: code[start : start + BATCH] for name, code in codes.items()}
            moved[block] = moved[block].clone()
            moved[block][:, latent] = end
            picture = method.decode(moved)
            assert picture is not None
            drawn.append(picture.flatten(1).double())
        change = drawn[1] - drawn[0]
        first = change[0] if first is None else first
        total, squares = (change - first).sum(0) + total, (change - first).square().sum(0) + squares
    assert first is not None
    variance = (squares - total**2 / n).clamp(min=0) / max(n - 1, 1)
    return (first + total / n).cpu().numpy(), (variance / n).sqrt().cpu().numpy()


def effect_table(found: Mapping[str, NDArray[Any]], features: Sequence[str], spread: NDArray[Any]) -> DataFrame:
    """Effects of the latents of some blocks as a table: latent by latent, the largest effect first.

    `standardised` is the effect in standard deviations of the feature over the training samples; it decides the order.

    Args:
        found: what `effects` gave of each block
        features: their names
        spread: their standard deviations [d]
    """
    import pandas as pd

    lines = []
    for block, effect in found.items():
        size = np.divide(effect[..., 0], spread, out=np.zeros_like(effect[..., 0]), where=spread > 0)
        for latent, order in enumerate(np.argsort(-np.abs(size), 1, kind="stable")):
            lines += [(f"{block}{latent}", features[k], *effect[latent, k], size[latent, k]) for k in order]
    return pd.DataFrame(lines, columns=list(COLUMNS))
