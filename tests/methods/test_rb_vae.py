"""The loss that all methods for two sets begin with, and that they are it without their own terms."""

from __future__ import annotations

import math

import pytest
import torch

from tests.methods.two_sets import B, batch, build, loss, told
from unbraid.methods.cvae import CVAE
from unbraid.methods.rb_vae import RbVAE
from unbraid.methods.salient_vae import SalientVAE
from unbraid.methods.srb_vae import SRbVAE


def test_l_vae_is_the_equation_set_by_set() -> None:
    """Each set alone, each sample in turn, in the letters of Eq. 3; the noise is drawn by hand."""
    method = build(RbVAE, beta=3.0)
    mu, log_var = told(method)
    torch.manual_seed(1)
    code = mu + log_var.exp().sqrt() * torch.randn(2 * B, 7)
    total = 0.0
    for i in range(2 * B):
        image = batch().target[i] if i < B else batch().background[i - B]
        own = code[i].clone()
        kl = 0.5 * (mu[i] ** 2 + log_var[i].exp() - log_var[i] - 1)
        if i >= B:
            own[:3] = 0
            kl = kl[3:]
        residual = (image - torch.sigmoid(method.decoder(own[None])[0])).square().sum() / (2 * 0.1**2)
        nll = residual + 144 * math.log(0.1 * math.sqrt(2 * math.pi))
        total += (nll + 3 * kl.sum()).item() / B
    assert loss(method)["model"].value.item() == pytest.approx(total, rel=1e-5)


def test_without_their_penalties_all_are_rb_vae() -> None:
    expected = loss(build(RbVAE))["model"].value.item()
    for kind, off in (
        (SalientVAE, {"lambda_s": 0.0, "lambda_z": 0.0}),
        (CVAE, {"lambda_tc": 0.0}),
        (SRbVAE, {"lambda_sym": 0.0}),
    ):
        assert loss(build(kind, **off))["model"].value.item() == pytest.approx(expected, rel=1e-6)


def test_rb_vae_leaves_the_salient_code_of_backgrounds_free_and_salient_vae_does_not() -> None:
    for kind, pulled in ((RbVAE, False), (SalientVAE, True)):
        method = build(kind)
        told(method)
        (gradient,) = torch.autograd.grad(loss(method)["model"].value, method.encoder.outputs)
        free = torch.cat([gradient[B:, :3], gradient[B:, 7:10]])
        assert bool((free != 0).all()) is pulled
        assert (gradient[:B] != 0).all()
