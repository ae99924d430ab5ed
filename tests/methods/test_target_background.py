"""The mathematics of the methods for a target and a background set."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.toys import Squares
from unbraid.data.batch import TargetBackground
from unbraid.data.sample import sampler
from unbraid.methods.contract import Method
from unbraid.methods.cvae import CVAE
from unbraid.methods.rb_vae import RbVAE
from unbraid.methods.salient_vae import SalientVAE
from unbraid.methods.srb_vae import SRbVAE
from unbraid.train import Trainer

TABLE = Squares()
SMALL: dict[str, Any] = {"net": "dense", "width": 2, "common": 4, "salient": 3}
B = 8


def batch() -> TargetBackground:
    drawn = sampler(TABLE, TargetBackground, batch=B, seed=0)(0).on("cpu")
    assert isinstance(drawn, TargetBackground)
    return drawn


def build(kind: type[Method[TargetBackground]], **arguments: Any) -> Any:
    torch.manual_seed(0)
    return kind(TABLE.spec, **SMALL, **arguments)


def loss(method: Any, of: TargetBackground | None = None) -> dict[str, Any]:
    torch.manual_seed(1)
    return dict(method.losses(of or batch(), 0))


class Told(nn.Module):
    """An encoder that gives what it was told, so that losses can be computed by hand."""

    def __init__(self, outputs: Tensor) -> None:
        super().__init__()
        self.outputs = nn.Parameter(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.outputs


def told(method: Any) -> tuple[Tensor, Tensor]:
    """Gives the method means and log variances of its own, targets first."""
    torch.manual_seed(5)
    outputs = torch.randn(2 * B, 14)
    method.encoder = Told(outputs)
    return outputs[:, :7], outputs[:, 7:]


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


def test_the_salient_penalty_is_the_squared_mean_plus_the_variance() -> None:
    method = build(SalientVAE, lambda_s=7.0, lambda_z=0.0)
    mu, log_var = told(method)
    expected = sum((mu[i, :3] ** 2).sum() + log_var[i, :3].exp().sum() for i in range(B, 2 * B)) / B
    without = build(SalientVAE, lambda_s=0.0, lambda_z=0.0)
    told(without)
    added = loss(method)["model"].value - loss(without)["model"].value
    assert added.item() == pytest.approx(7 * float(expected), rel=1e-4)


def test_the_transport_term_is_between_sampled_common_codes_and_moves_both_sets() -> None:
    """With variance almost 0 and one set a shifted copy of the other, W2^2 is the shift's square."""
    method, shift = build(SalientVAE, lambda_s=0.0, lambda_z=5.0), torch.tensor([1.0, -2.0, 0.5, 0.0])
    mu, log_var = torch.randn(2 * B, 7), torch.full((2 * B, 7), -30.0)
    order = torch.randperm(B)
    mu[B:, 3:] = mu[order, 3:] + shift
    method.encoder = Told(torch.cat([mu, log_var], 1))
    found = loss(method)["model"]
    assert found.terms["w2"].item() == pytest.approx(5.25, rel=1e-4)
    without = build(SalientVAE, lambda_s=0.0, lambda_z=0.0)
    without.encoder = method.encoder
    (difference,) = torch.autograd.grad(found.value - loss(without)["model"].value, method.encoder.outputs)
    torch.testing.assert_close(difference[:B, 3:7], (-2 * 5 * shift / B).expand(B, 4), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(difference[B:, 3:7], (2 * 5 * shift / B).expand(B, 4), rtol=1e-3, atol=1e-3)
    assert difference[:, :3].abs().max() < 1e-3


@pytest.mark.parametrize("kind", [CVAE, SRbVAE])
def test_the_critic_moves_its_own_weights_alone_and_lowers_its_own_loss(kind: type[Method[TargetBackground]]) -> None:
    """An honest adversary: the critic's step makes its loss smaller, and no weight of the model follows it."""
    method = build(kind, critic_width=16, critic_lr=1e-2, lr=0.0)
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
    method = build(kind, critic_width=16, critic_lr=0.0, lr=1e-2, **{weight: 1e6})
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

    for step in range(800):
        adam.param_groups[0]["lr"] = 5e-3 * (1 - step / 800)
        s, z = draw(512)
        value = F.softplus(-method._logit(s, z)).mean() + F.softplus(method._logit(s[torch.randperm(512)], z)).mean()
        adam.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        adam.step()
    with torch.no_grad():
        assert method._logit(*draw(50_000)).mean().item() == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.06)


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


def test_a_decoder_takes_salient_before_common() -> None:
    method = build(SalientVAE).eval()
    x = batch().target
    with torch.no_grad():
        blocks = method.encode(x)
        mu = method.encoder(x).chunk(2, -1)[0]
        assert torch.equal(torch.cat([blocks["s"], blocks["z"]], 1), mu)
        torch.testing.assert_close(method.decode(blocks), method.decoder.mean(mu))
    assert list(blocks) == ["s", "z"]
