"""Methods that predict a class in spite of nuisances: cnn, beta_vae_classifier, cai, cvib, uai, vfae."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.toys import Squares
from unbraid import catalogue
from unbraid.data.batch import Labelled
from unbraid.data.sample import sampler
from unbraid.errors import Problem
from unbraid.maths import gaussian
from unbraid.methods import vfae as vfae_module
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.beta_vae_classifier import BetaVAEClassifier
from unbraid.methods.cai import CAI
from unbraid.methods.cvib import CVIB, kl_between
from unbraid.methods.heads import no_nuisance, one_hot
from unbraid.methods.uai import UAI
from unbraid.methods.vfae import VFAE
from unbraid.train import Trainer

TABLE = Squares()
SPEC = replace(TABLE.spec, nuisances=(*TABLE.spec.nuisances, 3))


def batch(n: int = 12) -> Labelled:
    """With a second nuisance of three values beside the table's own."""
    drawn = sampler(TABLE, Labelled, batch=n, seed=0)(0).on("cpu")
    assert isinstance(drawn, Labelled)
    return replace(drawn, s=torch.stack([drawn.s[:, 0], torch.arange(n) // 2 % 3], 1))


def build(kind: Any, **arguments: Any) -> Any:
    torch.manual_seed(0)
    return kind(SPEC, **{"width": 4, **arguments})


def losses(method: Any, step: int = 0) -> Any:
    torch.manual_seed(1)
    return method.losses(batch(), step)


def trained_gradients(method: Any, parameters: Any, step: int = 0) -> list[torch.Tensor]:
    torch.manual_seed(1)
    Trainer(method).step(batch(), step)
    return [parameter.grad.clone() for parameter in parameters]


@pytest.mark.parametrize("name", ["cnn", "beta_vae_classifier", "cai", "cvib", "uai", "vfae", "swap_vae"])
def test_classifiers_give_logits_in_the_order_of_the_images_and_refuse_sets_without_classes(name: str) -> None:
    kind = catalogue.find("methods", name).load()
    method, x = build(kind).eval(), batch().x
    with torch.no_grad():
        logits = method.classify(x)
        torch.testing.assert_close(method.classify(x.flip(0)), logits.flip(0))
    assert logits.shape == (12, 3)
    assert logits.std(0).min() > 0
    with pytest.raises(Problem, match="class"):
        kind(type(SPEC)(SPEC.shape, SPEC.n_train, 0, SPEC.nuisances))
    if name in ("cai", "cvib", "vfae"):
        with pytest.raises(Problem, match="nuisances"):
            kind(type(SPEC)(SPEC.shape, SPEC.n_train, SPEC.classes))


def test_known_nuisances_are_written_side_by_side() -> None:
    s = torch.tensor([[1, 0], [2, 1]])
    assert one_hot(s, (3, 2)).tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]
    assert no_nuisance(1, (4, 2)).tolist() == [[0.25] * 4 + [0.5] * 2]


def test_the_classifying_beta_vae_is_the_beta_vae_plus_cross_entropy_of_the_mean() -> None:
    method = build(BetaVAEClassifier, beta=3.0, weight=7.0, latents=6)
    plain = build(BetaVAE, beta=3.0, latents=6)
    plain.encoder.load_state_dict(method.encoder.state_dict())
    plain.decoder.load_state_dict(method.decoder.state_dict())
    mu = method.encoder(batch().x)[:, :6]
    ce = F.cross_entropy(method.classifier(mu), batch().y)
    expected = losses(plain)["model"].value + 7 * ce
    assert losses(method)["model"].value.item() == pytest.approx(expected.item(), rel=1e-5)


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


def test_cvib_s_divergence_is_the_mean_over_pairs_of_posteriors() -> None:
    """Each pair on its own too: the log determinants cancel in the mean over all pairs, so a wrong sign would pass."""
    torch.manual_seed(0)
    mu, log_var = torch.randn(5, 3), torch.randn(5, 3)
    total = 0.0
    for i in range(5):
        for j in range(5):
            for d in range(3):
                ratio = math.exp(log_var[i, d] - log_var[j, d])
                shift = float((mu[i, d] - mu[j, d]) ** 2) / math.exp(log_var[j, d])
                pair = 0.5 * (ratio + shift - 1 - math.log(ratio))
                total += pair
                found = gaussian.kl(mu[i, d], log_var[i, d], mu[j, d], log_var[j, d])
                assert found.item() == pytest.approx(pair, rel=1e-4, abs=1e-6)
    assert kl_between(mu, log_var).item() == pytest.approx(total / 25, rel=1e-5)
    assert kl_between(mu[:1].expand(4, 3), log_var[:1].expand(4, 3)).item() == pytest.approx(0, abs=1e-6)


def test_cvib_s_loss_is_its_equation_and_its_decoder_is_told_the_nuisance() -> None:
    method = build(CVIB, beta=0.3, reconstruction=0.2, latents=6)
    x, y, s = batch().x, batch().y, batch().s
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    z = mu + (log_var / 2).exp() * torch.randn(12, 6)
    ce = F.cross_entropy(method.classifier(z), y)
    nuisance = torch.cat([torch.eye(4)[s[:, 0]], torch.eye(3)[s[:, 1]]], 1)
    rec = F.binary_cross_entropy_with_logits(method.decoder(torch.cat([z, nuisance], 1)), x, reduction="sum") / 12
    expected = ce + 0.2 * rec + 0.5 * kl_between(mu, log_var)
    assert losses(method)["model"].value.item() == pytest.approx(expected.item(), rel=1e-5)


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


def vfae(**arguments: Any) -> VFAE:
    method: VFAE = build(VFAE, latents=5, hidden=7, **arguments)
    with torch.no_grad():  # a code that differs from its prior
        method.encoder[-1].weight.mul_(8)  # type: ignore[index]
    return method


def test_vfae_s_loss_is_its_equation_from_the_inferred_code() -> None:
    """x is drawn from the inferred z1 and s; z = mu + sigma eps; log q(z1|x) - log p(z1|z2,y), not the reverse."""
    method, x, y, s = vfae(alpha=2.0, beta=0.0), batch().x, batch().y, batch().s
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    z1 = mu + (log_var / 2).exp() * torch.randn(12, 5)
    label = torch.eye(3)[y]
    mu2, log_var2 = method.to_z2(torch.cat([z1, label], 1)).chunk(2, -1)
    z2 = mu2 + (log_var2 / 2).exp() * torch.randn(12, 5)
    prior_mu, prior_log_var = method.to_z1(torch.cat([z2, label], 1)).chunk(2, -1)
    nuisance = torch.cat([torch.eye(4)[s[:, 0]], torch.eye(3)[s[:, 1]]], 1)
    rec = F.binary_cross_entropy_with_logits(method.decoder(torch.cat([z1, nuisance], 1)), x, reduction="sum") / 12
    q = torch.distributions.Normal(mu, (log_var / 2).exp())
    prior = torch.distributions.Normal(prior_mu, (prior_log_var / 2).exp())
    kl1 = (q.log_prob(z1) - prior.log_prob(z1)).sum() / 12  # type: ignore[no-untyped-call]
    kl2 = 0.5 * (mu2**2 + log_var2.exp() - log_var2 - 1).sum() / 12
    ce = F.cross_entropy(method.classifier(z1), y)
    found, expected = losses(method)["model"], rec + kl1 + kl2 + 2 * ce
    assert found.value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert found.terms["kl1"].item() == pytest.approx(kl1.item(), rel=1e-4)
    parameters = list(method.parameters())
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found.value, expected)), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_vfae_s_first_divergence_is_that_of_the_posterior_from_its_prior() -> None:
    """Where the prior does not depend on z2 the mean over draws is the closed KL(q || p), which KL(p || q) is not."""
    method = vfae()
    with torch.no_grad():
        last = list(method.to_z1.parameters())
        last[-2].zero_()
        last[-1].copy_(torch.tensor([0.5] * 5 + [1.0] * 5))
        mu, log_var = method.encoder(batch().x).chunk(2, -1)
        right, wrong = (
            gaussian.kl(*pair).sum(-1).mean().item()
            for pair in (
                (mu, log_var, torch.full_like(mu, 0.5), torch.full_like(mu, 1.0)),
                (torch.full_like(mu, 0.5), torch.full_like(mu, 1.0), mu, log_var),
            )
        )
        draws = []
        for seed in range(400):
            torch.manual_seed(seed)
            draws.append(method.losses(batch(), 0)["model"].terms["kl1"].item())
    assert sum(draws) / 400 == pytest.approx(right, rel=0.03)
    assert abs(wrong - right) > 0.1 * right


def test_vfae_s_hidden_layers_bend() -> None:
    """Without its activation a network of two layers would be linear."""
    for net in (vfae().to_z1, vfae().to_z2):
        a, b = torch.randn(2, 6, 8).unbind(0)
        zero = net(torch.zeros(6, 8))
        assert not torch.allclose(net(a + b) - zero, (net(a) - zero) + (net(b) - zero), atol=1e-3)


def test_vfae_compares_the_codes_of_every_nuisance(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def spy(z: torch.Tensor, group: torch.Tensor, **_: Any) -> torch.Tensor:
        seen.append((z, group))
        return z.sum() * 0 + 1

    monkeypatch.setattr(vfae_module, "group_mmd", spy)
    found = losses(vfae(beta=9.0))["model"]
    without = losses(vfae(beta=0.0))["model"]
    assert found.value.item() - without.value.item() == pytest.approx(2 * 9, rel=1e-3)
    assert torch.equal(torch.stack([group for _, group in seen[:2]], 1), batch().s)
