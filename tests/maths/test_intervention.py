from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from unbraid.maths.intervention import adapted, adversarial, cross_entropy, intervene, mean_one


def world() -> Tensor:
    """A joint distribution of three correlated factors."""
    p = torch.rand(3, 2, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return p / p.sum()


def intervened(p: Tensor) -> Tensor:
    """Eq. 1: the distribution of factors, one axis each, after one of them, chosen at random, is drawn again."""
    total = torch.zeros_like(p)
    for k in range(p.ndim):
        others = [i for i in range(p.ndim) if i != k]
        total += p.sum(k, keepdim=True) * (p.sum(others, keepdim=True) if others else p)
    return total / p.ndim


def test_setting_a_feature_and_setting_it_back_gives_the_code() -> None:
    z, other = torch.randn(2, 5, 4, 3)
    chosen = F.one_hot(torch.tensor([0, 1, 2, 3, 1]), 4).bool()
    changed = intervene(z, other, chosen)
    for i, k in enumerate([0, 1, 2, 3, 1]):
        assert torch.equal(changed[i, k], other[i, k])
        assert torch.equal(changed[i, [j for j in range(4) if j != k]], z[i, [j for j in range(4) if j != k]])
    assert torch.equal(intervene(changed, z, chosen), z)


def test_the_intervened_distribution_is_that_of_simulated_interventions() -> None:
    """Equation 1, cell by cell, against its words: draw g, draw a factor, draw its value anew from its marginal."""
    p = world()
    expected = torch.zeros_like(p)
    for a in range(3):
        for b in range(2):
            for c in range(4):
                for k, axis in enumerate(p.shape):
                    for value in range(axis):
                        cell = [a, b, c]
                        marginal = p.movedim(k, 0)[value].sum()
                        cell[k] = value
                        expected[tuple(cell)] += p[a, b, c] * marginal / 3
    torch.testing.assert_close(intervened(p), expected)


def test_intervening_on_independent_factors_changes_nothing() -> None:
    a, b = torch.tensor([0.2, 0.8]), torch.tensor([0.5, 0.1, 0.4])
    torch.testing.assert_close(intervened(torch.outer(a, b)), torch.outer(a, b))


def test_weights_average_to_one_and_their_gradient_is_that_of_the_quotient() -> None:
    out = torch.randn(7, dtype=torch.float64, requires_grad=True)
    assert mean_one(out).mean().item() == pytest.approx(1)
    torch.testing.assert_close(mean_one(out), out.exp() / out.exp().mean())
    assert torch.autograd.gradcheck(mean_one, (out,))
    by_hand = torch.func.jacrev(lambda o: o.exp() / o.exp().mean())(out)
    torch.testing.assert_close(torch.func.jacrev(mean_one)(out), by_hand)
    assert torch.isfinite(mean_one(torch.tensor([0.0, 1000.0]))).all()


def expected_loss(p: Tensor, drawn: Tensor, judge: Tensor, log_weight: Tensor) -> Tensor:
    """L_adv of a discrete world: p(x) log D(x) + p'(x) w(x) log(1 - D(x)), w of mean one under p'."""
    w = log_weight.exp() / (drawn * log_weight.exp()).sum()
    return (p * F.logsigmoid(judge)).sum() + (drawn * w * F.logsigmoid(-judge)).sum()


def test_the_loss_is_that_of_a_discrete_world() -> None:
    """Every image once in a batch: adversarial(...) is the expectation under uniform distributions."""
    judge, log_weight = torch.randn(2, 6, dtype=torch.float64)
    uniform = torch.full((6,), 1 / 6, dtype=torch.float64)
    found = adversarial(judge, judge, mean_one(log_weight))
    torch.testing.assert_close(found, expected_loss(uniform, uniform, judge, log_weight))


def test_for_independent_factors_a_weight_of_one_is_the_optimum() -> None:
    """p' = p: the best D against w = 1 is one half, and then no change of D or w helps."""
    p = torch.outer(torch.tensor([0.3, 0.7]), torch.tensor([0.2, 0.5, 0.3])).flatten().double()
    judge = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    log_weight = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    loss = expected_loss(p, intervened(p.reshape(2, 3)).flatten(), judge, log_weight)
    for gradient in torch.autograd.grad(loss, (judge, log_weight)):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient))
    judge = torch.zeros(world().numel(), requires_grad=True)
    correlated = expected_loss(world().flatten(), intervened(world()).flatten(), judge, torch.zeros_like(judge))
    (gradient,) = torch.autograd.grad(correlated, judge)
    assert gradient.abs().max() > 0.01  # there a critic can tell exchanged images, unless they are weighted


def test_the_learnt_weight_approaches_the_quotient_of_the_distributions() -> None:
    """Batches from a small correlated world, both sides played by gradient steps on `adversarial`."""
    generator = torch.Generator().manual_seed(0)
    p = torch.tensor([[0.4, 0.1], [0.1, 0.4]])
    drawn = intervened(p).flatten()
    judge, log_weight = torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True)
    up = torch.optim.Adam([judge], 0.05, maximize=True)
    down = torch.optim.Adam([log_weight], 0.005)
    mean = torch.zeros(4)
    for step in range(1500):
        real = torch.multinomial(p.flatten(), 512, True, generator=generator)
        fake = torch.multinomial(drawn, 512, True, generator=generator)
        loss = adversarial(judge[real], judge[fake], mean_one(log_weight[fake]))
        judge.grad, log_weight.grad = torch.autograd.grad(loss, (judge, log_weight))
        up.step()
        down.step()
        if step >= 500:
            mean += log_weight.detach() / 1000
    w = mean.exp() / (drawn * mean.exp()).sum()
    torch.testing.assert_close(w, p.flatten() / drawn, atol=0.08, rtol=0)
    assert (p.flatten() / drawn - 1).abs().min() > 0.3


def test_a_feature_that_does_nothing_solves_the_game_whatever_the_others_do() -> None:
    """A limit of the paper's loss: one exchange in three leaves the image as it is, the others give images that no data
    have. Weights that count the first alone bring L_adv to its least value, and no side gains by moving."""
    p, broken = world().flatten(), 5  # images of the data, and images that are none
    drawn = torch.cat([p / 3, torch.full((broken,), 2 / 3 / broken, dtype=torch.float64)])
    real = torch.cat([p, torch.zeros(broken, dtype=torch.float64)])
    judge = torch.cat([torch.zeros(len(p)), torch.full((broken,), -3.0)]).double().requires_grad_()
    log_weight = torch.cat([torch.zeros(len(p)), torch.full((broken,), -40.0)]).double().requires_grad_()
    loss = expected_loss(real, drawn, judge, log_weight)
    assert loss.item() == pytest.approx(-math.log(4))
    for gradient in torch.autograd.grad(loss, (judge, log_weight)):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient))
    even = expected_loss(real, drawn, judge, torch.zeros_like(log_weight))
    (towards,) = torch.autograd.grad(even, judge)
    assert towards[len(p) :].abs().min() > 1e-3  # with weights of one the critic sees the broken images


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3, 1, 1), nn.Tanh(), nn.Conv2d(2, 1, 3, 1, 1)).double()


def pictures(seed: int) -> tuple[Tensor, ...]:
    return tuple(torch.rand(4, 3, 1, 4, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64))


def difficulty(net: nn.Module, shift: Tensor, rate: float, second_order: bool) -> Tensor:
    """The held-out loss of pictures that depend on one number."""
    u, v, test_u, test_v = (torch.sigmoid(image + shift * i) for i, image in enumerate(pictures(1), 1))
    learned = adapted(net, u, v, steps=3, rate=rate, second_order=second_order)
    return cross_entropy(functional_call(net, learned, (test_u,)), test_v)


def test_the_second_order_gradient_is_exact() -> None:
    net, shift = small_net(), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    (exact,) = torch.autograd.grad(difficulty(net, shift, 0.1, True), shift)
    with torch.no_grad():
        ends = [difficulty(net, shift + e, 0.1, False).item() for e in (1e-5, -1e-5)]
    assert exact.item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    (first,) = torch.autograd.grad(difficulty(net, shift, 0.1, False), shift)
    assert abs(first.item() - exact.item()) > 1e-3 * abs(exact.item())


def test_first_and_second_order_agree_when_the_translator_does_not_learn() -> None:
    net, shift = small_net(), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    first, second = (torch.autograd.grad(difficulty(net, shift, 0.0, order), shift)[0] for order in (False, True))
    assert first.item() == pytest.approx(second.item(), rel=1e-12)


def test_steps_are_those_of_adam_and_leave_the_net_alone() -> None:
    net, (u, v, _, _) = small_net(), pictures(2)
    start = {name: value.clone() for name, value in net.state_dict().items()}
    found = adapted(net, u, v, steps=4, rate=0.07)
    assert all(torch.equal(value, start[name]) for name, value in net.state_dict().items())
    adam = torch.optim.Adam(net.parameters(), 0.07, eps=1e-10)
    for _ in range(4):
        adam.zero_grad()
        F.binary_cross_entropy_with_logits(net(u), v).backward()  # type: ignore[no-untyped-call]
        adam.step()
    for name, value in net.named_parameters():
        torch.testing.assert_close(found[name], value.detach())


def test_the_cross_entropy_is_a_sum_over_pixels_and_a_mean_over_images() -> None:
    logits, image = torch.randn(3, 2, 4, 4, dtype=torch.float64), torch.rand(3, 2, 4, 4, dtype=torch.float64)
    p = 1 / (1 + (-logits).exp())
    by_hand = [-(x * q.log() + (1 - x) * (1 - q).log()).sum().item() for x, q in zip(image, p, strict=True)]
    assert cross_entropy(logits, image).item() == pytest.approx(sum(by_hand) / 3)


def test_a_weight_without_a_gradient_stays_where_it_is() -> None:
    net = nn.Conv2d(2, 1, 1)
    u = torch.cat([torch.rand(3, 1, 4, 4), torch.zeros(3, 1, 4, 4)], 1)  # the second channel is dark
    found = adapted(net, u, torch.rand(3, 1, 4, 4), steps=4, rate=0.1)
    assert torch.equal(found["weight"][:, 1], net.weight[:, 1])
    assert (found["weight"][:, 0] - net.weight[:, 0]).abs().min() > 0.01
