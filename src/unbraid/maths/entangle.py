"""The map of the impossibility theorem, Locatello et al. 2019 (arXiv:1811.12359, theorem 1 and its proof).

For independent coordinates with distribution functions P_i there is an f under which z and f(z) have the same
distribution, while every coordinate of f(z) depends on every coordinate of z almost everywhere:

    f = g^-1 . h^-1 . A . h . g,    g_i = P_i,    h = the normal quantile,    A = I - 2 v v'

with v_1 = sqrt(alpha), v_i = sqrt((1 - alpha) / (d - 1)). g makes z uniform, h makes it standard normal, and the
reflection A does not change the standard normal distribution; A has no zero entry for alpha in (0, 1/2). f is its own
inverse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from unbraid.errors import UserError


@dataclass(frozen=True)
class Marginal:
    """A continuous distribution of one coordinate: its distribution function and the inverse of that."""

    cdf: Callable[[Tensor], Tensor]
    quantile: Callable[[Tensor], Tensor]


NORMAL = Marginal(torch.special.ndtr, torch.special.ndtri)
UNIFORM = Marginal(lambda z: z, lambda u: u)  # on (0, 1)


def reflection(d: int, alpha: float) -> Tensor:
    """A = I - 2 v v', orthogonal and symmetric, with no zero. [d, d]"""
    if d < 2:
        raise UserError(f"a code needs two dimensions or more to be entangled, not {d}")
    if not 0 < alpha < 0.5:
        raise UserError(f"alpha must lie between 0 and 1/2, not {alpha}")
    v = torch.full((d,), (1 - alpha) / (d - 1), dtype=torch.float64)
    v[0] = alpha
    return torch.eye(d, dtype=torch.float64) - 2 * v.sqrt().outer(v.sqrt())


def entangle(z: Tensor, *, marginal: Marginal = NORMAL, alpha: float = 0.25) -> Tensor:
    """f(z), where the coordinates of z are independent draws of `marginal`. [n, d] -> [n, d]

    Args:
        marginal: of every coordinate; its functions may also treat the columns of z differently
        alpha: of the reflection, in (0, 1/2); 1/4 mixes four coordinates evenly
    """
    u = marginal.cdf(z.double())
    if not ((u > 0) & (u < 1)).all():
        raise UserError("a value of z lies outside its marginal distribution, or too far out in its tail")
    mixed = torch.special.ndtri(u) @ reflection(z.shape[-1], alpha).to(z.device)
    return marginal.quantile(torch.special.ndtr(mixed)).to(z.dtype)
