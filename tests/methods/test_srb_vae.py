from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.methods.two_sets import B, batch, build, loss
from unbraid.methods.srb_vae import SRbVAE


def test_the_second_kl_of_srb_vae_has_the_gradient_of_the_closed_form() -> None:
    """One pixel, one common and one salient code, all linear and Gaussian, the critics at their best.

    p: s, z ~ N(0, 1), x = w_s s + w_z z + r e; q: x ~ N(0, v), (s, z) | x ~ N(a x, t^2) each. KL(p || q) is a
    polynomial in w and a; its derivatives must be those of the terms that the model minimises.
    """
    w = torch.tensor([0.7, -0.4], requires_grad=True)
    a = torch.tensor([0.3, 0.5], requires_grad=True)
    r, v, t = 0.5, 2.0, 0.8
    joint = (w**2).sum() + r**2  # variance of x under p
    cross = ((1 - a * w) ** 2).sum() + (a**2).sum() * joint - (a**2 * w**2).sum()
    closed = joint / (2 * v) + cross / (2 * t**2)  # KL(p || q) less what depends on neither w nor a
    expected = torch.autograd.grad(closed, (w, a))

    torch.manual_seed(0)
    code, noise = torch.randn(400_000, 2), torch.randn(400_000)
    x = code @ w + r * noise

    def log_q(of_x: Tensor, centre: Tensor) -> Tensor:
        """log q(z, s | x) less constants."""
        return -((code - of_x[:, None] * centre) ** 2).sum(1) / (2 * t**2)

    def d(of_x: Tensor) -> Tensor:
        """The best critic, log q / p, a fixed function of its arguments."""
        log_p = -((of_x - code @ w.detach()) ** 2) / (2 * r**2)
        return -(of_x**2) / (2 * v) + log_q(of_x, a.detach()) - log_p

    symmetry, inverse = -d(x).mean(), -log_q(x.detach(), a).mean()
    found = torch.autograd.grad(symmetry + inverse, (w, a))
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0.02, atol=0.01)


def test_srb_vae_takes_the_two_terms_of_that_gradient() -> None:
    """The decoder's gradient comes from the critics alone, the encoder's from log q of drawn images alone."""
    weight = 1e4  # far above rounding in the other terms
    method, off = build(SRbVAE, critic_width=16, lambda_sym=weight), build(SRbVAE, critic_width=16, lambda_sym=0.0)
    encoder, decoder = list(method.encoder.parameters()), list(method.decoder.parameters())
    found = torch.autograd.grad(loss(method)["model"].value, [*encoder, *decoder])
    plain = torch.autograd.grad(loss(off)["model"].value, [*off.encoder.parameters(), *off.decoder.parameters()])
    added = [(one - other) / weight for one, other in zip(found, plain, strict=True)]
    torch.manual_seed(1)
    torch.randn(2 * B, 7)  # the noise of L_VAE comes first
    prior = torch.randn(2 * B, 7)
    prior[B:, :3] = 0
    drawn = method.decoder.mean(prior)
    logits = method.target(drawn[:B], prior[:B]).mean() + method.background(drawn[B:], prior[B:, 3:]).mean()
    mu, log_var = method.encoder(drawn.detach()).chunk(2, -1)
    log_q = -F.gaussian_nll_loss(mu, prior, log_var.exp(), full=True, reduction="none")
    inverse = log_q[:B].sum(1).mean() + log_q[B:, 3:].sum(1).mean()
    expected = [*torch.autograd.grad(-inverse, encoder), *torch.autograd.grad(-logits, decoder)]
    for ours, theirs in zip(added, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=2e-5)


def test_srb_vae_adds_the_bound_with_the_weight_beta_to_both_terms_of_the_symmetry() -> None:
    found = loss(build(SRbVAE, critic_width=16, beta=1e4, lambda_sym=0.7))["model"]
    terms = {name: value.item() for name, value in found.terms.items()}
    both = 0.7 * (terms["symmetry"] + terms["inverse"])
    assert 1e4 * terms["kl"] > 1e-2 * terms["rec"]  # enough to be seen in the sum
    assert found.value.item() == pytest.approx(terms["rec"] + 1e4 * terms["kl"] + both, rel=1e-5)


def test_the_critics_of_srb_vae_tell_images_with_their_codes_from_drawn_ones_with_codes_of_the_prior() -> None:
    """Of each set on its own: binary cross-entropy, where an image with its code is 1."""
    method = build(SRbVAE, critic_width=16)
    parameters = [*method.target.parameters(), *method.background.parameters()]
    x = torch.cat([batch().target, batch().background])
    torch.manual_seed(1)
    with torch.no_grad():
        mu, log_var = method.encoder(x).chunk(2, -1)
        code, prior = mu + (log_var / 2).exp() * torch.randn(2 * B, 7), torch.randn(2 * B, 7)
        prior[B:, :3] = 0
        drawn = torch.sigmoid(method.decoder(prior))
    truth = torch.tensor([1.0] * B + [0.0] * B)
    of_x = torch.cat([method.target(x[:B], code[:B]), method.target(drawn[:B], prior[:B])])
    of_y = torch.cat([method.background(x[B:], code[B:, 3:]), method.background(drawn[B:], prior[B:, 3:])])
    entropy = torch.nn.BCEWithLogitsLoss(reduction="sum")
    expected, found = (entropy(of_x, truth) + entropy(of_y, truth)) / B, loss(method)["critic"].value
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    for ours, theirs in zip(*(torch.autograd.grad(v, parameters) for v in (found, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-7)
