from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.methods.factor_vae import FactorVAE
from unbraid.methods.group_factor_vae import GroupFactorVAE

TABLE = Squares()


def test_features_are_exchanged_whole_and_independently() -> None:
    torch.manual_seed(0)
    method = GroupFactorVAE(TABLE.spec, features=3, dims=2, critic_width=16)
    z = torch.arange(40.0)[:, None] + torch.arange(6.0) / 10
    moved = method.shuffle(z)
    origin = moved.floor().long()  # [40, 6]
    assert torch.allclose(moved - origin, (torch.arange(6.0) / 10).expand(40, 6), atol=1e-4)
    for k in range(3):
        assert torch.equal(origin[:, 2 * k], origin[:, 2 * k + 1])
        assert torch.equal(origin[:, 2 * k].sort().values, torch.arange(40))
    assert (origin[:, 0] == origin[:, 2]).float().mean() < 0.2
    assert method.units == {"z": [0, 0, 1, 1, 2, 2]}


def test_with_features_of_one_dimension_it_is_factor_vae() -> None:
    torch.manual_seed(0)
    ours = GroupFactorVAE(TABLE.spec, features=6, dims=1, critic_width=16)
    torch.manual_seed(0)
    theirs = FactorVAE(TABLE.spec, latents=6, critic_width=16)
    batch = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(batch, Images)
    values = []
    for method in (ours, theirs):
        torch.manual_seed(1)
        values.append(method.losses(batch, 0)["model"].value.item())
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert ours.units == {}


def test_the_critic_tells_joint_codes_from_codes_with_each_feature_exchanged() -> None:
    """Its gradient is that of a classifier whose first class is "joint"."""
    torch.manual_seed(0)
    method = GroupFactorVAE(TABLE.spec, features=3, dims=2, width=4, critic_width=16).double()
    drawn = sampler(TABLE, Images, batch=16, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    images = replace(drawn, x=drawn.x.double())
    torch.manual_seed(1)
    with torch.no_grad():
        mu, log_var = method.encoder(images.x).chunk(2, -1)
        z = mu + (log_var / 2).exp() * torch.randn_like(mu)
    exchanged = torch.cat([z[torch.randperm(16), first : first + 2] for first in (0, 2, 4)], 1)
    expected = F.cross_entropy(method.critic(torch.cat([z, exchanged])), torch.tensor([0] * 16 + [1] * 16))
    torch.manual_seed(1)
    found, parameters = method.losses(images, 0)["critic"].value, list(method.critic.parameters())
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-12)
