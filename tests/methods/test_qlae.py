from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.methods.qlae import QLAE, nearest, nearest_of_even_steps
from unbraid.train.trainer import Trainer

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=12, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def spread(method: QLAE) -> QLAE:
    """Larger weights, so that codes reach several values."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in method.encoder.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return method


def gradients(value: Tensor, method: QLAE) -> tuple[list[Tensor | None], list[Tensor | None]]:
    assert method.codebooks is not None
    of_encoder = torch.autograd.grad(value, list(method.encoder.parameters()), retain_graph=True, allow_unused=True)
    of_codebooks = torch.autograd.grad(value, [method.codebooks], retain_graph=True, allow_unused=True)
    return list(of_encoder), list(of_codebooks)


def test_each_dimension_takes_the_nearest_value_of_its_own_codebook() -> None:
    generator = torch.Generator().manual_seed(0)
    code, codebooks = torch.randn(9, 3, generator=generator), torch.randn(3, 4, generator=generator)
    found = nearest(code, codebooks)
    for row in range(9):
        for k in range(3):
            assert found[row, k] == min(codebooks[k].tolist(), key=lambda value: abs(value - code[row, k].item()))


@pytest.mark.parametrize("values", [2, 5, 8])
def test_even_steps_are_those_of_a_search(values: int) -> None:
    code = torch.linspace(-1, 1, 1001, dtype=torch.float64) * 0.9999
    steps = np.linspace(-1, 1, values)
    expected = steps[np.abs(code.numpy()[:, None] - steps).argmin(1)]
    found = nearest_of_even_steps(code, values).numpy()
    middle = np.abs(np.sort(np.abs(code.numpy()[:, None] - steps), 1)[:, :2] @ [1, -1]) < 1e-9  # between two values
    np.testing.assert_allclose(found[~middle], expected[~middle], atol=1e-12)
    assert len(np.unique(found.round(9))) == values


def test_the_gradient_of_the_decoder_reaches_the_encoder_as_if_nothing_were_quantised() -> None:
    method = spread(QLAE(TABLE.spec, width=4, lambda_quantise=0, lambda_commit=0))
    x = batch().x
    c, z = method.quantised(x)
    assert len(set(z.flatten().tolist())) > 5
    free = z.detach().clone().requires_grad_()
    (slope,) = torch.autograd.grad(method.decoder.nll(free, x).mean(), free)
    expected = torch.autograd.grad((c * slope).sum(), list(method.encoder.parameters()))
    of_encoder, of_codebooks = gradients(method.losses(batch(), 0)["model"].value, method)
    for found, wanted in zip(of_encoder, expected, strict=True):
        assert found is not None
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4 * wanted.abs().max().item())
    assert of_codebooks[0] is not None
    assert not of_codebooks[0].any()


def test_one_penalty_moves_the_values_and_the_other_the_encoder() -> None:
    x, parts = batch().x, {}
    for name in ("lambda_quantise", "lambda_commit"):
        both = {"lambda_quantise": 0.0, "lambda_commit": 0.0, name: 1.0}
        method = spread(QLAE(TABLE.spec, width=4, **both))  # type: ignore[arg-type]
        loss = method.losses(batch(), 0)["model"]
        c, z = method.quantised(x)
        rec = method.decoder.nll(z, x).mean()
        distance = sum((one - two) ** 2 for one, two in zip(c.flatten().tolist(), z.flatten().tolist(), strict=True))
        assert (loss.value - rec).item() == pytest.approx(distance / len(x), rel=1e-3)
        penalty = loss.value - method.decoder.nll(_straight_through(method, x), x).mean()
        parts[name] = [any(g is not None and g.abs().max() > 1e-4 for g in side) for side in gradients(penalty, method)]
    assert parts == {"lambda_quantise": [False, True], "lambda_commit": [True, False]}


def _straight_through(method: QLAE, x: Tensor) -> Tensor:
    c, z = method.quantised(x)
    return c + (z - c).detach()


def test_with_many_values_nothing_is_lost() -> None:
    method = spread(QLAE(TABLE.spec, width=4, values=4001))
    assert method.codebooks is not None
    with torch.no_grad():
        method.codebooks.mul_(40)  # from -20 to 20
    c, z = method.quantised(batch().x)
    assert c.abs().max() < 20
    torch.testing.assert_close(z, c, rtol=0, atol=0.0051)


def test_fixed_values_lie_on_the_steps_and_have_no_penalty() -> None:
    method = spread(QLAE(TABLE.spec, quantiser="fsq", values=5, width=4))
    codes = method.encode(batch().x)["z"]
    assert {round(value, 5) for value in codes.flatten().tolist()} <= {-1, -0.5, 0, 0.5, 1}
    assert len(set(codes.flatten().tolist())) > 2
    loss = method.losses(batch(), 0)["model"]
    assert loss.value.item() == pytest.approx(method.decoder.nll(codes, batch().x).mean().item(), rel=1e-5)


def test_weights_of_the_networks_decay_and_values_do_not() -> None:
    method = QLAE(TABLE.spec, width=4, weight_decay=0.5, lr=0.1)
    assert method.codebooks is not None
    optimiser = Trainer(method).optimisers["model"]
    before = {name: parameter.detach().clone() for name, parameter in method.named_parameters()}
    for parameter in method.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    for name, parameter in method.named_parameters():
        share = 1.0 if name == "codebooks" else 1 - 0.1 * 0.5
        torch.testing.assert_close(parameter.detach(), share * before[name])


def test_a_single_value_is_refused() -> None:
    with pytest.raises(UserError, match="values of qlae must be 2 or more"):
        QLAE(TABLE.spec, values=1)
