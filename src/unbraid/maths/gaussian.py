"""Diagonal Gaussians, given by mean and log variance; every function works dimension by dimension, in nats."""

from __future__ import annotations

import math

import torch
from torch import Tensor

LOG_2PI = math.log(2 * math.pi)


def sample(mu: Tensor, log_var: Tensor) -> Tensor:
    """z = mu + sigma * eps, eps ~ N(0, 1)."""
    return torch.addcmul(mu, (0.5 * log_var).exp(), torch.randn_like(mu))


def log_density(z: Tensor, mu: Tensor, log_var: Tensor) -> Tensor:
    """log N(z; mu, sigma^2)."""
    return -0.5 * ((z - mu) ** 2 * (-log_var).exp() + log_var + LOG_2PI)


def kl_to_standard(mu: Tensor, log_var: Tensor) -> Tensor:
    """KL(N(mu, sigma^2) || N(0, 1)) = (mu^2 + sigma^2 - log sigma^2 - 1) / 2."""
    return 0.5 * (mu**2 + log_var.exp() - log_var - 1)


def kl(mu1: Tensor, log_var1: Tensor, mu2: Tensor, log_var2: Tensor) -> Tensor:
    """KL(N(mu1, sigma1^2) || N(mu2, sigma2^2))."""
    return 0.5 * (((mu1 - mu2) ** 2 + log_var1.exp()) * (-log_var2).exp() + log_var2 - log_var1 - 1)
