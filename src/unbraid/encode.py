"""Encodes a data set once: a trained method and a table become `Codes`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.codes import Block, Codes
from unbraid.data.batch import as_floats
from unbraid.data.table import Rows, Table
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.methods.contract import Method

BATCH = 256
FEW = 10  # rows among which the first is chosen


def encode(method: Method[Any], data: Table, *, points: int = 10_000, seed: int = 0) -> Codes:
    """The codes of the held-out rows of a data set where it has some, else of its rows; of its background too.

    Args:
        points: number of rows to encode, drawn without replacement; all of them where there are fewer
        seed: of the draw
    """
    if points < 1:
        raise UserError(f"at least one image must be encoded, not {points}")
    table, rng = data.test or data, np.random.default_rng(seed)
    codes = encode_rows(method, table, _varied_first(table, _drawn(table, points, rng)))
    background = table.background or data.background
    if background is None:
        return codes
    return replace(codes, background=encode_rows(method, background, _drawn(background, points, rng)))


def encode_rows(method: Method[Any], table: Table, rows: Rows) -> Codes:
    """The codes of these rows of a table."""
    method.eval()
    blocks, predicted = _encoded_rows(method, table, rows)
    return Codes(
        blocks=blocks,
        rows=rows,
        factors=table.values(rows),
        factor_names=tuple(factor.name for factor in table.factors),
        kinds=table.kinds,
        features=table.scaling.labels if table.scaling else (),
        label=table.label,
        class_names=table.class_names if table.label else (),
        groups=table.groups if table.label else (),
        shared=table.shared,
        predicted=predicted,
    )


def _drawn(table: Table, points: int, rng: np.random.Generator) -> Rows:
    return rng.choice(len(table), min(points, len(table)), replace=False).astype(np.int64)


def _varied_first(table: Table, rows: Rows) -> Rows:
    """The same rows; the image of the first few in which most is to be seen changes places with the first.

    Traversals begin with it.
    """
    images = table.images(rows[:FEW])
    varied = int(images.reshape(*images.shape[:2], -1).std(2).mean(1).argmax())  # a plain colour has no variation
    rows[[0, varied]] = rows[[varied, 0]]
    return rows


@torch.no_grad()
def _encoded_rows(method: Method[Any], table: Table, rows: Rows) -> tuple[dict[str, Block], NDArray[Any] | None]:
    """The blocks of some rows, and their predicted classes [n] where there are classes and a classifier."""
    logits: list[Tensor] = []
    codes: dict[str, list[Tensor]] = {}
    scale: dict[str, list[Tensor]] = {}
    kl: dict[str, Tensor] = {}
    for start in range(0, len(rows), BATCH):
        x = images(method, table, rows[start : start + BATCH])
        means, posterior = encoded(method, x)
        for block, code in means.items():
            codes.setdefault(block, []).append(code)
        for block, (mu, log_var) in posterior.items():
            kl[block] = kl.get(block, torch.zeros(())) + gaussian.kl_to_standard(mu, log_var).sum(0)
            scale.setdefault(block, []).append((0.5 * log_var).exp())
        if table.label and (guess := method.classify(x)) is not None:
            logits.append(guess)
    blocks = {
        block: Block(
            codes=torch.cat(parts).cpu().numpy(),
            kl=(kl[block] / len(rows)).cpu().numpy() if block in kl and method.has_bound else None,
            scale=torch.cat(scale[block]).cpu().numpy() if block in scale else None,
            units=np.array(method.units[block], dtype=np.int64) if block in method.units else None,
        )
        for block, parts in codes.items()
    }
    return blocks, torch.cat(logits).argmax(-1).cpu().numpy() if logits else None


def encoded(method: Method[Any], x: Tensor) -> tuple[dict[str, Tensor], dict[str, tuple[Tensor, Tensor]]]:
    """The codes of some images and their posterior, from one pass of the encoder where the codes are its means."""
    posterior = method.posterior(x)
    if type(method).encode is not Method.encode:
        return method.encode(x), posterior
    return {block: mu for block, (mu, _) in posterior.items()}, posterior


@torch.no_grad()
def reencode(method: Method[Any], codes: Codes, *, alone: bool = False) -> Codes:
    """The codes of decoded codes, Enc(Dec(z)), without what the decoder does not draw.

    Args:
        alone: take each feature from an image of its own, decoded with the other features of another row: it then
            holds what this feature draws, and not what the encoder writes into it of what the others draw
    """
    if not method.has_decoder:
        raise UserError(
            f"codes are decoded and encoded again by a method with a decoder: {type(method).__name__} has none"
        )
    device = next(method.parameters()).device
    z = {name: torch.from_numpy(block.codes).to(device) for name, block in codes.blocks.items()}
    found = z if alone else _again(method, z)
    if alone:
        found = {name: torch.empty_like(code) for name, code in z.items()}
        for name, code in z.items():
            units = torch.tensor(method.units.get(name, range(code.shape[1])), device=device)
            for unit in sorted(set(units.tolist())):
                drawn = {other: value.roll(1, 0) for other, value in z.items()}
                drawn[name] = torch.where(units == unit, code, drawn[name])
                found[name][:, units == unit] = _again(method, drawn)[name][:, units == unit]
    blocks = {name: Block(found[name].cpu().numpy(), units=block.units) for name, block in codes.blocks.items()}
    return replace(codes, blocks=blocks)


def _again(method: Method[Any], z: dict[str, Tensor]) -> dict[str, Tensor]:
    parts = []
    for start in range(0, len(next(iter(z.values()))), BATCH):
        x = method.decode({name: code[start : start + BATCH] for name, code in z.items()})
        assert x is not None
        parts.append(method.encode(x))
    return {name: torch.cat([part[name] for part in parts]) for name in z}


def images(method: Method[Any], table: Table, rows: Rows) -> Tensor:
    """These rows as the method sees them: floats in [0, 1] on its device."""
    return as_floats(torch.from_numpy(table.images(rows)).to(next(method.parameters()).device))


def to_bytes(x: Tensor) -> NDArray[np.uint8]:
    """Images in [0, 1] as bytes."""
    array: NDArray[np.uint8] = (x.clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    return array
