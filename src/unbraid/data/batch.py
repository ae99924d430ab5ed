"""The kinds of batch. Images are bytes when they are drawn and floats in [0, 1] once they are `on` a device."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    index: Tensor  # [b] row numbers

    def on(self, device: torch.device | str) -> Self:
        """The batch on a device, images as floats in [0, 1]."""

        def move(value: Any) -> Any:
            value = value.to(device, non_blocking=True)
            return value.float().div_(255) if value.dtype == torch.uint8 else value

        return type(self)(**{f.name: move(getattr(self, f.name)) for f in fields(self)})


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
