from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cdist
from torch import Tensor

from unbraid.errors import UserError
from unbraid.maths.entangle import NORMAL, UNIFORM, Marginal, entangle, reflection
from unbraid.metrics.suite import score

EXPONENTIAL = Marginal(lambda z: -torch.expm1(-z), lambda u: -torch.log1p(-u))
RATES = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.float64)
RATED = Marginal(lambda z: -torch.expm1(-RATES * z), lambda u: -torch.log1p(-u) / RATES)  # one for each column
MARGINALS = {
    "normal": (NORMAL, [stats.norm] * 4),
    "uniform": (UNIFORM, [stats.uniform] * 4),
    "exponential": (EXPONENTIAL, [stats.expon] * 4),
    "rated": (RATED, [stats.expon(scale=1 / rate) for rate in RATES.tolist()]),
}


def draw(name: str, n: int, seed: int = 0) -> Tensor:
    """Independent coordinates, by scipy, and not by the quantiles that are tested."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(np.stack([law.rvs(size=n, random_state=rng) for law in MARGINALS[name][1]], 1))


def log_density(name: str, z: Tensor) -> NDArray[np.float64]:
    laws = MARGINALS[name][1]
    total: NDArray[np.float64] = np.sum([laws[i].logpdf(z[:, i].numpy()) for i in range(4)], 0)
    return total


def jacobian(name: str, z: Tensor, alpha: float) -> Tensor:  # [n, d, d]
    def one(point: Tensor) -> Tensor:
        return entangle(point[None], marginal=MARGINALS[name][0], alpha=alpha)[0]

    return torch.stack([torch.autograd.functional.jacobian(one, point) for point in z])  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("d", [2, 3, 4, 10, 50])
@pytest.mark.parametrize("alpha", [0.01, 0.25, 0.49])
def test_the_reflection_is_orthogonal_and_has_no_zero(d: int, alpha: float) -> None:
    a = reflection(d, alpha)
    torch.testing.assert_close(a @ a.T, torch.eye(d, dtype=torch.float64))
    assert a.abs().min() > 1e-4


def test_a_quarter_mixes_four_coordinates_evenly() -> None:
    assert reflection(4, 0.25).abs().flatten().tolist() == pytest.approx([0.5] * 16)


@pytest.mark.parametrize("name", MARGINALS)
@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.4])
def test_every_output_depends_on_every_input_and_the_density_is_the_same(name: str, alpha: float) -> None:
    """p(f(z)) |det f'(z)| = p(z) at every point says that f(z) has the distribution of z, the whole of it."""
    z = draw(name, 40)
    slopes = jacobian(name, z, alpha)
    moved = entangle(z, marginal=MARGINALS[name][0], alpha=alpha)
    assert slopes.abs().min() > 1e-5
    after = log_density(name, moved) + torch.linalg.slogdet(slopes).logabsdet.numpy()
    assert after.tolist() == pytest.approx(log_density(name, z).tolist(), abs=1e-6)
    assert not torch.allclose(moved, z, atol=0.1)


def test_the_jacobian_against_finite_differences() -> None:
    z, h = draw("uniform", 5), 1e-6
    slopes = jacobian("uniform", z, 0.25)
    for j in range(4):
        step = h * torch.eye(4, dtype=torch.float64)[j]
        rise = entangle(z + step, marginal=UNIFORM) - entangle(z - step, marginal=UNIFORM)
        torch.testing.assert_close(slopes[:, :, j], rise / (2 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", MARGINALS)
def test_f_is_its_own_inverse(name: str) -> None:
    z, marginal = draw(name, 1000), MARGINALS[name][0]
    back = entangle(entangle(z, marginal=marginal), marginal=marginal)
    torch.testing.assert_close(back, z, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", MARGINALS)
def test_each_coordinate_keeps_its_distribution(name: str) -> None:
    marginal, laws = MARGINALS[name]
    moved = entangle(draw(name, 20_000), marginal=marginal).numpy()
    assert min(stats.kstest(moved[:, i], laws[i].cdf).pvalue for i in range(4)) > 0.01


def energy_p_value(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Two-sample test of the whole vector: the energy distance against that of 200 random halves."""
    both = np.concatenate([a, b])
    distance = cdist(both, both)
    sign = np.repeat([1.0, -1.0], len(a))
    signs = np.stack([sign, *np.random.default_rng(0).permuted(np.tile(sign, (200, 1)), axis=1)])
    energy = -((signs @ distance) * signs).sum(1)
    return float((energy[1:] >= energy[0]).mean())


@pytest.mark.parametrize("name", ["normal", "uniform"])
def test_no_test_on_the_whole_vector_tells_f_from_fresh_draws(name: str) -> None:
    """While it tells at once a map which keeps every marginal but not independence."""
    marginal = MARGINALS[name][0]
    z, fresh = draw(name, 1000, seed=1), draw(name, 1000, seed=2).numpy()
    moved = entangle(z, marginal=marginal).numpy()
    assert energy_p_value(moved, fresh) > 0.05

    scores = torch.special.ndtri(marginal.cdf(z))
    mixing = torch.eye(4, dtype=torch.float64)
    mixing[0, 1], mixing[1, 1] = 0.8, 0.6  # columns of length one that are not orthogonal
    wrong = marginal.quantile(torch.special.ndtr(scores @ mixing)).numpy()
    assert min(stats.kstest(wrong[:, i], MARGINALS[name][1][i].cdf).pvalue for i in range(4)) > 0.01
    assert energy_p_value(wrong, fresh) < 0.01


def test_a_perfect_code_scores_one_and_the_same_code_through_f_scores_chance() -> None:
    z = draw("uniform", 3000)
    factors = (10 * z.numpy()).astype(int)
    perfect, entangled = (
        score(
            codes.numpy(),
            factors,
            metrics=["mig", "sap", "factor_vae_score"],
            options={"sap": {"method": "correlation"}},
            bootstrap=0,
            chance=False,
            jobs=1,
        )
        for codes in (z, entangle(z, marginal=UNIFORM))
    )
    assert min(found.value for found in perfect.values()) > 0.95
    assert entangled["mig"].value < 0.02
    assert entangled["sap"].value < 0.05
    assert entangled["factor_vae_score"].value < 0.4  # chance is 1/4


def test_float32_stays_float32_and_is_as_exact_as_it_can_be() -> None:
    z = draw("normal", 1000)
    moved = entangle(z.float())
    assert moved.dtype == torch.float32
    torch.testing.assert_close(moved, entangle(z).float(), rtol=1e-5, atol=1e-6)


def test_what_has_no_image_is_refused() -> None:
    with pytest.raises(UserError, match="outside"):
        entangle(torch.tensor([[0.5, 1.5]]), marginal=UNIFORM)
    with pytest.raises(UserError, match="alpha"):
        entangle(torch.rand(3, 2), alpha=0.5)
    with pytest.raises(UserError, match="two dimensions"):
        entangle(torch.rand(3, 1))
