from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.toys import Squares
from unbraid.data.batch import Pairs
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.maths.contrast import supcon
from unbraid.maths.divergence import DIVERGENCES
from unbraid.methods.swap_vae import SwapVAE
from unbraid.train.trainer import Trainer

TABLE = Squares()


def build(**arguments: Any) -> SwapVAE:
    torch.manual_seed(0)
    return SwapVAE(TABLE.spec, **{"width": 4, "predictive": 3, "nuisance": 5, **arguments})


def pairs(n: int = 12, changed: int = 2) -> Pairs:
    batch = sampler(TABLE, Pairs, batch=n, seed=0, changed=changed)(0).on("cpu")
    assert isinstance(batch, Pairs)
    return batch


def terms(method: SwapVAE, batch: Pairs, step: int = 0) -> dict[str, float]:
    torch.manual_seed(1)
    return {name: term.item() for name, term in method.losses(batch, step)["model"].terms.items()}


def test_the_number_of_swapped_dimensions_grows_with_the_steps() -> None:
    method, batch = build(amount_steps=100), pairs(changed=1)
    mu, log_var = torch.randn(24, 8), torch.randn(24, 8)
    counts = [int(method._swapped(mu, log_var, batch, step)[0, 3:].sum()) for step in (0, 33, 34, 67, 100, 1000)]
    assert counts == [1, 1, 2, 3, 4, 4]


@pytest.mark.parametrize("divergence", ["kl", "jsd", "jsd_exact"])
def test_swapped_dimensions_are_the_right_ones(divergence: Any) -> None:
    """Pair by pair: n where the divergence is not among the k largest, p where both images have one class."""
    method, batch = build(divergence=divergence), pairs(changed=2)
    mu, log_var = torch.randn(24, 8), torch.randn(24, 8)
    found = method._swapped(mu, log_var, batch, 0)
    for i in range(12):
        distance = [
            DIVERGENCES[divergence](mu[i, j], log_var[i, j], mu[i + 12, j], log_var[i + 12, j]) for j in range(3, 8)
        ]
        changed = sorted(range(5), key=lambda j: -float(distance[j]))[:2]
        assert found[i, 3:].tolist() == [j not in changed for j in range(5)]
        assert found[i, :3].tolist() == [bool(batch.y[i] >= 0)] * 3
    assert 0 < (batch.y >= 0).sum() < 12


class Perfect(torch.nn.Module):
    """Light, side, x and y of a square in one dimension of n each (p has the side too), with hardly any noise."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = x[:, 0] > 0
        factors = [
            x.amax((1, 2, 3)),
            inside.sum((1, 2)).sqrt(),
            inside.any(1).float().argmax(1),
            inside.any(2).float().argmax(1),
        ]
        light, side, left, top = (factor.float() for factor in factors)
        zero = torch.zeros_like(light)
        mu = torch.stack([side, side, side, light, side, left, top, zero], 1)
        return torch.cat([mu, torch.full_like(mu, -40.0)], 1)


def test_with_perfect_codes_the_swap_changes_nothing() -> None:
    """Also where p may be exchanged; a code in which one factor moves two dimensions is found out."""
    batch, method = pairs(64, changed=1), build()
    with torch.no_grad():
        for parameter in method.decoder.parameters():
            parameter.mul_(3)
    method.encoder = Perfect()
    assert terms(method, batch)["swap"] == pytest.approx(0, abs=1e-3)
    worse = Pairs(batch.index, batch.x1, batch.x2, batch.k, torch.zeros_like(batch.y))  # the class is not shared
    assert terms(method, worse)["swap"] > 0.1


def test_where_everything_changed_and_the_class_too_nothing_is_swapped() -> None:
    batch, method = pairs(), build()
    all_changed = Pairs(batch.index, batch.x1, batch.x2, torch.full_like(batch.k, 5), torch.full_like(batch.y, -1))
    found = terms(method, all_changed)
    assert found["swap"] == pytest.approx(0, abs=1e-4)
    assert found["contrast"] == 0
    assert found["average"] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_changed_code_is_compared_with_the_drawing_or_with_the_input(likelihood: str) -> None:
    method, against_input = (build(likelihood=likelihood, compare_with=with_) for with_ in ("reconstruction", "input"))
    code, image, x = torch.randn(3, 8), torch.randn(3, 1, 12, 12), torch.rand(3, 1, 12, 12)
    new = method.decoder(code)
    expected = method.decoder.divergence_of(new, image).mean().item()
    assert method._difference(code, image, x).item() == pytest.approx(expected)
    assert against_input._difference(code, image, x).item() == pytest.approx(
        method.decoder.nll_of(new, x).mean().item()
    )


@pytest.mark.parametrize("contrast_of", ["sample", "mean"])
def test_the_loss_is_the_weighted_sum_of_its_terms_and_each_is_what_it_says(contrast_of: str) -> None:
    method, batch = build(alpha=2.0, beta=3.0, gamma=5.0, contrast_of=contrast_of).double(), pairs()
    batch = replace(batch, x1=batch.x1.double(), x2=batch.x2.double())
    with torch.no_grad():
        method.encoder[-1].weight.mul_(40)  # type: ignore[index]  # codes that differ within classes,
        next(method.decoder.parameters()).mul_(20)  # and are seen in images
    x, y = torch.cat([batch.x1, batch.x2]), batch.y.repeat(2)
    with torch.no_grad():
        mu, log_var = method.encoder(x).chunk(2, -1)
        torch.manual_seed(1)
        noise = torch.randn_like(mu)
        z = mu + (log_var / 2).exp() * noise
        drawn = method.decoder(z)
        rec = F.binary_cross_entropy_with_logits(drawn, x, reduction="sum") / 24
        kl = 0.5 * (mu**2 + log_var.exp() - log_var - 1).sum() / 24
        p = z.clone()
        for i in range(24):
            of = [j for j in range(24) if y[j] == y[i]] if y[i] >= 0 else [i]
            p[i, :3] = mu[of, :3].mean(0) + log_var[of, :3].exp().mean(0).sqrt() * noise[i, :3]
        average = method._difference(p, drawn, x)
        contrast = supcon((z if contrast_of == "sample" else mu)[y >= 0, :3], y[y >= 0], 0.1)
    found = terms(method, batch)
    expected = {"rec": rec, "kl": kl, "average": average, "contrast": contrast}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value.item(), rel=1e-9), name
    torch.manual_seed(1)
    total = method.losses(batch, 0)["model"].value.item()
    assert total == pytest.approx(float(rec + kl + 3 * contrast + 5 * average) + 2 * found["swap"], rel=1e-9)
    assert min(5 * float(average), 3 * float(contrast), 2 * found["swap"]) > 1e-6 * total  # otherwise nothing is tested


@pytest.mark.parametrize("compare_with", ["reconstruction", "input"])
def test_the_swap_term_is_a_loop_over_pairs_and_moves_encoder_and_decoder(compare_with: str) -> None:
    """Drawn codes are exchanged, noise and all, and nothing is held fixed: neither the codes nor the first image."""
    method, batch = build(alpha=7.0, beta=0.0, gamma=0.0, compare_with=compare_with).double(), pairs()
    batch = replace(batch, x1=batch.x1.double(), x2=batch.x2.double(), k=torch.arange(12) % 4 + 1)
    with torch.no_grad():
        method.encoder[-1].weight.mul_(40)  # type: ignore[index]
    x = torch.cat([batch.x1, batch.x2])
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    z = mu + (log_var / 2).exp() * torch.randn_like(mu)
    rows: list[torch.Tensor] = [*z]
    for i in range(12):
        one, other = (torch.distributions.Normal(mu[j], (log_var[j] / 2).exp()) for j in (i, i + 12))
        apart = torch.distributions.kl_divergence(one, other).tolist()
        kept = sorted(range(3, 8), key=lambda d: -apart[d])[: int(batch.k[i])]
        kept += [] if batch.y[i] >= 0 else [0, 1, 2]
        for j, partner in ((i, i + 12), (i + 12, i)):
            rows[j] = torch.stack([z[j if d in kept else partner, d] for d in range(8)])
    a, b = torch.sigmoid(method.decoder(z)), torch.sigmoid(method.decoder(torch.stack(rows)))
    if compare_with == "reconstruction":
        expected = (a * (a / b).log() + (1 - a) * ((1 - a) / (1 - b)).log()).sum() / 24
    else:
        expected = -(x * b.log() + (1 - x) * (1 - b).log()).sum() / 24
    parameters, gradients = [*method.encoder.parameters(), *method.decoder.parameters()], []
    for alpha in (7.0, 0.0):
        method.alpha = alpha
        torch.manual_seed(1)
        found = method.losses(batch, 0)["model"]
        gradients.append(torch.autograd.grad(found.value, parameters))
    torch.testing.assert_close(found.terms["swap"], expected.detach())
    for ours, without, theirs in zip(*gradients, torch.autograd.grad(7 * expected, parameters), strict=True):
        torch.testing.assert_close(ours - without, theirs, rtol=1e-7, atol=1e-9)


def test_p_is_decoded_before_n() -> None:
    method, x = build(), pairs().x1
    blocks, mu = method.encode(x), method.encoder(x)[:, :8]
    assert torch.equal(blocks["p"], mu[:, :3])
    assert torch.equal(blocks["n"], mu[:, 3:])
    torch.testing.assert_close(method.decode(blocks), torch.sigmoid(method.decoder(mu)), rtol=0, atol=1e-6)


def encoder_gradients(method: SwapVAE, batch: Pairs) -> list[torch.Tensor]:
    torch.manual_seed(1)
    Trainer(method).step(batch, 0)
    return [p.grad.clone() for p in method.encoder.parameters() if p.grad is not None]


def test_in_two_steps_the_classifier_leaves_the_encoder_s_gradient_untouched() -> None:
    batch = pairs()
    other = Pairs(batch.index, batch.x1, batch.x2, batch.k, batch.y)
    plain, changed = build(), build()
    with torch.no_grad():
        changed.classifier.weight.mul_(50)  # type: ignore[union-attr]
    for a, b in zip(encoder_gradients(plain, batch), encoder_gradients(changed, other), strict=True):
        assert torch.equal(a, b)
    torch.manual_seed(1)
    loss = build().losses(batch, 0)["classifier"].value
    assert loss.grad_fn is not None
    method = build()
    torch.manual_seed(1)
    found = torch.autograd.grad(
        method.losses(batch, 0)["classifier"].value, list(method.encoder.parameters()), allow_unused=True
    )
    assert all(gradient is None for gradient in found)


def test_jointly_the_classifier_s_loss_reaches_the_encoder() -> None:
    batch = pairs()
    alone, joint = build(two_step=False, weight=0.0), build(two_step=False, weight=1.0)
    without, with_it = encoder_gradients(alone, batch), encoder_gradients(joint, batch)
    method = build(two_step=False)
    y = batch.y.repeat(2)
    mu = method.encoder(torch.cat([batch.x1, batch.x2]))[:, :3]
    assert method.classifier is not None
    units = mu / mu.norm(dim=1, keepdim=True)
    ce = F.cross_entropy(method.classifier(units[y >= 0]), y[y >= 0])
    own = torch.autograd.grad(ce, list(method.encoder.parameters()))
    for a, b, c in zip(with_it, without, own, strict=True):
        torch.testing.assert_close(a, b + c, rtol=1e-3, atol=1e-4)
    assert any((a - b).abs().max() > 1e-3 for a, b in zip(with_it, without, strict=True))


def test_jointly_the_classifier_s_loss_is_added_to_the_others() -> None:
    values = []
    for arguments in ({}, {"two_step": False, "weight": 30.0}):
        torch.manual_seed(0)
        values.append(build(**arguments).losses(pairs(), 0))
    apart, jointly = values
    added = jointly["model"].value - apart["model"].value
    torch.testing.assert_close(added, 30 * apart["classifier"].value, rtol=1e-4, atol=1e-3)


def test_the_classifier_learns_alike_apart_and_jointly() -> None:
    """The same first step, at its own rate, whatever the weight of its loss in the representation's."""
    steps = []
    for arguments in ({}, {"two_step": False, "weight": 30.0}):
        method = build(**arguments)
        assert method.classifier is not None
        before = method.classifier.weight.detach().clone()
        torch.manual_seed(1)
        Trainer(method).step(pairs(), 0)
        steps.append(method.classifier.weight.detach() - before)
    torch.testing.assert_close(steps[0], steps[1])
    assert steps[0].abs().max().item() == pytest.approx(1e-2, rel=0.01)


def test_without_predictive_dimensions_there_is_one_block_and_no_classifier() -> None:
    method = build(predictive=0)
    assert set(method.losses(pairs(), 0)) == {"model"}
    assert list(method.encode(pairs().x1)) == ["n"]
    assert method.classify(pairs().x1) is None


def test_unknown_words_and_sets_without_classes_are_refused() -> None:
    with pytest.raises(UserError, match="divergence"):
        build(divergence="l2")
    with pytest.raises(UserError, match="contrast_of"):
        build(contrast_of="variance")
    with pytest.raises(UserError, match="compare_with"):
        build(compare_with="nothing")
    with pytest.raises(UserError, match="beta of swap_vae must be 0 or more, not -4"):
        build(beta=-4.0)
    spec = TABLE.spec
    nameless = type(spec)(spec.shape, spec.n_train)
    with pytest.raises(UserError, match="--predictive 0"):
        SwapVAE(nameless)
    SwapVAE(nameless, predictive=0)
