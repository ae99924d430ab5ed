"""What all classifiers have in common."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.methods.labelled import SPEC, batch, build, losses
from unbraid import catalogue
from unbraid.errors import UserError
from unbraid.methods.cnn import CNN


@pytest.mark.parametrize("name", ["cnn", "beta_vae_classifier", "cai", "cvib", "uai", "vfae", "swap_vae", "supcon"])
def test_classifiers_give_logits_in_the_order_of_the_images_and_refuse_sets_without_classes(name: str) -> None:
    kind = catalogue.find("methods", name).load()
    method, x = build(kind).eval(), batch().x
    with torch.no_grad():
        logits = method.classify(x)
        torch.testing.assert_close(method.classify(x.flip(0)), logits.flip(0))
    assert logits.shape == (12, 3)
    assert logits.std(0).min() > 0
    with pytest.raises(UserError, match="class"):
        kind(type(SPEC)(SPEC.shape, SPEC.n_train, 0, SPEC.nuisances))
    if name in ("cai", "cvib", "vfae"):
        with pytest.raises(UserError, match="nuisances"):
            kind(type(SPEC)(SPEC.shape, SPEC.n_train, SPEC.classes))


class Told(nn.Module):
    """A classifier that gives these logits, whatever it sees."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, z: Tensor) -> Tensor:
        return self.logits


def test_cnn_logs_the_share_of_images_whose_largest_logit_is_their_class() -> None:
    method, y, told = build(CNN, latents=8), batch().y, torch.zeros(12, 3)
    logits = method.classifier(method.encoder(batch().x).clamp(min=0))
    assert losses(method)["model"].value.item() == pytest.approx(F.cross_entropy(logits, y).item(), rel=1e-6)
    for i in range(12):  # five guesses are wrong
        guess = (int(y[i]) + (i < 5)) % 3
        told[i, guess], told[i, (guess + 1) % 3] = 2.0, -1.0
    method.classifier = Told(told)
    found = losses(method)["model"]
    assert found.terms["accuracy"].item() == pytest.approx(7 / 12)
    expected = math.log(math.exp(2) + 1 + math.exp(-1)) - 7 * 2 / 12
    assert found.value.item() == found.terms["ce"].item() == pytest.approx(expected, rel=1e-6)
