from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid.data.batch import Pairs
from unbraid.data.samplers import sampler
from unbraid.maths import gaussian
from unbraid.methods.ada_gvae import AdaGVAE, average, shared_dims

TABLE = Squares()


def posteriors(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(6, 4, generator=generator), torch.randn(6, 4, generator=generator)


def by_hand(mu: torch.Tensor, log_var: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Each pair and each dimension on its own."""
    mean, variance = mu.numpy().astype(np.float64).copy(), np.exp(log_var.numpy().astype(np.float64))
    shared = np.zeros((3, 4), bool)
    for i in range(3):
        m1, m2, v1, v2 = mean[i].copy(), mean[i + 3].copy(), variance[i].copy(), variance[i + 3].copy()
        delta = [0.5 * (v1[d] / v2[d] + (m1[d] - m2[d]) ** 2 / v2[d] - 1 + np.log(v2[d] / v1[d])) for d in range(4)]
        threshold = 0.5 * (max(delta) + min(delta))
        for d in range(4):
            if delta[d] < threshold:
                shared[i, d] = True
                mean[i, d] = mean[i + 3, d] = 0.5 * (m1[d] + m2[d])
                variance[i, d] = variance[i + 3, d] = 0.5 * (v1[d] + v2[d])
    return torch.tensor(mean), torch.tensor(np.log(variance)), torch.tensor(shared)


def test_shared_dimensions_are_found_and_averaged_as_in_the_paper() -> None:
    mu, log_var = posteriors()
    mean, log_variance, mask = by_hand(mu, log_var)
    shared = shared_dims(mu[:3], log_var[:3], mu[3:], log_var[3:])
    assert torch.equal(shared, mask)
    assert 0 < mask.sum() < 12
    ours = average(mu, log_var, shared)
    torch.testing.assert_close(ours[0].double(), mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ours[1].double(), log_variance, rtol=1e-5, atol=1e-6)


def test_averaging_two_equal_posteriors_changes_nothing() -> None:
    mu, log_var = (part[:3].repeat(2, 1) for part in posteriors())
    ours = average(mu, log_var, torch.ones(3, 4, dtype=torch.bool))
    torch.testing.assert_close(ours, (mu, log_var))


def test_the_dimension_in_which_a_pair_differs_most_is_never_shared() -> None:
    mu, log_var = torch.zeros(2, 5), torch.zeros(2, 5)
    mu[1, 3] = 2.0
    assert shared_dims(mu[:1], log_var[:1], mu[1:], log_var[1:]).tolist() == [[True, True, True, False, True]]


def test_the_threshold_lies_between_the_smallest_and_the_largest_difference() -> None:
    """Half of the largest alone would share none of these: KL of unit variances is half the squared distance."""
    mu2 = torch.tensor([[12.0, 10.0, 20.0]]).mul(2).sqrt()
    at_zero = torch.zeros(1, 3)
    assert shared_dims(at_zero, at_zero, mu2, at_zero).tolist() == [[True, True, False]]


def test_a_known_number_of_changes_is_the_number_of_dimensions_that_are_not_shared() -> None:
    mu, log_var = posteriors()
    halves = (mu[:3], log_var[:3], mu[3:], log_var[3:])
    delta = gaussian.kl(*halves)
    shared = shared_dims(*halves, changed=torch.tensor([1, 3, 4]))
    assert (~shared).sum(1).tolist() == [1, 3, 4]
    for row in range(2):
        assert delta[row][shared[row]].max() < delta[row][~shared[row]].min()


def test_known_changes_reach_the_loss() -> None:
    x = torch.rand(2, 4, *TABLE.shape, generator=torch.Generator().manual_seed(0))
    batch = Pairs(torch.arange(4), x[0], x[1], torch.tensor([1, 5, 2, 4]), torch.full((4,), -1))
    found = [
        float(AdaGVAE(TABLE.spec, latents=6, width=4, known_k=known).losses(batch, 0)["model"].terms["shared"])
        for known in (False, True)
    ]
    assert found[1] == 6 - 3  # three of the six dimensions are changed in the mean
    assert found[0] != found[1]


def test_the_loss_of_a_pair_is_the_mean_over_both_images() -> None:
    torch.manual_seed(0)
    method = AdaGVAE(TABLE.spec, beta=3.0, width=4, latents=4)
    batch = sampler(TABLE, Pairs, batch=3, seed=0)(0).on("cpu")
    assert isinstance(batch, Pairs)
    x = torch.cat([batch.x1, batch.x2])
    with torch.no_grad():
        mu, log_var = method.encoder(x).chunk(2, -1)
        mean, log_variance, _ = by_hand(mu, log_var)
        torch.manual_seed(1)
        z = mean + (0.5 * log_variance).exp() * torch.randn(6, 4).double()
        rec = method.decoder.nll(z.float(), x)
    kl = 0.5 * (mean**2 + log_variance.exp() - log_variance - 1).sum(1)
    expected = sum((rec[i] + 3 * kl[i] + rec[i + 3] + 3 * kl[i + 3]) / 2 for i in range(3)) / 3
    torch.manual_seed(1)
    assert method.losses(batch, 0)["model"].value.item() == pytest.approx(float(expected), rel=1e-5)


def test_a_single_image_is_encoded_without_averaging() -> None:
    method = AdaGVAE(TABLE.spec)
    x = torch.rand(4, 1, 12, 12)
    torch.testing.assert_close(method.encode(x)["z"], method.encoder(x)[:, :10])
