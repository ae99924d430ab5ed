from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.methods.two_sets import TABLE, B, batch, build, loss
from unbraid.data.batch import TargetBackground
from unbraid.methods.contract import Method
from unbraid.methods.cvae import CVAE
from unbraid.methods.rb_vae import RbVAE
from unbraid.methods.srb_vae import SRbVAE
from unbraid.nets.critics import log_odds
from unbraid.train.trainer import Trainer


@pytest.mark.parametrize("kind", [CVAE, SRbVAE])
def test_the_critic_moves_its_own_weights_alone_and_lowers_its_own_loss(kind: type[Method[TargetBackground]]) -> None:
    """An honest adversary: the critic's step makes its loss smaller, and no weight of the model follows it."""
    method = build(kind, critic_width=16, critic_lr=1e-2)
    method.lr = 0.0
    before = [p.detach().clone() for p in [*method.encoder.parameters(), *method.decoder.parameters()]]
    trainer, start = Trainer(method), loss(method)["critic"].value.item()
    for _ in range(60):
        torch.manual_seed(1)
        trainer.step(batch(), 0)
    assert loss(method)["critic"].value.item() < 0.9 * start
    after = [*method.encoder.parameters(), *method.decoder.parameters()]
    assert all(torch.equal(old, new) for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize(("kind", "weight", "term"), [(CVAE, "lambda_tc", "tc"), (SRbVAE, "lambda_sym", "symmetry")])
def test_the_model_works_against_the_critic(kind: type[Method[TargetBackground]], weight: str, term: str) -> None:
    """cVAE's model lowers the logit of its codes; sRbVAE's raises that of what it draws, so its negative falls."""
    method = build(kind, critic_width=16, lr=1e-2, **{weight: 1e6})
    method.critic_lr = 0.0
    trainer, start = Trainer(method), loss(method)["model"].terms[term].item()
    for _ in range(60):
        torch.manual_seed(1)
        trainer.step(batch(), 0)
    assert loss(method)["model"].terms[term].item() < start - 0.05


def test_the_critic_of_cvae_tells_joint_codes_from_shuffled_ones() -> None:
    """Its gradient is that of a classifier whose first class is "joint"."""
    method = build(CVAE, critic_width=16)
    parameters = list(method.critic.parameters())
    found = torch.autograd.grad(loss(method)["critic"].value, parameters)
    x = torch.cat([batch().target, batch().background])
    mu, log_var = method.encoder(x).chunk(2, -1)
    torch.manual_seed(1)
    code = (mu + (0.5 * log_var).exp() * torch.randn_like(mu))[:B].detach()
    shuffled = torch.cat([code[torch.randperm(B), :3], code[:, 3:]], 1)
    logits, truth = method.critic(torch.cat([code, shuffled])), torch.tensor([0] * B + [1] * B)
    expected = torch.autograd.grad(2 * F.cross_entropy(logits, truth), parameters)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-6)


def test_a_trained_critic_of_cvae_measures_the_dependence_of_the_blocks() -> None:
    """s = rho z + ... in one dimension each: KL(q(z,s) || q(z) q(s)) = -log(1 - rho^2) / 2; a linear one sees none."""
    rho = 0.8
    torch.manual_seed(0)
    method = CVAE(TABLE.spec, net="dense", width=2, common=1, salient=1, critic_width=64)
    adam = torch.optim.Adam(method.critic.parameters(), 3e-3)

    def draw(n: int) -> tuple[Tensor, Tensor]:
        z, noise = torch.randn(2, n, 1)
        return rho * z + math.sqrt(1 - rho**2) * noise, z

    def logit(s: Tensor, z: Tensor) -> Tensor:
        return log_odds(method.critic(torch.cat([s, z], 1)))

    for step in range(800):
        adam.param_groups[0]["lr"] = 5e-3 * (1 - step / 800)
        s, z = draw(512)
        value = F.softplus(-logit(s, z)).mean() + F.softplus(logit(s[torch.randperm(512)], z)).mean()
        adam.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        assert logit(*draw(50_000)).mean().item() == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.06)


def test_the_model_of_cvae_adds_the_mean_logit_of_its_codes_to_rb_vae() -> None:
    method, without = build(CVAE, critic_width=16, lambda_tc=1000.0), build(RbVAE)
    encoder = list(method.encoder.parameters())
    mu, log_var = method.encoder(torch.cat([batch().target, batch().background])).chunk(2, -1)
    torch.manual_seed(1)
    code = (mu + (log_var / 2).exp() * torch.randn(2 * B, 7))[:B]
    logits = method.critic(code)
    tc = sum(logits[i, 0] - logits[i, 1] for i in range(B)) / B
    found, plain = loss(method)["model"], loss(without)["model"].value
    torch.testing.assert_close(found.terms["tc"], tc, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(found.value, plain + 1000 * tc, rtol=1e-6, atol=0)
    expected = zip(
        torch.autograd.grad(plain, list(without.encoder.parameters())), torch.autograd.grad(tc, encoder), strict=True
    )
    for ours, (rb, own) in zip(torch.autograd.grad(found.value, encoder), expected, strict=True):
        torch.testing.assert_close(ours, rb + 1000 * own, rtol=1e-4, atol=1e-3)
