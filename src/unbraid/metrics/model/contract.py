"""Metrics that need the model: they encode images of a data set, change features of the code, and decode.

A metric is one file in this folder; its function has the file's name and the signature
`fn(method, table, rng, *, ...) -> Score`. Most need no factors, so they can select models on unlabelled images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unbraid import catalogue
from unbraid.data.table import Table
from unbraid.encode import images
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Score


def measure(
    method: Method[Any],
    table: Table,
    *,
    metrics: Sequence[str],
    seed: int = 0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Score]:
    """Scores of a trained method on a data set.

    Args:
        metrics: names of metrics
        seed: of all random numbers
        options: keyword arguments of metrics, by the metric's name
    """
    if metrics and not method.has_decoder:
        raise UserError(f"{metrics[0]} needs a method that can decode, and {type(method).__name__} has no decoder")
    method.eval()
    found = {}
    for name in metrics:
        entry, own = catalogue.find("metrics", name), dict((options or {}).get(name, {}))
        catalogue.check(entry, own)
        found[name] = entry.load()(method, table, np.random.default_rng((seed, *name.encode())), **own)
    return found


class Model:
    """A method as an encoder to and a decoder from one flat code [n, d], with the columns of each of its features."""

    def __init__(self, method: Method[Any], table: Table) -> None:
        self.method, self.table = method, table
        blocks = self._blocks(np.arange(1))
        self.sizes = {name: code.shape[1] for name, code in blocks.items()}
        self.features: list[list[int]] = []
        start = 0
        for block, size in self.sizes.items():
            units = method.units.get(block, list(range(size)))
            self.features += [[start + i for i in range(size) if units[i] == unit] for unit in sorted(set(units))]
            start += size

    @torch.no_grad()
    def encode(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Tensor:
        """[n] -> [n, d]"""
        return torch.cat(list(self._blocks(rows).values()), 1)

    @torch.no_grad()
    def decode(self, code: Tensor) -> Tensor:
        """[n, d] -> [n, c, h, w]"""
        parts = torch.split(code, list(self.sizes.values()), 1)
        decoded = self.method.decode(dict(zip(self.sizes, parts, strict=True)))
        assert decoded is not None
        return decoded

    def _blocks(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, Tensor]:
        with torch.no_grad():
            return self.method.encode(images(self.method, self.table, rows))
