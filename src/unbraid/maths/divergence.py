"""Divergences between two Gaussian posteriors, dimension by dimension, in nats.

The Jensen-Shannon divergence of two Gaussians, 1/2 KL(q1 || m) + 1/2 KL(q2 || m) with m their even mixture, has no
closed form. `jsd` replaces m by the Gaussian with the mean and variance of m. Of all Gaussians this one brings the sum
closest to the divergence, which is never larger; it keeps growing where the divergence approaches its maximum, log 2.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from unbraid.maths import gaussian

EDGES = (-9.0, -5.0, -3.0, -1.5, 0.0, 1.5, 3.0, 5.0, 9.0)  # in standard deviations from each mean
NODES = 8  # on each interval between edges


def jsd(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """The Jensen-Shannon divergence with a Gaussian in place of the mixture: an upper bound."""
    mu = (mu1 + mu2) / 2
    log_var = ((log_var1.exp() + log_var2.exp()) / 2 + (mu1 - mu2) ** 2 / 4).log()
    return 0.5 * (gaussian.kl(mu1, log_var1, mu, log_var) + gaussian.kl(mu2, log_var2, mu, log_var))


def jsd_exact(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """The Jensen-Shannon divergence, to 1e-6 whatever the scales, by quadrature on intervals around both means.

    The places of the nodes carry no gradient: it is that of the integrand.
    """
    apart = mu2 - mu1  # distances from mu1, so that narrow posteriors far from 0 lose no digits
    z, weights = _nodes(apart.detach(), log_var1.detach(), log_var2.detach())  # [..., nodes]
    one = gaussian.log_density(z, torch.zeros_like(z), log_var1[..., None])
    two = gaussian.log_density(z, apart[..., None], log_var2[..., None])
    mixture = torch.logaddexp(one, two) - math.log(2)
    integrand = one.exp() * (one - mixture) + two.exp() * (two - mixture)
    return 0.5 * (integrand * weights).sum(-1)


def _nodes(apart: Tensor, log_var1: Tensor, log_var2: Tensor) -> tuple[Tensor, Tensor]:  # [...] -> [..., nodes] twice
    """Nodes and weights of quadrature on every interval between neighbouring edges of the two Gaussians."""
    steps = torch.tensor(EDGES).to(apart)
    around_one = (0.5 * log_var1).exp()[..., None] * steps
    around_two = apart[..., None] + (0.5 * log_var2).exp()[..., None] * steps
    edges = torch.cat([around_one, around_two], -1).sort(-1).values
    half = (edges[..., 1:] - edges[..., :-1])[..., None] / 2  # [..., intervals, 1]
    nodes, weights = (torch.from_numpy(part).to(apart) for part in np.polynomial.legendre.leggauss(NODES))
    return (edges[..., :-1, None] + half * (1 + nodes)).flatten(-2), (half * weights).flatten(-2)


DIVERGENCES = {"kl": gaussian.kl, "jsd": jsd, "jsd_exact": jsd_exact}
