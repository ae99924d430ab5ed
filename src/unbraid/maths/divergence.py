"""Divergences between two Gaussian posteriors, dimension by dimension, in nats.

The Jensen-Shannon divergence of two Gaussians, 1/2 KL(q1 || m) + 1/2 KL(q2 || m) with m their even mixture, has no
closed form. `jsd` replaces m by the Gaussian with the mean and variance of m. Of all Gaussians this one brings the sum
closest to the divergence, which is never larger; it keeps growing where the divergence approaches its maximum, log 2.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.maths import gaussian

NODES = 64


def jsd(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """The Jensen-Shannon divergence with a Gaussian in place of the mixture: an upper bound."""
    mu = (mu1 + mu2) / 2
    log_var = ((log_var1.exp() + log_var2.exp()) / 2 + (mu1 - mu2) ** 2 / 4).log()
    return 0.5 * (gaussian.kl(mu1, log_var1, mu, log_var) + gaussian.kl(mu2, log_var2, mu, log_var))


def jsd_exact(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """The Jensen-Shannon divergence, by Gauss-Hermite quadrature under each of the two."""
    one = _mean_log_ratio(mu1, log_var1, mu2, log_var2)
    other = _mean_log_ratio(mu2, log_var2, mu1, log_var1)
    return 0.5 * (one + other)


def _mean_log_ratio(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """KL(q1 || (q1 + q2) / 2) = log 2 - E_q1[log(1 + q2 / q1)]."""
    nodes, weights = (torch.from_numpy(part).to(mu1) for part in _hermite())
    means, log_vars = (mu1[..., None], mu2[..., None]), (log_var1[..., None], log_var2[..., None])
    z = means[0] + (0.5 * log_vars[0]).exp() * nodes  # [..., nodes]
    ratio = gaussian.log_density(z, means[1], log_vars[1]) - gaussian.log_density(z, means[0], log_vars[0])
    return math.log(2) - (torch.nn.functional.softplus(ratio) * weights).sum(-1)


@cache
def _hermite() -> tuple[NDArray[Any], NDArray[Any]]:
    """Nodes and weights for the mean under a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


DIVERGENCES = {"kl": gaussian.kl, "jsd": jsd, "jsd_exact": jsd_exact}
