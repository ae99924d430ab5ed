"""The aggregate posterior q(z) = 1/N sum_n q(z|x_n) of Gaussian codes, and its estimates from a batch of M rows.

Chen et al. 2018 (arXiv:1802.04942, section 4 and appendix C). An estimate is a weighted sum of the posteriors of the
batch; sample i, drawn from posterior i of the batch, gives posterior j the weight

    weighted:    1/M
    stratified:  1/N where i and j are the same row, else (N - 1) / N, divided equally among the other rows

Where a row was drawn several times, its weight is divided among them: with the paper's weights, which are for M
different rows, a row that is drawn again counts twice (E[q^(z)] is about 2 q(z) where posteriors are narrow, at any N).
Batches that take a part of their rows from another set, its rows numbered after those of the first, estimate the
mixture of the two in these parts. The stratified estimate of q(z) has no bias, whether or not rows repeat (but for the
chance N^(1 - M) that all rows are the same); the weighted one gives the sample's own posterior too much weight. The
logarithms of both are biased, see docs/methods/beta_tcvae.md.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from unbraid.errors import UserError, unknown
from unbraid.maths import gaussian

ESTIMATORS = ("weighted", "stratified")


def log_weights(estimator: str, rows: Tensor, n: int, others: int = 0) -> Tensor:
    """Logarithms of the weights with which a batch of rows [m] represents all; the weights of a row sum to one. [m, m]

    Args:
        n: rows of the data set
        others: rows of the other set, which are numbered from n on
    """
    m = len(rows)
    if m < 2:
        raise UserError("the aggregate posterior is estimated from the batch: it needs a batch of two or more")
    if estimator == "weighted":
        return torch.full((m, m), -math.log(m), device=rows.device)
    if estimator != "stratified":
        raise unknown("estimator", estimator, ESTIMATORS)
    of_other = rows >= n
    same, together = rows[:, None] == rows, of_other[:, None] == of_other  # the same row, rows of the same set
    rest = together & ~same
    part = together.float().mean(1, keepdim=True)  # of the batch, in the row's set
    size = torch.where(of_other, others, n)[:, None]
    own = torch.where(rest.any(1, keepdim=True), part / size, part)
    weights = torch.where(same, own / same.sum(1, keepdim=True), (part - own) / rest.sum(1, keepdim=True))
    return torch.where(together, weights, 1 / m).log()


def log_mixture(z: Tensor, mu: Tensor, log_var: Tensor, log_weight: Tensor) -> tuple[Tensor, Tensor]:
    """log q(z) and log q(z_k) of a mixture of Gaussians; weights are [n] or [s, n]. [s, k] -> [s], [s, k]"""
    each = gaussian.log_density(z[:, None], mu, log_var)  # [s, n, k]
    joint = (each.sum(-1) + log_weight).logsumexp(1)
    return joint, (each + log_weight[..., None]).logsumexp(1)


def log_aggregate(z: Tensor, mu: Tensor, log_var: Tensor, *, at_once: int = 1 << 22) -> tuple[Tensor, Tensor]:
    """log q(z) and log q(z_k), exactly: over the posteriors of the whole data set. [s, k] -> [s], [s, k]

    Args:
        at_once: numbers held in memory at a time
    """
    even = mu.new_full((len(mu),), -math.log(len(mu)))
    parts = [log_mixture(part, mu, log_var, even) for part in torch.split(z, max(1, at_once // mu.numel()))]
    return torch.cat([joint for joint, _ in parts]), torch.cat([each for _, each in parts])


def total_correlation(joint: Tensor, each: Tensor) -> Tensor:
    """KL(q(z) || prod_k q(z_k)) over samples of q(z), in nats."""
    return (joint - each.sum(-1)).mean()
