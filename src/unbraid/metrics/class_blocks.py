"""Scores of labelled data: how right the predictions are, and what each block of the code tells of each factor.

group_accuracy    of the predictions, over groups of class and nuisance
leakage           the gaps between blocks in a table of linear probes: class and nuisances from each block
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import UserError
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.probe_table import probe_table

PAIR = ("p", "n")


def score_classes(
    blocks: Mapping[str, Codes],
    factors: Factors,
    names: Sequence[str],
    label: str,
    groups: Sequence[str],
    predicted: NDArray[Any] | None,
    *,
    seed: int = 0,
) -> dict[str, Score]:
    """Both scores, each where there is something to take it of.

    Args:
        seed: of whatever is drawn
    """
    labels = factors[:, names.index(label)]
    nuisances = factors[:, [names.index(name) for name in groups]] if groups else np.zeros(len(factors), np.int64)
    found: dict[str, Score] = {}
    if predicted is not None:
        found["group_accuracy"] = group_accuracy(predicted, labels, nuisances, _rng(seed, "group_accuracy"))
    if set(PAIR) <= blocks.keys():
        meaning = "what the blocks tell of each factor, by linear probes: the mean gap, 0 where one is better at all"
        try:
            leakage = probe_table(blocks, factors, _rng(seed, "leakage"), pair=PAIR, names=names)
        except (UserError, ValueError) as error:  # too few rows, or a factor that does not vary
            leakage = Score(float("nan"), warnings=(f"leakage: {error}",))
        found["leakage"] = replace(leakage, params={**leakage.params, "meaning": meaning})
    return found


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng((seed, *name.encode()))
