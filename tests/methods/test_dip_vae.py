from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.methods.dip_vae import DIPVAE, penalties
from unbraid.methods.vae import VAE

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def codes(n: int = 30) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(n, 4, generator=generator, dtype=torch.float64) @ torch.tensor(np.tri(4))
    return mu + 5, torch.randn(n, 4, generator=generator, dtype=torch.float64) - 1


def white(n: int, variance: float) -> Tensor:
    """Means whose biased covariance is variance times the identity, exactly."""
    mu, _ = codes(n)
    centred = mu - mu.mean(0)
    factor = torch.linalg.cholesky(centred.T @ centred / n)
    whitened: Tensor = torch.linalg.solve_triangular(factor, centred.T, upper=False).T
    return whitened * math.sqrt(variance) + 3


@pytest.mark.parametrize("sampled", [False, True])
def test_penalties_against_numpy(sampled: bool) -> None:
    mu, log_var = codes()
    c = np.cov(mu.numpy(), rowvar=False, bias=True)
    if sampled:
        c = c + np.diag(np.exp(log_var.numpy()).mean(0))
    off = sum(c[i, j] ** 2 for i in range(4) for j in range(4) if i != j)
    diagonal = sum((c[i, i] - 1) ** 2 for i in range(4))
    found = [value.item() for value in penalties(mu, log_var if sampled else None)]
    assert found == pytest.approx([off, diagonal])


def test_an_ideal_posterior_costs_nothing() -> None:
    log_var = torch.full((30, 4), math.log(0.3), dtype=torch.float64)
    for found in (penalties(white(30, 1.0), None), penalties(white(30, 0.7), log_var)):
        assert [value.item() for value in found] == pytest.approx([0, 0], abs=1e-20)
    for found in (penalties(white(30, 0.7), None), penalties(white(30, 1.0), log_var)):
        assert found[1].item() == pytest.approx(4 * 0.3**2)


def test_the_second_variant_has_the_covariance_of_samples() -> None:
    mu, log_var = codes(100)
    torch.manual_seed(0)
    z = gaussian.sample(mu.repeat(4000, 1), log_var.repeat(4000, 1))
    for ours, sampled in zip(penalties(mu, log_var), penalties(z, None), strict=True):
        assert ours.item() == pytest.approx(sampled.item(), rel=0.02)


@pytest.mark.parametrize(("variant", "factor"), [("i", 10.0), ("ii", 1.0)])
def test_the_loss_is_the_vae_plus_both_penalties(variant: Literal["i", "ii"], factor: float) -> None:
    """The weight of the diagonal is that of the study where none is given, and the one given where one is."""
    vae_loss = _loss(VAE(TABLE.spec))
    mu, log_var = _posterior()
    off, diagonal = (value.item() for value in penalties(mu, log_var if variant == "ii" else None))
    ruled = _loss(_build(variant, 3.0, None))
    given = _loss(_build(variant, 3.0, 0.0))
    assert diagonal > 1
    assert ruled == pytest.approx(vae_loss + 3 * off + 3 * factor * diagonal, rel=1e-6)
    assert given == pytest.approx(vae_loss + 3 * off, rel=1e-6)


def test_an_unknown_variant_is_refused_at_once() -> None:
    with pytest.raises(UserError, match="dip_variant"):
        DIPVAE(TABLE.spec, dip_variant="iii")  # type: ignore[arg-type]


def _build(variant: Literal["i", "ii"], lambda_od: float, lambda_d: float | None) -> DIPVAE:
    return DIPVAE(TABLE.spec, dip_variant=variant, lambda_od=lambda_od, lambda_d=lambda_d)


def _loss(method: VAE | DIPVAE) -> float:
    _set_weights(method)
    torch.manual_seed(1)
    return method.losses(batch(), 0)["model"].value.item()


def _posterior() -> tuple[Tensor, Tensor]:
    method = VAE(TABLE.spec)
    _set_weights(method)
    with torch.no_grad():
        return method.posterior(batch().x)["z"]


def _set_weights(method: VAE | DIPVAE) -> None:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in method.parameters():
            parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
