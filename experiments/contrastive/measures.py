"""What only the maker of a data set knows: the patch of grass, or the photograph, and the digit of each target."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unbraid.codes import Codes
from unbraid.data.sets.grassy_mnist import GrassyMNIST
from unbraid.data.sets.photo_mnist import PhotoMNIST
from unbraid.encode import images
from unbraid.methods.contract import Method
from unbraid.train.run import Run

ROWS, COMPONENTS = 2000, 8


@torch.no_grad()
def truth(run: Run, method: Method[Any], data: GrassyMNIST | PhotoMNIST, codes: Codes) -> dict[str, float]:
    """How well the parts of the code agree with what the targets were made of.

    grass_from_[z,0] and digit_from_[0,s]: correlation over the pixels of an image between what these draw and the patch
    or the digit, averaged over images; grass_from_s and grass_from_z: R2 of a linear prediction, from the codes of one
    half of the rows to the other, of the patches' leading principal components.
    """
    rows = np.random.default_rng(0).choice(len(data), min(ROWS, len(data)), replace=False)
    grass = data.behind.images(rows).astype(np.float64).reshape(len(rows), -1)
    digit = np.repeat(data.digits[rows][:, None], data.shape[0], 1).astype(np.float64).reshape(len(rows), -1)
    blocks = method.encode(images(method, data, rows))
    leading = np.linalg.svd(grass - grass.mean(0), full_matrices=False)
    components = (leading[0] * leading[1])[:, :COMPONENTS]
    found = {f"grass_from_{name}": explained(code.cpu().numpy(), components) for name, code in blocks.items()}
    if {"s", "z"} <= blocks.keys():
        s, z = blocks["s"], blocks["z"]
        for name, of, part in (
            ("grass_from_[z,0]", grass, {"s": torch.zeros_like(s), "z": z}),
            ("digit_from_[0,s]", digit, {"s": s, "z": torch.zeros_like(z)}),
        ):
            drawn = method.decode(part)
            if drawn is not None:
                found[name] = correlation(drawn.cpu().numpy().reshape(len(rows), -1), of)
    return found


def explained(codes: NDArray[Any], values: NDArray[Any]) -> float:
    """R2 on the second half of the rows of a linear regression on the first."""
    half = len(codes) // 2
    x = np.concatenate([codes, np.ones((len(codes), 1))], 1).astype(np.float64)
    weights = np.linalg.lstsq(x[:half], values[:half], rcond=None)[0]
    error = ((values[half:] - x[half:] @ weights) ** 2).sum()
    return float(1 - error / ((values[half:] - values[:half].mean(0)) ** 2).sum())


def correlation(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The mean over rows of the correlation over columns."""
    a, b = (x - x.mean(1, keepdims=True) for x in (a, b))
    norm = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return float(((a * b).sum(1) / np.maximum(norm, 1e-12)).mean())
