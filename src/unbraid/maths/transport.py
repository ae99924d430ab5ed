"""Exact optimal transport between two equally large sets of points."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from torch import Tensor


def match(a: Tensor, b: Tensor) -> Tensor:
    """For each point of a, the point of b that it is matched with by optimal transport. [n, d] twice -> [n]

    Between equally many points of equal weight one of the optimal plans is a permutation (Birkhoff), so an
    assignment solver is exact; SciPy's is faster than POT's network simplex at all sizes (benchmarks/transport.py).
    Points that are not finite are matched in their order, so that they reach the loss.
    """
    cost = cdist(a.detach().cpu().numpy(), b.detach().cpu().numpy(), "sqeuclidean")
    if not np.isfinite(cost).all():
        return torch.arange(len(a), device=a.device)
    return torch.from_numpy(linear_sum_assignment(cost)[1]).to(a.device)


def squared_w2(a: Tensor, b: Tensor) -> Tensor:
    """W2^2 of two sets of points: the mean squared distance under the optimal plan. [n, d] twice -> []

    The plan is held fixed in the gradient: where the optimal plan is unique, this is the gradient of W2^2
    (Danskin's theorem).
    """
    return ((a - b[match(a, b)]) ** 2).sum(-1).mean()


def squared_w2_to_zero(mu: Tensor, log_var: Tensor) -> Tensor:
    """W2^2(N(mu, sigma^2), Dirac at 0) = mu^2 + sigma^2, dimension by dimension."""
    return mu**2 + log_var.exp()
