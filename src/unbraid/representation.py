"""Encodes a data set once: codes and factors go to codes.npz, what the decoder draws to pictures.npz."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.table import Rows, Table
from unbraid.errors import Problem
from unbraid.maths import gaussian
from unbraid.methods.contract import Method
from unbraid.run import Run

BATCH = 256
SWEEP = 9  # pictures in a traversal
EXAMPLES = 10  # pictures in the row of reconstructions
QUANTILES = (0.02, 0.98)  # of the codes, between which a traversal moves


def represent(
    run: Run, method: Method[Any], data: Table, *, points: int = 10_000, image: int | None = None, seed: int = 0
) -> dict[str, NDArray[Any]]:
    """Writes codes.npz and pictures.npz of a run, and gives the arrays of the first.

    codes_<block> [n, d], kl_<block> [d] (mean KL to the prior in nats, where the code is Gaussian), factors [n, k],
    factor_names [k], rows [n].

    Args:
        points: number of rows to encode, drawn without replacement; all of them where there are fewer
        image: row of the image whose traversals are drawn; the first drawn one unless given
        seed: of the draw
    """
    table = data.test or data
    rng = np.random.default_rng(seed)
    n = min(points, len(table))
    rows = rng.choice(len(table), n, replace=False).astype(np.int64)
    if image is not None and not 0 <= image < len(table):
        raise Problem(f"there is no image {image}: {table.name} has the rows 0 to {len(table) - 1}")
    codes = encode(method, table, rows)
    factors = {"factors": table.values(rows), "factor_names": np.array([f.name for f in table.factors], dtype=str)}
    arrays = {**codes, **factors, "rows": rows}
    run.write_arrays("codes.npz", **arrays)
    examples = np.concatenate([rows[:1] if image is None else [image], rows[1:EXAMPLES]]).astype(np.int64)
    pictures = draw(method, table, examples, codes)
    if pictures:
        run.write_arrays("pictures.npz", **pictures)
    return arrays


@torch.no_grad()
def encode(method: Method[Any], table: Table, rows: Rows) -> dict[str, NDArray[Any]]:
    """codes_<block> and, where the code is Gaussian, kl_<block>."""
    method.eval()
    codes: dict[str, list[Tensor]] = {}
    kl: dict[str, Tensor] = {}
    for start in range(0, len(rows), BATCH):
        x = images(method, table, rows[start : start + BATCH])
        for block, code in method.encode(x).items():
            codes.setdefault(block, []).append(code)
        for block, (mu, log_var) in method.posterior(x).items():
            kl[block] = kl.get(block, torch.zeros(())) + gaussian.kl_to_standard(mu, log_var).sum(0)
    found = {f"codes_{block}": torch.cat(parts).cpu().numpy() for block, parts in codes.items()}
    return found | {f"kl_{block}": (total / len(rows)).cpu().numpy() for block, total in kl.items()}


@torch.no_grad()
def draw(method: Method[Any], table: Table, rows: Rows, codes: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.uint8]]:
    """Reconstructions of these rows, and traversals over the first: each latent moved alone, the others held."""
    x = images(method, table, rows)
    blocks = method.encode(x)
    reconstruction = method.decode(blocks)
    if reconstruction is None:
        return {}
    pictures = {"originals": to_bytes(x), "reconstructions": to_bytes(reconstruction)}
    for block, code in blocks.items():
        low, high = np.quantile(codes[f"codes_{block}"], QUANTILES, axis=0)
        grid = torch.as_tensor(np.linspace(low, high, SWEEP), device=x.device, dtype=code.dtype)  # [sweep, d]
        swept = []
        for latent in range(code.shape[1]):
            moved = {name: value[:1].repeat(SWEEP, 1) for name, value in blocks.items()}
            moved[block][:, latent] = grid[:, latent]
            picture = method.decode(moved)
            assert picture is not None
            swept.append(to_bytes(picture))
        pictures[f"traversals_{block}"] = np.stack(swept)  # [d, sweep, c, h, w]
    return pictures


def images(method: Method[Any], table: Table, rows: Rows) -> Tensor:
    """These rows as the method sees them: floats in [0, 1] on its device."""
    device = next(method.parameters()).device
    return torch.from_numpy(table.images(rows)).to(device).float().div_(255)


def to_bytes(x: Tensor) -> NDArray[np.uint8]:
    array: NDArray[np.uint8] = (x.clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    return array
