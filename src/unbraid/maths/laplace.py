"""Gaussians against a Laplace distribution, dimension by dimension, in nats."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.maths.gaussian import LOG_2PI


def expected_distance(mu: Tensor, var: Tensor) -> Tensor:
    """E|d| of d ~ N(mu, var): sigma sqrt(2 / pi) exp(-mu^2 / 2 sigma^2) + mu erf(mu / sigma sqrt(2))."""
    sigma = var.sqrt()
    return math.sqrt(2 / math.pi) * sigma * (-(mu**2) / (2 * var)).exp() + mu * torch.erf(mu / (math.sqrt(2) * sigma))


def transition_kl(mu: Tensor, log_var: Tensor, mu_before: Tensor, log_var_before: Tensor, *, rate: float) -> Tensor:
    """E over z' of KL(N(mu, sigma^2) || p(.|z')), with p(z|z') = rate / 2 exp(-rate |z - z'|), z' ~ N(before)."""
    entropy = 0.5 * (log_var + LOG_2PI + 1)
    distance = expected_distance(mu - mu_before, log_var.exp() + log_var_before.exp())
    return rate * distance - math.log(rate / 2) - entropy
