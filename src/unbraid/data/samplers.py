"""One sampler for each batch kind. A batch is a pure function of (seed, step)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid import catalogue, config, machine
from unbraid.config import Rate
from unbraid.data.batch import Batch, Images, Labelled, Pairs, TargetBackground, Transitions, Views
from unbraid.data.table import Rows, Table
from unbraid.errors import UserError


def sampler(table: Table, kind: type[Batch], *, batch: int, seed: int, **sampling: Any) -> Callable[[int], Batch]:
    """The function from step to batch; `sampling` are the keyword arguments of the kind's own function below."""
    anything_goes = kind is Views and sampling.get("views_of") == "instance"
    if kind.__name__ not in table.gives and not anything_goes:
        able = ", ".join(sets_that_give(kind.__name__))
        raise UserError(
            f"'{table.name}' cannot give {kind.__name__}, only {', '.join(table.gives)}; data sets that can: {able}"
        )
    if batch < 1:
        raise UserError(f"a batch needs at least one sample, not {batch}")
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed must be 0 or more and have less than 64 bits, and is {seed}")
    _check_rows(table)
    _check_memory(table, kind, batch)
    draw, sampling = DRAW[kind], resolved(table, kind, sampling)

    def at(step: int) -> Batch:
        when = (step,) if kind is Pairs else ()
        return draw(table, np.random.default_rng((seed, step)), batch, *when, **sampling)

    return at


def resolved(table: Table, kind: type[Batch], given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a kind's sampler: those that are given, those that the table has, or the defaults."""
    options = catalogue.sampling(kind.__name__)
    config.check(kind.__name__, options, given)
    known = {**table.sampling, **given}
    return {a.name: a.converted(known.get(a.name, a.default), kind.__name__) for a in options}


def images(table: Table, rng: np.random.Generator, n: int) -> Images:
    """Rows drawn uniformly; half of each if there is a background, whose rows are numbered after the target's."""
    rows = _rows(table, rng, n)
    if table.background is None:
        return Images(_tensor(rows), _tensor(table.images(rows)))
    rows, others = rows[n // 2 :], _rows(table.background, rng, n // 2)
    both = np.concatenate([table.images(rows), table.background.images(others)])
    return Images(_tensor(np.concatenate([rows, len(table) + others])), _tensor(both))


def labelled(table: Table, rng: np.random.Generator, n: int) -> Labelled:
    """Rows drawn uniformly, with class and known nuisances."""
    assert table.label is not None
    rows = _rows(table, rng, n)
    values = table.values(rows)
    y, s = values[:, table.column(table.label)], values[:, [table.column(name) for name in table.nuisances]]
    return Labelled(_tensor(rows), _tensor(table.images(rows)), _tensor(y), _tensor(s))


def pairs(
    table: Table, rng: np.random.Generator, n: int, step: int = 0, *, changed: int = 1, changed_over: int = 0
) -> Pairs:
    """Pairs that differ in exactly `changed` factors.

    Args:
        changed: number of factors in which the two images of a pair differ; 0: drawn for each pair
        changed_over: number of steps over which that number grows from 1; 0: constant
    """
    varying = table.changeable
    if not 0 <= changed <= varying:
        raise UserError(
            f"pairs of '{table.name}' can differ in 1 to {varying} factors (0: drawn for each pair), not {changed}"
        )
    if changed_over and not changed:
        raise UserError("changed_over needs a final number of changed factors: set changed to 1 or more")
    if step < changed_over:
        changed = 1 + (changed - 1) * step // changed_over
    rows = _rows(table, rng, n)
    k = np.full(n, changed) if changed else rng.integers(1, max(varying, 2), n)
    others = table.change(rows, k, rng)
    both = table.images(np.concatenate([rows, others]))
    return Pairs(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(k), _tensor(_class(table, rows, others)))


def transitions(table: Table, rng: np.random.Generator, n: int, *, transition_rate: Rate = 1.0) -> Transitions:
    """Two successive moments: of frames in a folder as they are, of a table of factors drawn.

    Args:
        transition_rate: of the Laplace distribution of the steps of each factor; the larger, the smaller are steps
    """
    rows = _rows(table, rng, n)
    both = table.images(np.concatenate([rows, table.follow(rows, transition_rate, rng)]))
    return Transitions(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]))


def views(table: Table, rng: np.random.Generator, n: int, *, views_of: Literal["class", "instance"] = "class") -> Views:
    """Two views of the same class or instance, which `y` identifies.

    Args:
        views_of: class (different instances of the shared classes) or instance (one image twice, for augmentation)
    """
    rows = _rows(table, rng, n)
    if views_of == "instance":
        x = _tensor(table.images(rows))
        return Views(_tensor(rows), x, x, _tensor(rows))
    both = table.images(np.concatenate([rows, table.partner(rows, rng)]))
    return Views(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(table.shared_label(rows)))


def target_background(table: Table, rng: np.random.Generator, n: int) -> TargetBackground:
    """Equally many rows of the target and of the background, drawn independently."""
    assert table.background is not None
    rows = _rows(table, rng, n)
    others = _rows(table.background, rng, n)
    return TargetBackground(_tensor(rows), _tensor(table.images(rows)), _tensor(table.background.images(others)))


DRAW: dict[type[Batch], Callable[..., Batch]] = {
    Images: images,
    Labelled: labelled,
    Pairs: pairs,
    Transitions: transitions,
    Views: views,
    TargetBackground: target_background,
}


def sets_that_give(kind: str) -> list[str]:
    """The data sets that can give a kind of batch; nothing is loaded."""
    return [name for name, entry in catalogue.entries("data").items() if kind in entry.traits.get("gives", ())]


def _check_rows(table: Table) -> None:
    """Refuses an empty table, and warns of one with a single row."""
    for part, count in ((table.name, len(table)), ("the background", len(table.background) if table.background else 2)):
        if count == 0:
            raise UserError(f"{part} has no rows: there is nothing to draw batches from")
        if count == 1:
            warnings.warn(f"{part} has a single sample, from which nothing can be learnt", stacklevel=3)


def _check_memory(table: Table, kind: type[Batch], batch: int) -> None:
    """Refuses a batch that does not fit into memory, as bytes when it is drawn and as floats on a device."""
    each = sum(field.name in ("x", "x1", "x2", "target", "background") for field in fields(kind))
    size = batch * each * math.prod(table.shape) * (1 + 4)
    machine.require_memory(size, f"a batch of {batch:,} samples of '{table.name}'", "choose a smaller batch")


def _class(table: Table, rows: Rows, others: Rows) -> NDArray[np.int64]:
    """The class of each row; -1 if the other row has a different class or there are no classes."""
    if table.label is None:
        return np.full(len(rows), -1)
    first, second = (table.values(some)[:, table.column(table.label)] for some in (rows, others))
    return np.where(first == second, first, -1)


def _rows(table: Table, rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, len(table), n)


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
