from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.methods.labelled import batch, build, losses
from unbraid.errors import UserError
from unbraid.methods.uai import UAI
from unbraid.train.trainer import Trainer


def test_uai_alternates_and_neither_player_moves_the_other() -> None:
    method = build(UAI, adversary_steps=2)
    assert [list(losses(method, step)) for step in range(4)] == [["model"], ["adversary"], ["adversary"], ["model"]]
    theirs = [*method.f1.parameters(), *method.f2.parameters()]
    ours = [p for p in method.parameters() if all(p is not q for q in theirs)]
    for step, still in ((0, theirs), (1, ours)):
        before = [p.detach().clone() for p in still]
        Trainer(method).step(batch(), step)
        assert all(torch.equal(a, b) for a, b in zip(before, still, strict=True))


def test_uai_s_model_makes_the_disentanglers_predict_noise_on_the_whole_range_of_tanh() -> None:
    method = build(UAI, predict=2.0, reconstruct=300.0, apart=5.0, predictive=4, nuisance=6, drop=0.5)
    e = torch.tanh(method.encoder(batch().x))
    p, n = e[:, :4], e[:, 4:]
    torch.manual_seed(1)
    u, v = 2 * torch.rand(12, 6) - 1, 2 * torch.rand(12, 4) - 1
    hidden = F.dropout(p, 0.5)
    ce = F.cross_entropy(method.classifier(p), batch().y)
    rec = ((torch.sigmoid(method.decoder(torch.cat([hidden, n], 1))) - batch().x) ** 2).mean()
    noise = ((method.f1(p) - u) ** 2).mean() + ((method.f2(n) - v) ** 2).mean()
    expected, found = 2 * ce + 300 * rec + 5 * noise, losses(method)["model"].value
    assert u.min() < -0.5
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    encoder = list(method.encoder.parameters())
    for a, b in zip(*(torch.autograd.grad(v, encoder, retain_graph=True) for v in (found, expected)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-6)
    adversary = ((method.f1(p) - n) ** 2).mean() + ((method.f2(n) - p) ** 2).mean()
    assert losses(method, 1)["adversary"].value.item() == pytest.approx(adversary.item(), rel=1e-5)


def test_uai_decodes_p_before_n_and_hides_nothing() -> None:
    method = build(UAI, predictive=4, nuisance=6, drop=0.5)
    e = torch.tanh(method.encoder(batch().x))
    blocks = method.encode(batch().x)
    assert torch.equal(blocks["p"], e[:, :4])
    assert torch.equal(blocks["n"], e[:, 4:])
    torch.testing.assert_close(method.decode(blocks), torch.sigmoid(method.decoder(e)), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predictive": 0}, "predictive of uai must be 1 or more, not 0"),
        ({"nuisance": 0}, "nuisance of uai must be 1 or more, not 0"),
        ({"drop": 2.0}, "drop of uai must be from 0 to 1, not 2"),
        ({"drop": 1.0}, "drop of uai must be less than 1"),
        ({"drop": -0.1}, "drop of uai must be from 0 to 1, not -0.1"),
    ],
)
def test_uai_refuses_a_missing_part_and_chances_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(UAI, **given)
    build(UAI, predictive=1, nuisance=1, drop=0.0)
