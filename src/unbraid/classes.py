"""What a method says of classes, and what its blocks p (predictive) and n (nuisance) hold: arrays and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.table import Product, Rows, Table
from unbraid.maths import gaussian
from unbraid.maths.exchange import swap, unchanged
from unbraid.methods.contract import Method

Look = Callable[[Rows], Tensor]  # rows as the method sees them
AT_ONCE = 256
CHANGES = 512  # rows of which each factor is changed


@torch.no_grad()
def predictions(method: Method[Any], table: Table, rows: Rows, look: Look) -> dict[str, NDArray[Any]]:
    """label and groups (names of factors) and, where the method classifies, predicted [n]; nothing without classes."""
    if table.label is None:
        return {}
    found: dict[str, NDArray[Any]] = {"label": np.array(table.label), "groups": np.array(table.groups, dtype=str)}
    parts = [method.classify(look(rows[i : i + AT_ONCE])) for i in range(0, len(rows), AT_ONCE)]
    logits = [part for part in parts if part is not None]
    return {**found, "predicted": torch.cat(logits).argmax(-1).cpu().numpy()} if logits else found


@torch.no_grad()
def moves(
    method: Method[Any], table: Table, rows: Rows, look: Look, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """moves_<block> [factors, d]: how far each latent goes when one factor alone changes, in its standard deviations.

    Where rows are digits painted in several ways a change of the digit is another digit in the same paint.
    """
    if not isinstance(table, Product):
        return {}
    rows = rows[:CHANGES]
    before = method.encode(look(rows))
    found = {block: np.zeros((len(table.axes), code.shape[1])) for block, code in before.items()}
    for axis, size in enumerate(table.axes):
        positions = table.positions(rows)
        positions[:, axis] = (positions[:, axis] + rng.integers(1, max(size, 2), len(rows))) % size
        others = table.find(positions)
        there = np.flatnonzero(others >= 0)
        if size < 2 or not len(there):
            continue
        after = method.encode(look(others[there]))
        for block, code in before.items():
            spread = code.std(0).clamp(min=1e-6)
            found[block][axis] = ((after[block] - code[there]).abs() / spread).mean(0).cpu().numpy()
    return {f"moves_{block}": values for block, values in found.items()}


@torch.no_grad()
def draw_swapped(
    method: Method[Any], table: Table, rows: Rows, look: Look, codes: dict[str, NDArray[Any]], rng: np.random.Generator
) -> dict[str, Tensor]:
    """swapped [5, 2, n, c, h, w]: pairs that differ in one factor; as they are, drawn, drawn after the swap of all that
    they seem to share, from [random p, n], and from [p, random n]; random codes are normal, as spread as the codes."""
    if "Pairs" not in table.gives or not {"codes_p", "codes_n"} <= codes.keys():
        return {}
    k = np.ones(len(rows), np.int64)
    x = look(np.concatenate([rows, table.change(rows, k, rng)]))  # [2 n, c, h, w]
    blocks = method.encode(x)
    p, n = blocks["p"], blocks["n"]
    posterior = method.posterior(x).get("n", (n, torch.zeros_like(n)))
    (mu1, mu2), (log_var1, log_var2) = (part.chunk(2) for part in posterior)
    same = unchanged(gaussian.kl(mu1, log_var1, mu2, log_var2), torch.from_numpy(k).to(n.device), 1.0)
    whole = torch.ones(len(rows), p.shape[1], dtype=torch.bool, device=p.device)

    def random(block: str) -> Tensor:
        mean, spread = codes[f"codes_{block}"].mean(0), codes[f"codes_{block}"].std(0)
        return torch.as_tensor(mean + spread * rng.normal(size=blocks[block].shape)).to(blocks[block])

    drawn = [method.decode(code) for code in ({"p": p, "n": n}, {"p": swap(p, whole), "n": swap(n, same)})]
    drawn += [method.decode({"p": random("p"), "n": n}), method.decode({"p": p, "n": random("n")})]
    pictures = [picture for picture in drawn if picture is not None]
    return {"swapped": torch.stack([x, *pictures]).reshape(5, 2, len(rows), *x.shape[1:])} if len(pictures) == 4 else {}
