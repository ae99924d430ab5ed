from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tests.methods.labelled import batch, build, losses, trained_gradients
from unbraid.methods.supcon import SupCon


def test_the_loss_is_the_mean_over_anchors_and_their_positives() -> None:
    method, seen = build(SupCon, temperature=0.3, latents=5), batch()
    z = method.encoder(seen.x).detach().double()
    z, y = (z / z.norm(dim=1, keepdim=True)).tolist(), seen.y.tolist()
    each = []
    for i in range(12):
        likeness = {j: math.exp(sum(a * b for a, b in zip(z[i], z[j], strict=True)) / 0.3) for j in range(12) if j != i}
        positives = [j for j in likeness if y[j] == y[i]]
        each.append(-sum(math.log(likeness[j] / sum(likeness.values())) for j in positives) / len(positives))
    assert losses(method)["model"].value.item() == pytest.approx(sum(each) / 12, rel=1e-5)


def test_the_classifier_sees_directions_and_does_not_move_the_encoder() -> None:
    method, seen = build(SupCon, latents=5), batch()
    z = F.normalize(method.encoder(seen.x), dim=1)
    expected = F.cross_entropy(z @ method.classifier.weight.T + method.classifier.bias, seen.y)
    assert losses(method)["classifier"].value.item() == pytest.approx(expected.item(), rel=1e-6)
    losses(method)["model"].value.backward()
    alone = [parameter.grad.clone() for parameter in method.encoder.parameters()]
    for got, wanted in zip(trained_gradients(method, method.encoder.parameters()), alone, strict=True):
        torch.testing.assert_close(got, wanted)
