"""What is known of a model without labels."""

from __future__ import annotations

import pytest
import torch

import unbraid
from tests.toys import Elsewhere, Squares, batch_rows
from unbraid.encode import images
from unbraid.metrics.model import quantities
from unbraid.metrics.model.quantities import unsupervised_quantities

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
