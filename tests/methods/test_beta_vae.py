from __future__ import annotations

import torch
from torch import nn

from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.methods.beta_vae import BetaVAE
from unbraid.nets.autoencoders import Decoder
from unbraid.train.trainer import Trainer


def test_more_beta_leaves_fewer_nats_in_the_code_and_a_large_one_none() -> None:
    """A linear world of one relevant direction: the KL at the optimum falls with beta."""
    kept = []
    for beta in (0.1, 1.0, 50.0):
        torch.manual_seed(0)
        method = BetaVAE(Spec((1, 8, 8), 100), beta=beta, latents=2, lr=1e-2)
        method.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
        method.decoder = Decoder(nn.Sequential(nn.Linear(2, 64), nn.Unflatten(1, (1, 8, 8))), "bernoulli")
        trainer = Trainer(method)
        for step in range(300):
            torch.manual_seed(step)
            x = torch.zeros(64, 1, 8, 8)
            x[torch.rand(64) < 0.5] = 1
            record = trainer.step(Images(torch.arange(64), x), step)
        kept.append(record["kl"].item())
    assert kept[0] > kept[1] > kept[2]
    assert kept[1] > 0.69 / 2  # at least half of the bit is worth its price
    assert kept[2] < 0.05
