from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.data.table import Spec
from unbraid.methods.annealed_vae import AnnealedVAE
from unbraid.methods.beta_vae import BetaVAE
from unbraid.nets.autoencoders import Decoder
from unbraid.train.trainer import Trainer

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


class Fixed(nn.Module):
    """Two posteriors of one latent, with KL of 1 and of 9 nats."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tensor([[math.sqrt(2), 0.0], [math.sqrt(18), 0.0]])


@pytest.mark.parametrize(("step", "c"), [(0, 0.0), (25_000, 6.25), (20_000, 5.0), (100_000, 25.0), (10**6, 25.0)])
def test_the_mean_kl_is_held_at_the_capacity_of_the_step(step: int, c: float) -> None:
    """|mean KL - C|, which is 0 at C = 5 for KL of 1 and 9; the mean of |KL - C| would be 4."""
    method = AnnealedVAE(Spec((1, 8, 8), 100), latents=1)
    method.encoder = Fixed()
    loss = method.losses(Images(torch.arange(2), torch.zeros(2, 1, 8, 8)), step)["model"]
    assert loss.terms["capacity"].item() == pytest.approx(c)
    assert loss.terms["kl"].item() == pytest.approx(5)
    assert (loss.value - loss.terms["rec"]).item() == pytest.approx(1000 * abs(5 - c), abs=1e-2)


def test_without_capacity_it_is_the_beta_vae() -> None:
    losses = []
    for method in (AnnealedVAE(TABLE.spec, c_max=0.0, gamma=4.0), BetaVAE(TABLE.spec, beta=4.0)):
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in method.parameters():
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
        torch.manual_seed(1)
        losses.append(method.losses(batch(), 7)["model"].value.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.parametrize("c_max", [0.3, 2.0])
def test_training_brings_the_kl_to_the_capacity(c_max: float) -> None:
    """Also to more than the 0.69 nats that this world of two images holds."""
    torch.manual_seed(0)
    method = AnnealedVAE(Spec((1, 8, 8), 100), c_max=c_max, c_steps=150, latents=2, lr=1e-2)
    method.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
    method.decoder = Decoder(nn.Sequential(nn.Linear(2, 64), nn.Unflatten(1, (1, 8, 8))), "bernoulli")
    trainer = Trainer(method)
    kept = []
    for step in range(250):
        torch.manual_seed(step)
        x = torch.zeros(64, 1, 8, 8)
        x[torch.rand(64) < 0.5] = 1
        kept.append(trainer.step(Images(torch.arange(64), x), step)["kl"].item())
    assert sum(kept[-50:]) / 50 == pytest.approx(c_max, abs=0.1 * c_max + 0.05)
    assert kept[75] == pytest.approx(c_max / 2, abs=0.2 * c_max + 0.05)
