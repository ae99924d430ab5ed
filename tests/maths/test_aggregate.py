from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.data.split import select_rows
from unbraid.data.table import Table
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.maths.aggregate import ESTIMATORS, log_aggregate, log_mixture, log_weights, total_correlation


def posteriors(n: int, k: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, n, k, generator=generator, dtype=torch.float64)
    return draw[0], draw[1] - 1


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("m", "n"), [(2, 2), (5, 5), (5, 1000), (64, 737_280)])
def test_each_row_of_weights_sums_to_one(estimator: str, m: int, n: int) -> None:
    weights = log_weights(estimator, torch.arange(m), n).exp()
    torch.testing.assert_close(weights.sum(1), torch.ones(m))
    own = 1 / n if estimator == "stratified" else 1 / m
    torch.testing.assert_close(weights.diagonal(), torch.full((m,), own))


def test_a_mixture_against_a_loop() -> None:
    mu, log_var = posteriors(6, 3)
    z, _ = posteriors(4, 3, seed=1)
    weights = np.random.default_rng(0).dirichlet(np.ones(6), 4)  # [4, 6]
    joint, each = log_mixture(z, mu, log_var, torch.from_numpy(weights).log())
    for s in range(4):
        density = norm.pdf(z[s].numpy(), mu.numpy(), np.exp(log_var.numpy() / 2))  # [6, 3]
        assert joint[s].item() == pytest.approx(np.log(sum(weights[s, j] * np.prod(density[j]) for j in range(6))))
        assert each[s].tolist() == pytest.approx(np.log(weights[s] @ density).tolist())


def test_a_batch_of_the_whole_data_set_is_exact() -> None:
    mu, log_var = posteriors(7, 3)
    z = gaussian.sample(mu, log_var)
    exact = log_aggregate(z, mu, log_var, at_once=50)
    for estimator in ESTIMATORS:
        weights = log_weights(estimator, torch.arange(7), 7).double()
        torch.testing.assert_close(log_mixture(z, mu, log_var, weights), exact)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_over_all_batches_the_stratified_estimate_of_the_density_is_right_and_the_weighted_is_not(
    estimator: str,
) -> None:
    """The first of seven posteriors gives z; the mean over all batches of it and two others."""
    mu, log_var = posteriors(7, 2)
    z = mu[:1] + 0.3
    truth = log_aggregate(z, mu, log_var)[0].exp().item()
    weights = log_weights(estimator, torch.arange(3), 7)[:1].double()
    batches = [torch.tensor([0, *others]) for others in combinations(range(1, 7), 2)]
    mean = np.mean([log_mixture(z, mu[b], log_var[b], weights)[0].exp().item() for b in batches])
    own = gaussian.log_density(z, mu[:1], log_var[:1]).sum().exp().item()
    others = (7 * truth - own) / 6
    expected = truth if estimator == "stratified" else own / 3 + 2 / 3 * others
    assert mean == pytest.approx(expected, rel=1e-6)
    assert abs(own / 3 + 2 / 3 * others - truth) > 0.1 * truth  # so that the two can be told apart


def mean_ratio(table: Table, weights_of: Callable[[Tensor], Tensor], shares: list[float]) -> list[float]:
    """E[q^(z)] / q(z) over the sampler's batches, at posterior means of the first 20 rows and of the others."""
    draw, ratios = sampler(table, Images, batch=16, seed=0), []
    mu = 3.0 * torch.arange(len(shares), dtype=torch.float64)[:, None]
    log_var, share = torch.zeros_like(mu), torch.tensor(shares, dtype=torch.float64)
    drawn = torch.cat([draw(step).index for step in range(400)])
    for rows in torch.split(drawn, 16):
        joint, _ = log_mixture(mu[rows], mu[rows], log_var[rows], weights_of(rows).double())
        exact, _ = log_mixture(mu[rows], mu, log_var, share.log())
        ratios.append((joint - exact).exp())
    found = torch.cat(ratios)
    return [found[drawn < 20].mean().item(), found[drawn >= 20].mean().item()]


def test_the_stratified_estimate_has_no_bias_under_our_own_sampler_which_draws_with_replacement() -> None:
    """With the paper's weights, by place in the batch, a row that is drawn again counts twice."""
    table = select_rows(Squares(dim=True), np.arange(20))
    table.background = None
    found, _ = mean_ratio(table, lambda rows: log_weights("stratified", rows, 20), [1 / 20] * 20)
    assert found == pytest.approx(1, abs=0.01)
    by_place, _ = mean_ratio(table, lambda _: log_weights("stratified", torch.arange(16), 20), [1 / 20] * 20)
    assert by_place == pytest.approx(1.94, abs=0.03)


def test_half_of_a_batch_from_a_background_estimates_the_mixture_of_both_sets() -> None:
    """20 rows and 5 backgrounds: each background is drawn four times as often as each row."""
    table = select_rows(Squares(dim=True), np.arange(20))
    table.background = select_rows(Squares(dim=True), np.arange(5))
    shares = [1 / 40] * 20 + [1 / 10] * 5
    found = mean_ratio(table, lambda rows: log_weights("stratified", rows, 20, 5), shares)
    assert found == pytest.approx([1, 1], abs=0.02)
    as_one_set = mean_ratio(table, lambda rows: log_weights("stratified", rows, 25), shares)
    assert as_one_set == pytest.approx([1.6, 0.4], abs=0.05)


def test_rows_that_repeat_share_the_weight_of_one() -> None:
    """Rows 3, 3 and 4 of seven, and both of two backgrounds."""
    found = log_weights("stratified", torch.tensor([3, 3, 4, 7, 8]), 7, 2).exp()
    part, own = 3 / 5, 3 / 5 / 7
    torch.testing.assert_close(found[0], torch.tensor([own / 2, own / 2, part - own, 1 / 5, 1 / 5]))
    torch.testing.assert_close(found[2], torch.tensor([(part - own) / 2, (part - own) / 2, own, 1 / 5, 1 / 5]))
    torch.testing.assert_close(found[3], torch.tensor([1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5]))
    torch.testing.assert_close(log_weights("stratified", torch.tensor([2, 2]), 9).exp(), torch.full((2, 2), 0.5))


def test_the_exact_total_correlation_of_a_correlated_gaussian() -> None:
    """mu ~ N(0, [[1, rho], [rho, 1]]) and z = mu + s eps: the correlation of z is rho / (1 + s^2)."""
    rho, s, n = 0.9, 0.4, 3000
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, n, generator=generator)
    mu = torch.stack([a, rho * a + math.sqrt(1 - rho**2) * b], 1)
    log_var = torch.full_like(mu, 2 * math.log(s))
    z = mu[:1500] + s * torch.randn(1500, 2, generator=generator)
    expected = -0.5 * math.log(1 - (rho / (1 + s**2)) ** 2)
    assert total_correlation(*log_aggregate(z, mu, log_var)).item() == pytest.approx(expected, abs=0.05)


def test_the_bias_of_the_estimates() -> None:
    """The row N = 5000, M = 64, sigma = 0.2 of the table in docs/methods/beta_tcvae.md."""
    n, m, k, s = 5000, 64, 10, 0.2
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(n, k, generator=generator)
    log_var = torch.full_like(mu, 2 * math.log(s))

    def batch(size: int) -> tuple[Tensor, Tensor]:
        rows = torch.randint(n, (size,), generator=generator)
        return rows, mu[rows] + s * torch.randn(size, k, generator=generator)

    def estimate(estimator: str, rows: Tensor, z: Tensor) -> float:
        weights = log_weights(estimator, rows, n)
        return total_correlation(*log_mixture(z, mu[rows], log_var[rows], weights)).item()

    truth = total_correlation(*log_aggregate(batch(400)[1], mu, log_var)).item()
    bias = {name: np.mean([estimate(name, *batch(m)) for _ in range(20)]) - truth for name in ESTIMATORS}
    assert truth == pytest.approx(7.7, abs=0.4)
    assert bias["stratified"] == pytest.approx(0.8, abs=0.5)
    assert bias["weighted"] == pytest.approx(3.8, abs=0.5)


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(UserError, match="two or more"):
        log_weights("weighted", torch.arange(1), 10)
    with pytest.raises(UserError, match="stratified"):
        log_weights("stratifed", torch.arange(2), 10)
