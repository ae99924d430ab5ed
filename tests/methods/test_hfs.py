from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.hfs import HFS, distance_to_factorised_support

TABLE = Squares()


def batch() -> Images:
    drawn = sampler(TABLE, Images, batch=12, seed=0)(0).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def codes(n: int = 7, k: int = 4) -> Tensor:
    return torch.randn(n, k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def by_hand(z: Tensor) -> float:
    """Each pair of dimensions, each combination of two codes, and each code next to it, on its own."""
    rows, total = z.tolist(), 0.0
    for i in range(len(rows[0])):
        for j in range(i):
            support = [(row[i], row[j]) for row in rows]
            product = [(first, second) for first, _ in support for _, second in support]
            total += max(min(math.dist(point, code) for code in support) for point in product) ** 2
    return total


def of_samples(z: Tensor, generator: torch.Generator) -> float:
    """The same for 25 pairs of dimensions and 100 combinations of each, both drawn, as in the authors' code."""
    rows, k = len(z), z.shape[1]
    every = [(i, j) for i in range(k) for j in range(i)]
    total = 0.0
    for pair in torch.randperm(len(every), generator=generator)[:25].tolist():
        here = z[:, every[pair]]
        drawn = torch.randint(rows, (100, 2), generator=generator)
        points = torch.stack([here[drawn[:, 0], 0], here[drawn[:, 1], 1]], 1)
        total += float(torch.cdist(points, here).amin(1).max()) ** 2
    return total


def test_one_gamma_weighs_four_times_as_much_as_with_samples() -> None:
    """What the page says of standard normal codes: 144 and 34."""
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(64, 10, generator=generator, dtype=torch.float64) for _ in range(20)]
    assert sum(distance_to_factorised_support(z).item() for z in drawn) / 20 == pytest.approx(144, rel=0.05)
    assert sum(of_samples(z, generator) for z in drawn) / 20 == pytest.approx(34, rel=0.1)


def test_the_distance_is_that_of_the_definition() -> None:
    assert distance_to_factorised_support(codes()).item() == pytest.approx(by_hand(codes()), rel=1e-12)


def test_a_product_costs_nothing_however_often_its_combinations_occur() -> None:
    """Correlated, but every combination is there: this is what sets it apart from total correlation."""
    grid = torch.cartesian_prod(torch.arange(3.0), torch.arange(3.0))
    correlated = torch.cat([grid, *[grid[[0, 4, 8]]] * 5])
    assert torch.corrcoef(correlated.T)[0, 1] > 0.5
    assert distance_to_factorised_support(correlated).item() == 0
    assert distance_to_factorised_support(grid[[0, 4, 8]]).item() == pytest.approx(2.0)  # from (0, 2) to (1, 1)


def test_a_product_turned_by_45_degrees_costs_something() -> None:
    grid = torch.cartesian_prod(torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 5))
    turned = grid @ torch.tensor([[1.0, 1.0], [-1.0, 1.0]]) / math.sqrt(2)
    assert distance_to_factorised_support(grid).item() == pytest.approx(0, abs=1e-12)
    assert distance_to_factorised_support(turned).item() == pytest.approx(1.0, rel=1e-5)  # a corner to the nearest edge


def test_the_gradient_is_that_of_the_distance() -> None:
    z = codes().requires_grad_()
    assert torch.autograd.gradcheck(distance_to_factorised_support, (z,))


def test_a_single_dimension_is_its_own_product() -> None:
    assert distance_to_factorised_support(codes(k=1)).item() == 0


def test_the_loss_is_that_of_the_beta_vae_plus_the_distance_of_the_means() -> None:
    method, rival = HFS(TABLE.spec, gamma=3.0, beta=2.0, width=4), BetaVAE(TABLE.spec, beta=2.0, width=4)
    rival.load_state_dict(method.state_dict())
    found = []
    for one in (method, rival):
        torch.manual_seed(1)
        found.append(one.losses(batch(), 0)["model"].value.item())
    distance = by_hand(method.encode(batch().x)["z"].double())
    assert 3 * distance > 1e-3
    assert found[0] == pytest.approx(found[1] + 3 * distance, rel=1e-6)


def test_without_beta_the_kl_has_no_weight() -> None:
    method = HFS(TABLE.spec, gamma=3.0, beta=0.0, width=4)
    loss = method.losses(batch(), 0)["model"]
    rest = loss.terms["rec"] + 3 * loss.terms["support_distance"]
    assert loss.value.item() == pytest.approx(rest.item(), rel=1e-6)
