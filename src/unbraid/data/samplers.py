"""One sampler for each batch kind. A batch is a pure function of (seed, step)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.data.batch import Batch, Images, Labelled, Pairs, TargetBackground, Views
from unbraid.data.table import Rows, Table
from unbraid.errors import UserError


def sampler(table: Table, kind: type[Batch], *, batch: int, seed: int, **sampling: Any) -> Callable[[int], Batch]:
    """The function from step to batch; `sampling` are the keyword arguments of the kind's own function below."""
    anything_goes = kind is Views and sampling.get("views_of") == "instance"
    if kind.__name__ not in table.gives and not anything_goes:
        able = ", ".join(sets_that_give(kind.__name__))
        raise UserError(f"'{table.name}' cannot give {kind.__name__}, only {', '.join(table.gives)}: these can: {able}")
    if batch < 1:
        raise UserError(f"a batch needs at least one sample, not {batch}")
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed must be 0 or more and have less than 64 bits, and is {seed}")
    draw = DRAW[kind]

    def at(step: int) -> Batch:
        when = (step,) if kind is Pairs else ()
        return draw(table, np.random.default_rng((seed, step)), batch, *when, **sampling)

    return at


def images(table: Table, rng: np.random.Generator, n: int) -> Images:
    """Rows drawn uniformly; of a target with a background half of each, the background numbered after the target."""
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
        changed: number of factors in which the two images of a pair differ; 0 draws it anew for each pair
        changed_over: steps over which that number grows from 1; 0: it is the same from the start
    """
    varying = table.changeable
    if not 0 <= changed <= varying:
        raise UserError(f"pairs of '{table.name}' can differ in 1 to {varying} factors (0: drawn), not {changed}")
    if changed_over and not changed:
        raise UserError("changed_over needs the number of factors to which it grows: set changed to 1 or more")
    if step < changed_over:
        changed = 1 + (changed - 1) * step // changed_over
    rows = _rows(table, rng, n)
    k = np.full(n, changed) if changed else rng.integers(1, max(varying, 2), n)
    others = table.change(rows, k, rng)
    both = table.images(np.concatenate([rows, others]))
    return Pairs(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(k), _tensor(_class(table, rows, others)))


def views(table: Table, rng: np.random.Generator, n: int, *, views_of: Literal["class", "instance"] = "class") -> Views:
    """Two views of the same thing; `y` tells the things apart.

    Args:
        views_of: class (other instances of the shared classes) or instance (one image twice, to be augmented)
    """
    rows = _rows(table, rng, n)
    if views_of == "instance":
        x = _tensor(table.images(rows))
        return Views(_tensor(rows), x, x, _tensor(rows))
    both = table.images(np.concatenate([rows, table.partner(rows, rng)]))
    return Views(_tensor(rows), _tensor(both[:n]), _tensor(both[n:]), _tensor(table.shared_label(rows)))


def target_background(table: Table, rng: np.random.Generator, n: int) -> TargetBackground:
    """As many rows of the target as of the background, drawn independently."""
    assert table.background is not None
    rows = _rows(table, rng, n)
    others = _rows(table.background, rng, n)
    return TargetBackground(_tensor(rows), _tensor(table.images(rows)), _tensor(table.background.images(others)))


DRAW: dict[type[Batch], Callable[..., Batch]] = {
    Images: images,
    Labelled: labelled,
    Pairs: pairs,
    Views: views,
    TargetBackground: target_background,
}


def sets_that_give(kind: str) -> list[str]:
    """The data sets whose class says that it gives a kind of batch; read from the source, so that nothing is loaded."""
    classes: dict[str, ast.ClassDef] = {}
    sets: dict[str, ast.ClassDef] = {}
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
                abstract = "ABC" in map(ast.unparse, node.bases)
                if node.name.lower() == path.stem.replace("_", "") and not abstract:
                    sets[path.stem] = node

    def gives(node: ast.ClassDef) -> tuple[str, ...]:
        for line in node.body:
            if isinstance(line, ast.Assign | ast.AnnAssign) and line.value and ast.unparse(line).startswith("gives"):
                return tuple(ast.literal_eval(line.value))
        bases = (classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes)
        return next((found for base in bases if (found := gives(base))), ())

    return [name for name, node in sets.items() if kind in gives(node)]


def _class(table: Table, rows: Rows, others: Rows) -> NDArray[np.int64]:
    """The class of each row, -1 where the other row has another class or there are none."""
    if table.label is None:
        return np.full(len(rows), -1)
    first, second = (table.values(some)[:, table.column(table.label)] for some in (rows, others))
    return np.where(first == second, first, -1)


def _rows(table: Table, rng: np.random.Generator, n: int) -> Rows:
    return rng.integers(0, len(table), n)


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))
