"""The negative binomial distribution of counts, by its mean m and theta, with which its variance is m + m^2 / theta.

    p(k) = Gamma(k + theta) / (Gamma(theta) k!) (theta / (theta + m))^theta (m / (theta + m))^k

It is a Poisson distribution whose rate varies; where theta is large the rate does not vary, and it is Poisson.
"""

from __future__ import annotations

import torch
from torch import Tensor


def negative_log_probability(counts: Tensor, log_mean: Tensor, log_theta: Tensor) -> Tensor:
    """-log p(counts) in nats, of each number; the three are broadcast against each other."""
    theta = log_theta.exp()
    log_total = torch.logaddexp(log_theta, log_mean)
    choices = torch.lgamma(counts + theta) - torch.lgamma(theta) - torch.lgamma(counts + 1)
    return theta * (log_total - log_theta) + counts * (log_total - log_mean) - choices
