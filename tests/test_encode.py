"""Codes, posteriors and classes of rows, with as few passes of the encoder as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import unbraid
from tests.toys import Squares, batch_rows
from unbraid.encode import BATCH, encode_rows, encoded, images
from unbraid.methods.vae import VAE

TABLE = Squares()
ROWS = batch_rows(TABLE, BATCH + 20)


def passes(name: str) -> tuple[Any, Any, int]:
    """A method, the codes of two batches, and how often its encoder was called."""
    method = unbraid.build(name, TABLE, width=2, latents=2, net="dense")
    calls: list[Any] = []
    hook = method.encoder.register_forward_hook(lambda *_: calls.append(None))
    codes = encode_rows(method, TABLE, ROWS)
    hook.remove()
    return method, codes, len(calls)


@pytest.mark.parametrize(("name", "times"), [("vae", 1), ("beta_vae_classifier", 2)])
def test_rows_are_encoded_once_and_classified(name: str, times: int) -> None:
    method, codes, calls = passes(name)
    assert calls == 2 * times
    parts = [images(method, TABLE, rows) for rows in (ROWS[:BATCH], ROWS[BATCH:])]
    with torch.no_grad():
        wanted = torch.cat([method.encode(x)["z"] for x in parts]).numpy()
        np.testing.assert_array_equal(codes.blocks["z"].codes, wanted)
        if name == "vae":
            assert codes.predicted is None
        else:
            guesses = torch.cat([method.classify(x) for x in parts]).argmax(-1)
            np.testing.assert_array_equal(codes.predicted, guesses.numpy())


class Shifted(VAE):
    """Codes that are not the means of its posterior."""

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        mu, log_var = self.encoder(x).chunk(2, -1)
        return {"z": (mu, log_var)}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.posterior(x)["z"][0] + 1}


def test_codes_of_its_own_win_over_the_means() -> None:
    method = Shifted(TABLE.spec, net="dense", width=2, latents=2).eval()
    codes, posterior = encoded(method, images(method, TABLE, ROWS[:4]))
    assert torch.equal(codes["z"], posterior["z"][0] + 1)


@pytest.mark.parametrize("name", ["ivae", "vfae", "cvib"])
def test_the_kl_to_another_prior_is_not_kept(name: str) -> None:
    block = passes(name)[1].blocks["z"]
    assert block.kl is None and block.scale is not None
