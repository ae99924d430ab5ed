from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.maths.aggregate import ESTIMATORS, log_weights
from unbraid.methods.beta_tcvae import BetaTCVAE, parts_of_kl
from unbraid.methods.vae import VAE

TABLE = Squares()
N = TABLE.spec.n_train


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def build(**arguments: float | str) -> BetaTCVAE:
    torch.manual_seed(0)
    method = BetaTCVAE(TABLE.spec, **arguments)  # type: ignore[arg-type]
    linear = nn.Linear(144, 20)
    nn.init.normal_(linear.weight, std=0.6)  # so that the posteriors differ
    method.encoder = nn.Sequential(nn.Flatten(), linear)
    return method


def codes() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mu, log_var = torch.randn(9, 4, dtype=torch.float64), torch.randn(9, 4, dtype=torch.float64) - 1
    return gaussian.sample(mu, log_var), mu, log_var


def stratified(i: int, rows: list[int]) -> list[float]:
    """Rows from 0 to N are targets, the others backgrounds: a draw of each half is one of N in either."""
    sets = [row >= N for row in rows]
    half = sets.count(sets[i])
    others = sum(row != rows[i] for row, of in zip(rows, sets, strict=True) if of == sets[i])
    weights = []
    for row, of in zip(rows, sets, strict=True):
        if of != sets[i]:
            weights.append(1 / len(rows))
        elif row == rows[i]:
            weights.append(half / len(rows) / N / rows.count(row))
        else:
            weights.append(half / len(rows) * (N - 1) / N / others)
    return weights


def by_loops(z: Tensor, mu: Tensor, log_var: Tensor, estimator: str, rows: list[int]) -> list[float]:
    """Mutual information, total correlation and divergence by dimension, from densities and their sums."""
    m, k = z.shape
    mi = tc = dkl = 0.0
    for i in range(m):
        density = norm.pdf(z[i].numpy(), mu.numpy(), np.exp(log_var.numpy() / 2))  # [m, k]
        weight = [1 / m] * m if estimator == "weighted" else stratified(i, rows)
        joint = sum(weight[j] * np.prod(density[j]) for j in range(m))
        product = np.prod([sum(weight[j] * density[j, d] for j in range(m)) for d in range(k)])
        mi += np.log(np.prod(density[i]) / joint) / m
        tc += np.log(joint / product) / m
        dkl += np.log(product / np.prod(norm.pdf(z[i].numpy()))) / m
    return [mi, tc, dkl]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_parts_against_loops_and_their_sum_is_the_sampled_kl(estimator: str) -> None:
    z, mu, log_var = codes()
    rows = [5, 7, 5, 100, 9, 767, N, N + 1, N]
    weights = log_weights(estimator, torch.tensor(rows), N, N)
    parts = [part.item() for part in parts_of_kl(z, mu, log_var, weights)]
    assert parts == pytest.approx(by_loops(z, mu, log_var, estimator, rows), rel=1e-5)
    normal = torch.distributions.Normal(mu, (log_var / 2).exp())
    prior = torch.distributions.Normal(torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64))
    sampled = (normal.log_prob(z) - prior.log_prob(z)).sum(1).mean()  # type: ignore[no-untyped-call]
    assert sum(parts) == pytest.approx(sampled.item())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_of_one_give_the_vae(estimator: str) -> None:
    method = build(beta=1.0, estimator=estimator)
    vae = VAE(TABLE.spec)
    vae.encoder, vae.decoder = method.encoder, method.decoder
    torch.manual_seed(1)
    ours = method.losses(batch(), 0)["model"].value
    torch.manual_seed(1)
    assert ours.item() == vae.losses(batch(), 0)["model"].value.item()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_loss_is_the_weighted_sum_with_the_closed_kl(estimator: str) -> None:
    """alpha I + beta TC + gamma D, and the closed KL in place of I + TC + D; the log has the stratified parts."""
    method = build(alpha=0.5, beta=5.0, gamma=3.0, estimator=estimator)
    torch.manual_seed(1)
    loss = method.losses(batch(), 0)["model"]
    torch.manual_seed(1)
    with torch.no_grad():
        mu, log_var = method.encoder(batch().x).chunk(2, -1)
        z = gaussian.sample(mu, log_var)
        rec = method.decoder.nll(z, batch().x).mean().item()
    rows = batch().index.tolist()
    i, tc, d = by_loops(z.double(), mu.double(), log_var.double(), estimator, rows)
    kl = 0.5 * (mu**2 + log_var.exp() - log_var - 1).sum(1).mean().item()
    assert abs(tc) > 0.5  # otherwise nothing is tested
    assert loss.value.item() == pytest.approx(rec + 0.5 * i + 5 * tc + 3 * d + kl - (i + tc + d), rel=1e-5)
    logged = [loss.terms[name].item() for name in ("mi", "tc", "dkl")]
    assert logged == pytest.approx(by_loops(z.double(), mu.double(), log_var.double(), "stratified", rows), rel=1e-4)


def test_the_weighted_estimate_has_the_gradient_of_the_papers() -> None:
    """1/M sum_i [log sum_j q(z_i|x_j) / (N M) - sum_k log sum_j q(z_ik|x_j) / (N M)]"""
    z, mu, log_var = codes()
    mu.requires_grad_()
    each = gaussian.log_density(z[:, None], mu[None], log_var[None])
    scale = math.log(500 * 9)
    paper = (each.sum(2).logsumexp(1) - scale - (each.logsumexp(1) - scale).sum(1)).mean()
    ours = parts_of_kl(z, mu, log_var, log_weights("weighted", torch.arange(9), 500))[1]
    torch.testing.assert_close(torch.autograd.grad(ours, mu), torch.autograd.grad(paper, mu))
    assert (paper - ours).item() == pytest.approx(3 * math.log(500))  # (k - 1) log N


def test_an_unknown_estimator_is_refused_at_once() -> None:
    with pytest.raises(UserError, match="stratified"):
        build(estimator="stratifid")
