from __future__ import annotations

import pytest
import torch.nn.functional as F

from tests.methods.labelled import batch, build, losses
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.beta_vae_classifier import BetaVAEClassifier


def test_the_classifying_beta_vae_is_the_beta_vae_plus_cross_entropy_of_the_mean() -> None:
    method = build(BetaVAEClassifier, beta=3.0, weight=7.0, latents=6)
    plain = build(BetaVAE, beta=3.0, latents=6)
    plain.encoder.load_state_dict(method.encoder.state_dict())
    plain.decoder.load_state_dict(method.decoder.state_dict())
    mu = method.encoder(batch().x)[:, :6]
    ce = F.cross_entropy(method.classifier(mu), batch().y)
    expected = losses(plain)["model"].value + 7 * ce
    assert losses(method)["model"].value.item() == pytest.approx(expected.item(), rel=1e-5)
