from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Views
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.maths.augment import Augment
from unbraid.maths.contrast import supcon
from unbraid.maths.slices import hessian, infomin, orthogonality
from unbraid.methods.sub_infomax import SubInfoMax

TABLE = Squares()
WEIGHTS = ("infomin", "orthogonality", "permuted_orthogonality", "hessian")


def build(**arguments: Any) -> SubInfoMax:
    """With codes that lie around zero, so that they point in all directions."""
    torch.manual_seed(0)
    method = SubInfoMax(TABLE.spec, **{"width": 3, "latents": 4, **arguments})
    with torch.no_grad():
        centre = method.encode(batch().x1)["z"].mean(0).chunk(len(method.heads))
        for head, mean in zip(method.heads, centre, strict=True):
            cast(Any, head)[2].bias -= mean
    return method


def batch(n: int = 10) -> Views:
    drawn = sampler(TABLE, Views, batch=n, seed=0)(0).on("cpu")
    assert isinstance(drawn, Views)
    return drawn


def terms(method: SubInfoMax, seed: int = 0, step: int = 0) -> dict[str, float]:
    torch.manual_seed(seed)
    loss = method.losses(batch(), step)["model"]
    return {"loss": loss.value.item(), **{name: value.item() for name, value in loss.terms.items()}}


def codes(method: SubInfoMax) -> tuple[Tensor, Tensor]:
    """Both views' slices. [b, k, d]"""
    found = [method.encode(x) for x in (batch().x1, batch().x2)]
    one, other = (torch.stack([code[f"z{k}"] for k in range(method.k)], 1) for code in found)
    return one, other


@pytest.mark.parametrize("slices", [1, 2, 3])
def test_infomax_is_the_contrast_of_each_slice_added_up(slices: int) -> None:
    method = build(slices=slices)
    z, y = torch.cat(codes(method)), batch().y.repeat(2)
    expected = sum(supcon(z[:, k], y, 0.1).item() for k in range(slices))
    assert terms(method)["infomax"] == pytest.approx(expected, rel=1e-5)
    assert terms(method)["loss"] == pytest.approx(expected, rel=1e-5)


def test_one_head_has_one_infomax_on_the_whole_code() -> None:
    for arguments in ({"heads": "one"}, {"hessian": 0.1}):
        method = build(**arguments)
        assert len(method.heads) == 1
        z, y = torch.cat(codes(method)).flatten(1), batch().y.repeat(2)
        assert terms(method)["infomax"] == pytest.approx(supcon(z, y, 0.1).item(), rel=1e-5)
    assert len(build().heads) == len(build(hessian=0.1, heads="each").heads) == 2


def test_a_slice_of_r_makes_its_slice_of_z_alone_where_each_has_a_head() -> None:
    method = build()
    r = torch.randn(4, 24)
    changed = r.clone()
    changed[:, :12] += 1
    before, after = method.project(r), method.project(changed)
    assert torch.equal(before[:, 1], after[:, 1])
    assert not torch.allclose(before[:, 0], after[:, 0])


def test_positives_are_samples_of_the_same_label_or_just_the_other_view() -> None:
    z = torch.cat(codes(build()))
    by_view = sum(supcon(z[:, k], torch.arange(10).repeat(2), 0.1).item() for k in range(2))
    assert terms(build(positives="view"))["infomax"] == pytest.approx(by_view, rel=1e-5)
    assert abs(terms(build())["infomax"] - by_view) > 0.2


def test_the_regularisers_are_those_of_the_codes() -> None:
    for literal in (False, True):
        method = build(literal_infomin=literal)
        one, other = (F.normalize(z, dim=-1).transpose(0, 1) for z in codes(method))
        found = terms(method)
        within = infomin(one, 0.1, literal=literal) + infomin(other, 0.1, literal=literal)
        assert found["infomin"] == pytest.approx(-within.item() / 2, rel=1e-4)
        assert found["orthogonality"] == pytest.approx(orthogonality(one, other).item(), rel=1e-4)


def test_infomax_infomin_and_orthogonality_are_means_over_the_samples_of_both_views() -> None:
    """Sums over all 20 samples, divided by 20: a strength counts the same in each."""
    method, y = build(), batch().y.repeat(2)
    z = F.normalize(torch.cat(codes(method)), dim=-1)  # [2 b, k, d]
    max_, min_, ortho = 0.0, 0.0, 0.0
    for i in range(20):
        view = range(0, 10) if i < 10 else range(10, 20)
        for k in (0, 1):
            here, other = z[:, k], z[:, 1 - k]
            rest = [j for j in range(20) if j != i]
            logits = here[i] @ here.T / 0.1
            positive = [logits[j].item() for j in rest if y[j] == y[i]]
            max_ += logits[rest].logsumexp(0).item() - sum(positive) / len(positive)
            across = here[i] @ other.T / 0.1
            min_ += (across[i] - across[list(view)].logsumexp(0)).item()
            ortho += (here[i] @ other[i]).abs().item() + (here[i] @ other[(i + 10) % 20]).abs().item()
    found = terms(method)
    assert found["infomax"] == pytest.approx(max_ / 20, rel=1e-4)
    assert found["infomin"] == pytest.approx(-min_ / 20, rel=1e-4)
    assert found["orthogonality"] == pytest.approx(ortho / 20, rel=1e-4)


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("heads", ["one", "each"])
def test_the_hessian_is_that_of_the_summed_loss_at_the_unit_code(heads: str, per_sample: bool) -> None:
    """By finite differences, one coordinate of one sample at a time; n times the mean is the sum."""
    method = build(heads=heads, hessian_per_sample=per_sample).double()
    views, y = torch.cat([batch().x1, batch().x2]).double(), batch().y.repeat(2)
    with torch.no_grad():
        z = method.project(method.trunk(views))
    unit = F.normalize(z.flatten(1), dim=-1).view_as(z) if heads == "one" else F.normalize(z, dim=-1)

    own = torch.eye(20, dtype=torch.bool)
    positive = (y[:, None] == y) & ~own

    def summed(at: Tensor) -> float:
        total = 0.0
        for part in [at.flatten(1)] if heads == "one" else at.unbind(1):
            logits = part @ part.T / 0.1
            rest = logits[~own].view(20, 19)
            total += float(rest.logsumexp(1).sum() - (logits * positive / positive.sum(1, keepdim=True)).sum())
        return total

    gradient = torch.zeros_like(unit)
    for place in range(unit.numel()):
        step = torch.zeros_like(unit)
        step.view(-1)[place] = 1e-5
        gradient.view(-1)[place] = (summed(unit + step) - summed(unit - step)) / 2e-5
    found = method.losses(Views(batch().index, views[:10], views[10:], batch().y), 0)["model"].terms["hessian"]
    assert found.item() == pytest.approx(hessian(gradient, per_sample=per_sample).item(), rel=1e-4)


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weight_adds_its_regulariser_and_no_other(name: str) -> None:
    method = build(heads="each", **{name: 0.3})
    found = terms(method)
    added = -found["infomin"] if name == "infomin" else found[name]
    assert found["loss"] == pytest.approx(found["infomax"] + 0.3 * added, rel=1e-5)


@pytest.mark.parametrize(("step", "share"), [(0, 0.0), (10, 0.0), (15, 0.5), (20, 1.0), (500, 1.0)])
def test_regularisers_wait_for_the_warm_up_and_then_grow(step: int, share: float) -> None:
    found = terms(build(orthogonality=0.2, hessian=0.5, warm_up=10), step=step)
    regularisers = 0.2 * found["orthogonality"] + 0.5 * found["hessian"]
    assert found["loss"] == pytest.approx(found["infomax"] + share * regularisers, rel=1e-5)


def test_orthogonality_and_hessian_go_together() -> None:
    found = terms(build(orthogonality=0.2, hessian=0.5))
    expected = found["infomax"] + 0.2 * found["orthogonality"] + 0.5 * found["hessian"]
    assert found["loss"] == pytest.approx(expected, rel=1e-5)


def test_the_permutation_is_drawn_at_each_step_and_shared_by_the_batch() -> None:
    method = build(permuted_orthogonality=1.0, latents=8)
    drawn = [terms(method, seed) for seed in range(6)]
    assert len({round(found["permuted_orthogonality"], 6) for found in drawn}) > 3
    assert len({round(found["orthogonality"], 6) for found in drawn}) == 1
    one, other = (F.normalize(z, dim=-1).transpose(0, 1) for z in codes(method))
    torch.manual_seed(4)
    again = orthogonality(one, other, torch.randperm(8)).item()
    assert drawn[4]["permuted_orthogonality"] == pytest.approx(again, rel=1e-4)


@pytest.mark.parametrize("name", [*WEIGHTS, "infomax"])
def test_descent_on_each_regulariser_lowers_it(name: str) -> None:
    """The gradient that reaches the weights is that of the term: small steps along it, and no others, make it fall."""
    weights = {name: 1.0} if name != "infomax" else {}
    method = build(heads="each", **weights).double()
    views = Views(batch().index, batch().x1.double(), batch().x2.double(), batch().y)

    def value() -> Tensor:
        torch.manual_seed(0)
        return method.losses(views, 0)["model"].value

    loss = value()
    parameters = list(method.parameters())
    gradients = torch.autograd.grad(loss, parameters)
    squared = sum(float((g**2).sum()) for g in gradients)
    size = 1e-6 / squared**0.5
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(size * gradient)
    assert (value() - loss).item() / size == pytest.approx(-squared, rel=1e-2)


def test_views_are_augmented_apart_and_codes_are_not() -> None:
    plain, changed = build(), build(least_crop=0.3, flip=True, colour=0.5)
    assert terms(plain)["infomax"] == terms(plain, 1)["infomax"]
    assert terms(changed)["infomax"] != terms(changed, 1)["infomax"]
    for block, code in changed.encode(batch().x1).items():
        assert torch.equal(code, plain.encode(batch().x1)[block])


class Negative(Augment):
    def __call__(self, x: Tensor) -> Tensor:
        return 1 - x


def test_both_views_are_augmented() -> None:
    """With the negative of an image as its view, the loss is that of a batch of negatives."""
    plain, negative = build(), build()
    negative.view = Negative(1.0, False, 0.0)
    views = batch()
    expected = plain.losses(replace(views, x1=1 - views.x1, x2=1 - views.x2), 0)["model"].value.item()
    assert negative.losses(views, 0)["model"].value.item() == expected
    for half in ({"x1": 1 - views.x1}, {"x2": 1 - views.x2}):
        assert plain.losses(replace(views, **half), 0)["model"].value.item() != pytest.approx(expected, rel=1e-4)


def test_blocks_are_the_code_the_representation_and_their_slices() -> None:
    found = build(slices=3).encode(batch().x1)
    assert list(found) == ["z", "z0", "z1", "z2", "r", "r0", "r1", "r2"]
    assert [code.shape[1] for code in found.values()] == [12, 4, 4, 4, 24, 8, 8, 8]
    units = torch.tensor(build(slices=3).units["z"])
    assert all(torch.equal(found["z"][:, units == k], found[f"z{k}"]) for k in range(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slices": 5}, "24 dimensions of r cannot be cut into 5"),
        ({"heads": "two"}, "heads of sub_infomax must be paper, each or one, not 'two'"),
        ({"positives": "class"}, "positives of sub_infomax must be .*, not 'class'"),
        ({"net": "resnet50"}, "net of sub_infomax must be .*, not 'resnet50'"),
        ({"hessian": -0.1}, "hessian of sub_infomax must be 0 or more"),
        ({"warm_up": -1}, "warm_up of sub_infomax must be 0 or more"),
        ({"latents": 0}, "latents of sub_infomax must be 1 or more"),
        ({"temperature": 0.0}, "temperature of sub_infomax must be more than 0"),
    ],
)
def test_what_cannot_work_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build(**arguments)


def test_batches_that_teach_nothing_are_refused() -> None:
    same = replace(batch(), x2=batch().x1)
    with pytest.raises(UserError, match="give least_crop, flip or colour"):
        build().losses(same, 0)
    assert build(colour=0.5).losses(same, 0)["model"].value > 0
    with pytest.raises(UserError, match="two or more"):
        build().losses(batch(1), 0)
