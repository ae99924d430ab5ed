from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.methods.labelled import batch, build, trained_gradients
from unbraid.methods.cai import CAI


def test_cai_s_encoder_descends_the_class_and_ascends_the_critics() -> None:
    """Against two gradients taken apart, with an explicit minus."""
    method = build(CAI, gamma=2.5, latents=8, critic_width=6)
    h = F.relu(method.encoder(batch().x))
    ce = F.cross_entropy(method.classifier(h), batch().y)
    told = torch.stack([F.cross_entropy(method.critics[i](h), batch().s[:, i]) for i in (0, 1)]).sum()
    encoder, critic = list(method.encoder.parameters()), list(method.critics.parameters())
    explicit = torch.autograd.grad(ce - 2.5 * told, encoder, retain_graph=True)
    critics = torch.autograd.grad(told, critic)
    for a, b in zip(trained_gradients(method, encoder), explicit, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)
    again = build(CAI, gamma=2.5, latents=8, critic_width=6)
    for a, b in zip(trained_gradients(again, list(again.critics.parameters())), critics, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)
