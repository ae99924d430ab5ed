from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from tests.toys import Squares
from unbraid.data.batch import Pairs
from unbraid.data.samplers import sampler
from unbraid.methods.ada_gvae import shared_dims
from unbraid.methods.ada_ml_vae import AdaMLVAE, product

TABLE = Squares()


def test_the_product_is_that_of_the_densities() -> None:
    """Mean and variance of q1 q2 / integral(q1 q2), on the line."""
    for m1, s1, m2, s2 in [(0.0, 1.0, 0.0, 1.0), (1.0, 0.5, -1.0, 2.0), (3.0, 0.3, 2.5, 0.4)]:

        def moment(power: int, m: tuple[float, ...] = (m1, s1, m2, s2)) -> float:
            return float(quad(lambda z: z**power * norm.pdf(z, m[0], m[1]) * norm.pdf(z, m[2], m[3]), -12, 12)[0])

        mean = moment(1) / moment(0)
        variance = moment(2) / moment(0) - mean**2
        given = [torch.tensor([value], dtype=torch.float64) for value in (m1, 2 * np.log(s1), m2, 2 * np.log(s2))]
        mu, log_var = product(*given, doubled=False)
        assert mu.item() == pytest.approx(mean, abs=1e-6)
        assert log_var.exp().item() == pytest.approx(variance, rel=1e-6)
        assert product(*given, doubled=True)[1].exp().item() == pytest.approx(2 * variance, rel=1e-6)
        assert product(*given, doubled=True)[0].item() == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("doubled", [False, True])
def test_the_loss_uses_the_product_where_a_pair_is_alike(doubled: bool) -> None:
    torch.manual_seed(0)
    method = AdaMLVAE(TABLE.spec, beta=3.0, width=4, latents=4, doubled=doubled)
    batch = sampler(TABLE, Pairs, batch=3, seed=0)(0).on("cpu")
    assert isinstance(batch, Pairs)
    x = torch.cat([batch.x1, batch.x2])
    with torch.no_grad():
        mu, log_var = method.encoder(x).chunk(2, -1)
        shared = shared_dims(mu[:3], log_var[:3], mu[3:], log_var[3:])
        mean, variance = mu.numpy().copy(), log_var.exp().numpy().copy()
        for i, d in zip(*np.nonzero(shared.numpy()), strict=True):
            m1, m2, v1, v2 = mean[i, d], mean[i + 3, d], variance[i, d], variance[i + 3, d]
            mean[[i, i + 3], d] = (m1 / v1 + m2 / v2) / (1 / v1 + 1 / v2)
            variance[[i, i + 3], d] = (2 if doubled else 1) / (1 / v1 + 1 / v2)
        torch.manual_seed(1)
        z = torch.from_numpy(mean) + torch.from_numpy(variance).sqrt() * torch.randn(6, 4)
        rec = method.decoder.nll(z, x).mean().item()
    kl = 0.5 * (mean**2 + variance - np.log(variance) - 1).sum() / 6
    assert 0 < shared.sum() < 12
    torch.manual_seed(1)
    assert method.losses(batch, 0)["model"].value.item() == pytest.approx(rec + 3 * kl, rel=1e-5)


def test_a_single_image_is_encoded_without_a_product() -> None:
    method = AdaMLVAE(TABLE.spec)
    x = torch.rand(4, 1, 12, 12)
    torch.testing.assert_close(method.encode(x)["z"], method.encoder(x)[:, :10])
