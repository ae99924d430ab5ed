"""L_VAE against each set by itself, written out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from unbraid.data.batch import TargetBackground
from unbraid.methods.two_set_bound import bound_terms
from unbraid.nets import autoencoders as nets


class Narrow(nn.Module):
    """A posterior so narrow that a sample is its mean."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        mu = self.mean(x.flatten(1))
        return torch.cat([mu, torch.full_like(mu, -60.0)], -1)


def test_the_salient_code_of_a_background_is_neither_drawn_nor_paid_for() -> None:
    encoder, decoder = Narrow(), nets.decoder("dense", (1, 4, 4), 5, width=2, likelihood="bernoulli")
    x, y = torch.rand(7, 1, 4, 4), torch.rand(7, 1, 4, 4)
    found = bound_terms(encoder, decoder, TargetBackground(torch.arange(7), x, y), salient=2)
    rec, kl = torch.zeros(()), torch.zeros(())
    for images, first in ((x, 0), (y, 2)):
        mu = encoder.mean(images.flatten(1))
        drawn = torch.cat([torch.zeros(7, first), mu[:, first:]], 1)
        logits = decoder(drawn)
        rec = rec + nn.functional.binary_cross_entropy_with_logits(logits, images, reduction="sum") / 7
        kl = kl + kl_divergence(Normal(mu[:, first:], torch.tensor(-30.0).exp()), Normal(0.0, 1.0)).sum() / 7
    torch.testing.assert_close(found.rec, rec)
    torch.testing.assert_close(found.kl, kl)
    torch.testing.assert_close(found.z_y, encoder.mean(y.flatten(1))[:, 2:])
    torch.testing.assert_close(found.s_x, encoder.mean(x.flatten(1))[:, :2])
    torch.testing.assert_close(found.mu_s_y, encoder.mean(y.flatten(1))[:, :2])
