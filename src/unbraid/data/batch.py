"""The kinds of batch. Images are bytes when they are drawn and floats in [0, 1] once they are `on` a device."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor


def as_floats(value: Tensor) -> Tensor:
    """Bytes as floats in [0, 1]; other numbers as they are."""
    return value.float().div_(255) if value.dtype == torch.uint8 else value


@dataclass(frozen=True)
class Batch:
    index: Tensor  # [b] row numbers

    def on(self, device: torch.device | str) -> Self:
        """The batch on a device, images as floats in [0, 1]."""

        moved = {f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)}
        return type(self)(**{name: as_floats(value) for name, value in moved.items()})


@dataclass(frozen=True)
class Images(Batch):
    x: Tensor  # [b, c, h, w]


@dataclass(frozen=True)
class Labelled(Batch):
    x: Tensor  # [b, c, h, w]
    y: Tensor  # [b] class
    s: Tensor  # [b, m] known nuisances


@dataclass(frozen=True)
class Pairs(Batch):
    x1: Tensor  # [b, c, h, w]
    x2: Tensor  # [b, c, h, w]
    k: Tensor  # [b] how many factors differ; which ones is not revealed
    y: Tensor  # [b] class of both images; -1 where they differ in it, or where the set has no classes


@dataclass(frozen=True)
class Transitions(Batch):
    x1: Tensor  # [b, c, h, w]
    x2: Tensor  # [b, c, h, w] the next moment


@dataclass(frozen=True)
class Views(Batch):
    x1: Tensor  # [b, c, h, w]
    x2: Tensor  # [b, c, h, w]
    y: Tensor  # [b] what the two views share


@dataclass(frozen=True)
class TargetBackground(Batch):
    target: Tensor  # [b, c, h, w]
    background: Tensor  # [b, c, h, w]
