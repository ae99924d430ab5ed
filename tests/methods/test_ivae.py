from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from tests.toys import Squares
from unbraid.data.batch import Images, Labelled
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.ivae import IVAE

TABLE = Squares()


def batch() -> Labelled:
    drawn = sampler(TABLE, Labelled, batch=12, seed=0)(0).on("cpu")
    assert isinstance(drawn, Labelled)
    return drawn


@pytest.mark.parametrize("auxiliary", ["class", "nuisances"])
def test_the_kl_is_that_to_the_prior_of_each_sample(auxiliary: Literal["class", "nuisances"]) -> None:
    """Sample by sample, with the prior of its own value of u and distributions of torch."""
    method, drawn = IVAE(TABLE.spec, auxiliary=auxiliary, beta=3.0, width=4), batch()
    loss = method.losses(drawn, 0)["model"]
    size = 3 if auxiliary == "class" else 4
    with torch.no_grad():
        priors = [method.prior(torch.eye(size)[value]) for value in range(size)]
        mu, log_var = method.posterior(drawn.x)["z"]
    expected = 0.0
    for row, value in enumerate((drawn.y if auxiliary == "class" else drawn.s[:, 0]).tolist()):
        prior = Normal(priors[value][:10], (priors[value][10:] / 2).exp())
        expected += kl_divergence(Normal(mu[row], (log_var[row] / 2).exp()), prior).sum().item() / 12
    assert loss.terms["kl"].item() == pytest.approx(expected, rel=1e-5)
    assert loss.value.item() == pytest.approx((loss.terms["rec"] + 3 * loss.terms["kl"]).item(), rel=1e-6)


def test_with_one_standard_normal_prior_for_all_it_is_the_beta_vae() -> None:
    method, rival, drawn = IVAE(TABLE.spec, beta=2.0, width=4), BetaVAE(TABLE.spec, beta=2.0, width=4), batch()
    rival.load_state_dict({k: v for k, v in method.state_dict().items() if not k.startswith("prior")})
    with torch.no_grad():
        for parameter in method.prior.parameters():
            parameter.zero_()
        for one in (method, rival):
            list(one.encoder.parameters())[-1].fill_(0.7)  # a posterior that is far from the prior
    torch.manual_seed(1)
    found = method.losses(drawn, 0)["model"].value.item()
    torch.manual_seed(1)
    assert found == pytest.approx(rival.losses(Images(drawn.index, drawn.x), 0)["model"].value.item(), rel=1e-6)


def test_only_the_chosen_variable_is_seen() -> None:
    drawn = batch()
    for auxiliary, other in (("class", {"s": (drawn.s + 1) % 4}), ("nuisances", {"y": (drawn.y + 1) % 3})):
        method = IVAE(TABLE.spec, auxiliary=auxiliary, width=4)  # type: ignore[arg-type]
        same = [method.losses(one, 0)["model"].terms["kl"].item() for one in (drawn, replace(drawn, **other))]
        assert same[0] == same[1]


def test_data_without_known_nuisances_are_refused() -> None:
    with pytest.raises(UserError, match="ivae --auxiliary nuisances needs nuisances whose values are known"):
        IVAE(replace(TABLE.spec, nuisances=()), auxiliary="nuisances")
