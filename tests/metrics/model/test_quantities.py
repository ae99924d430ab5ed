"""What is known of a model without labels."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import nbinom, norm
from torch import Tensor, nn

import unbraid
from tests.toys import Elsewhere, Squares, batch_rows
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.encode import images
from unbraid.methods.contract import Loss, Method
from unbraid.metrics.model import quantities
from unbraid.metrics.model.quantities import image_nll, likelihood_of, unsupervised_quantities
from unbraid.nets.autoencoders import Decoder

TABLE = Squares()
ROWS = batch_rows(TABLE, 30)
OF_ANY_PRIOR = {"reconstruction", "total_correlation.mean", "total_correlation.sampled"}


def found(name: str = "vae") -> dict[str, float | None]:
    return unsupervised_quantities(unbraid.build(name, TABLE, width=2, latents=2, net="dense"), TABLE, ROWS)


def test_float64_is_made_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = found()
    monkeypatch.setattr(quantities, "images", lambda *given: images(*given).as_subclass(Elsewhere))
    assert found() == wanted


def test_gpus_are_left_alone_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    method = unbraid.build("vae", TABLE, width=2, latents=2, net="dense")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)  # torch warns of that, and initialises both
    assert unsupervised_quantities(method, TABLE, ROWS)["elbo"] is not None


def test_what_needs_a_standard_normal_prior_is_left_out_where_it_is_another() -> None:
    assert found().keys() == OF_ANY_PRIOR | {"kl", "elbo", "active_units"}
    for name in ("ivae", "vfae", "cvib"):
        assert found(name).keys() == OF_ANY_PRIOR


class Known(Method[Images]):
    """Posteriors of two blocks by hand: three pixels with variances of their own, and a latent that is the prior."""

    def __init__(self, spec: Spec, *, decodes: bool = True, gaussian: bool = True) -> None:
        super().__init__(spec, lr=1.0)
        self.dummy = nn.Parameter(torch.ones(()))
        self.decodes, self.gaussian = decodes, gaussian

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        return {}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"a": 2 * x.flatten(1)[:, [50, 64, 78]] + 0.1 * x.flatten(1)[:, [62, 63, 65]], "b": 0 * x[:, 0, 0, :1]}

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        spread = torch.tensor([-1.0, 0.5, -3.0])
        mu = self.encode(x)
        return {"a": (mu["a"], spread + 0 * mu["a"]), "b": (mu["b"], mu["b"])} if self.gaussian else {}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor | None:
        light = torch.sigmoid(torch.cat([blocks["a"], blocks["b"]], 1))  # [b, 4]
        return light[:, :1, None, None].expand(-1, 1, 12, 12) * light.mean() if self.decodes else None


def by_hand(rows: Any, seed: int, batch: int) -> dict[str, float]:
    """Each row by itself; samples are drawn a batch at a time, block by block."""
    method = Known(TABLE.spec)
    total, kl, means, samples = 0.0, np.zeros(4), [], []
    torch.manual_seed(seed)
    for start in range(0, len(rows), batch):
        x = images(method, TABLE, rows[start : start + batch])
        posterior = method.posterior(x)
        drawn = {name: mu + torch.randn(mu.shape) * (log_var / 2).exp() for name, (mu, log_var) in posterior.items()}
        p = method.decode(drawn)
        assert p is not None
        total -= float((x * p.log() + (1 - x) * (1 - p).log()).double().sum())
        for i in range(len(x)):
            pairs = [(float(m), float(v)) for mu, lv in posterior.values() for m, v in zip(mu[i], lv[i], strict=True)]
            kl += [(m**2 + math.exp(v) - v - 1) / 2 for m, v in pairs]
        means += posterior["a"][0].tolist()
        samples += drawn["a"].tolist()
    n = len(rows)
    found = {"reconstruction": total / n, "kl": kl.sum() / n, "active_units": float((kl / n > 0.01).sum())}
    found |= {"elbo": -(total + kl.sum()) / n}
    for name, codes in (("mean", means), ("sampled", samples)):
        found[f"total_correlation.{name}"] = -float(np.linalg.slogdet(np.corrcoef(np.array(codes).T))[1]) / 2
    return found


@pytest.mark.parametrize(("seed", "batch"), [(0, 256), (4, 12)])
def test_quantities_by_a_loop_over_rows(seed: int, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantities, "BATCH", batch)
    torch.manual_seed(9)
    state = torch.random.get_rng_state()
    taken = unsupervised_quantities(Known(TABLE.spec), TABLE, ROWS, seed=seed)
    assert torch.equal(torch.random.get_rng_state(), state)
    wanted = by_hand(ROWS, seed, batch)
    assert wanted["active_units"] == 3 and taken == pytest.approx(wanted, rel=1e-5)


def test_only_what_a_method_has_parts_for_is_taken() -> None:
    blind = unsupervised_quantities(Known(TABLE.spec, decodes=False), TABLE, ROWS)
    assert blind.keys() == {"kl", "active_units", "total_correlation.mean", "total_correlation.sampled"}
    plain = unsupervised_quantities(Known(TABLE.spec, gaussian=False), TABLE, ROWS)
    assert plain.keys() == {"total_correlation.mean"}
    assert plain["total_correlation.mean"] == blind["total_correlation.mean"]
    still = unsupervised_quantities(Known(TABLE.spec), TABLE, np.repeat(ROWS[:1], 5))
    assert still["total_correlation.mean"] is None and still["total_correlation.sampled"] is not None


def test_a_latent_is_active_above_a_hundredth_of_a_nat_on_average() -> None:
    """A mean of m is m^2 / 2 nats; rows with it are half of all."""

    class Half(Known):
        level = 0.0

        def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
            mu = self.level * (torch.arange(len(x)) % 2)[:, None].float()
            return {"a": (mu.expand(-1, 3), 0 * mu.expand(-1, 3)), "b": (0 * mu, 0 * mu)}

    for level, active in ((0.19, 0), (0.21, 3)):
        method = Half(TABLE.spec)
        method.level = level
        taken = unsupervised_quantities(method, TABLE, ROWS)
        assert taken["active_units"] == active and taken["kl"] == pytest.approx(3 * level**2 / 4, rel=1e-5)


def test_the_likelihood_is_that_of_the_decoder_or_of_the_arguments() -> None:
    decoder = Decoder(nn.Identity(), "gaussian", 0.3)
    assert likelihood_of(SimpleNamespace(decoder=decoder, arguments={})) == ("gaussian", 0.3, None)  # type: ignore[arg-type]
    counts = Decoder(nn.Identity(), "negative_binomial", features=3)
    found = likelihood_of(SimpleNamespace(decoder=counts, arguments={"likelihood": "gaussian"}))  # type: ignore[arg-type]
    assert (found[0], found[2]) == ("negative_binomial", counts.log_theta)
    given = SimpleNamespace(arguments={"likelihood": "gaussian", "sigma": 0.7})
    assert likelihood_of(given) == ("gaussian", 0.7, None)  # type: ignore[arg-type]
    assert likelihood_of(SimpleNamespace(decoder=1, arguments={})) == ("bernoulli", 0.1, None)  # type: ignore[arg-type]


def test_image_nll_is_that_of_known_distributions() -> None:
    draw = torch.Generator().manual_seed(0)
    p, x = 0.05 + 0.9 * torch.rand(2, 3, 2, 4, 5, generator=draw)
    normal = -torch.from_numpy(norm.logpdf(x, p, 0.3)).float().sum((1, 2, 3))
    assert torch.allclose(image_nll(p, x, "gaussian", 0.3), normal, rtol=1e-5)
    assert torch.allclose(image_nll(p[:1], x[:1], "gaussian", 0.3), normal[:1], rtol=1e-5)
    coin = -(x * p.log() + (1 - x) * (1 - p).log()).sum((1, 2, 3))
    assert torch.allclose(image_nll(p, x, "bernoulli"), coin, rtol=1e-5)
    sure = image_nll(
        torch.tensor([0.0, 1, 1]).reshape(3, 1, 1, 1), torch.tensor([0, 1, 0.5]).reshape(3, 1, 1, 1), "bernoulli"
    )
    assert sure.tolist() == pytest.approx([0, 0, 24 * math.log(2) / 2], abs=1e-6)


def test_image_nll_of_counts_takes_the_shares_of_the_expected_counts() -> None:
    """A negative binomial of mean m and size theta has p = theta / (theta + m); the means add up to the row's sum."""
    counts, expected = np.array([[4.0, 0, 6], [1, 2, 0]]), np.array([[2.0, 1, 1], [3, 3, 6]])
    theta = np.array([0.5, 2, 8])
    picture, x = (torch.tensor(np.log1p(each), dtype=torch.float32)[:, None, None] for each in (expected, counts))
    mean = expected / expected.sum(1, keepdims=True) * counts.sum(1, keepdims=True)
    wanted = -nbinom.logpmf(counts, theta, theta / (theta + mean)).sum(1)
    found = image_nll(picture, x, "negative_binomial", log_theta=torch.tensor(np.log(theta), dtype=torch.float32))
    assert found.tolist() == pytest.approx(wanted, rel=1e-4)
    empty = image_nll(picture * torch.tensor([1.0, 0, 1]), x, "negative_binomial", log_theta=torch.zeros(3))
    assert empty.isfinite().all()
