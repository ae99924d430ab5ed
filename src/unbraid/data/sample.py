"""One sampler for each batch kind. A batch is a pure function of (seed, step)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from unbraid.data.batch import Batch, Images, Labelled, Pairs, TargetBackground, Views
from unbraid.data.table import Rows, Table
from unbraid.errors import Problem


def sampler(
    table: Table, kind: type[Batch], *, batch: int, seed: int, **sampling: Any
) -> Callable[[int], Batch]:
    """The function from step to batch; `sampling` are the keyword arguments of the kind's own function below."""
    if kind.__name__ not in table.gives:
        raise Problem(f"'{table.name}' cannot give {kind.__name__}: it gives {', '.join(table.gives)}")
    if batch < 1:
        raise Problem(f"a batch needs at least one sample, not {batch}")
    draw = DRAW[kind]

    def at(step: int) -> Batch:
        return draw(table, np.random.default_rng((seed, step)), batch, **sampling)

    return at


def images(table: Table, rng: np.random.Generator, n: int) -> Images:
    """Rows drawn uniformly."""
    rows = _rows(table, rng, n)
    return Images(_tensor(rows), _tensor(table.images(rows)))


def labelled(table: Table, rng: np.random.Generator, n: int) -> Labelled:
    """Rows drawn uniformly, with class and known nuisances."""
    assert table.label is not None
    rows = _rows(table, rng, n)
    values = table.values(rows)
    y, s = values[:, table.column(table.label)], values[:, [table.column(name) for name in table.nuisances]]
    return Labelled(_tensor(rows), _tensor(table.images(rows)), _tensor(y), _tensor(s))


def pairs(table: Table, rng: np.random.Generator, n: int, *, changed: int = 1) -> Pairs:
    """Pairs that differ in exactly `changed` factors.

    Args:
        changed: number of factors in which the two images of a pair differ; 0 draws it anew for each pair
    """
    varying = sum(factor.size > 1 for factor in table.factors)
    if not 0 <= changed <= varying:
        raise Problem(f"pairs of '{table.name}' can differ in 1 to {varying} factors (0: drawn), not {changed}")
    rows = _rows(table, rng, n)
    k = np.full(n, changed) if changed else rng.integers(1, max(varying, 2), n)
    others = table.change(rows, k, rng)
    both = table.images(np.concatenate([rows, others]))
    return Pairs(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(k))


def views(table: Table, rng: np.random.Generator, n: int) -> Views:
    """Two views of the same thing; `y` tells the things apart."""
    assert table.label is not None
    rows = _rows(table, rng, n)
    both = table.images(np.concatenate([rows, table.partner(rows, rng)]))
    return Views(
        _tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(table.values(rows)[:, table.column(table.label)])
    )


def target_background(table: Table, rng: np.random.Generator, n: int) -> TargetBackground:
    """As many rows of the target as of the background, drawn independently."""
    assert table.background is not None
    rows = _rows(table, rng, n)
    others = _rows(table.background, rng, n)
    return TargetBackground(
        _tensor(rows), _tensor(table.images(rows)), _tensor(table.background.images(others))
    )


DRAW: dict[type[Batch], Callable[..., Batch]] = {
    Images: images,
    Labelled: labelled,
    Pairs: pairs,
    Views: views,
    TargetBackground: target_background,
}


def _rows(table: Table, rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, len(table), n)


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
