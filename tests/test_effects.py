"""Which features each latent moves: against linear decoders, where it is known, and against a bootstrap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import unbraid
from tests.toys import Elsewhere
from unbraid import effects as module
from unbraid.data.features import Scaling
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.model import Model

RNG = np.random.default_rng(0)
SCALING = Scaling(np.array([10.0, -4.0, 0.5]), np.array([3.0, 200.0, 0.01]), ("size", "dose", "shade"))


class Toy(Method[Any]):
    """Codes are the first two scaled features; what is drawn is a function of the codes that is given."""

    def __init__(self, draw: Any) -> None:
        super().__init__(Spec((1, 1, 3), 10), lr=0.1)
        self.blocks, self.draw = {"s": 1, "z": 1}, draw
        self.decoder = nn.Linear(1, 1)  # type: ignore[assignment]

    def losses(self, batch: Any, step: int) -> Any:
        raise NotImplementedError

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"s": x[:, 0, 0, :1], "z": x[:, 0, 0, 1:2]}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        drawn: Tensor = self.draw(torch.cat([blocks["s"], blocks["z"]], 1))
        return drawn[:, None, None]


def samples(n: int = 300) -> pd.DataFrame:
    return pd.DataFrame(SCALING.mean + SCALING.spread * RNG.normal(size=(n, 3)), columns=list(SCALING.names))


def test_the_effect_of_a_linear_decoder_is_its_weight_times_two_standard_deviations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "BATCH", 64)
    weights = torch.tensor([[0.3, -0.2, 0.1], [0.0, 0.05, -0.4]])
    model, x = Model(Toy(lambda z: 0.2 + z @ weights), SCALING), samples()
    table = model.effects(x)
    codes = model.transform(x).astype(np.float64)
    for latent in range(2):
        of = table[table["latent"] == model.feature_names[latent]].set_index("feature")
        wanted = 2 * codes[:, latent].std() * weights[latent].numpy() * 10 * SCALING.spread
        np.testing.assert_allclose(of.loc[list(SCALING.names), "effect"], wanted, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(of.loc[list(SCALING.names), "standardised"], wanted / SCALING.spread, atol=1e-5)
        width = (of["high"] - of["low"])[list(SCALING.names)] / SCALING.spread
        assert width.max() < 1e-6  # the same for every sample
    assert table["feature"].tolist() == [
        "size",
        "dose",
        "shade",
        "shade",
        "dose",
        "size",
    ]  # by size in their deviations


def test_the_interval_is_that_of_a_bootstrap_over_samples() -> None:
    def draw(z: Tensor) -> Tensor:
        return torch.stack([torch.sin(9 * z[:, 0]) * z[:, 1], z[:, 0] * z[:, 1] ** 2, z[:, 1]], 1)

    model, x = Model(Toy(draw), SCALING), samples(200)
    found = model.effects(x, block="s").set_index("feature").loc[["size", "dose"]]
    codes = model.transform(x).astype(np.float64)
    mean, sd = codes[:, 0].mean(), codes[:, 0].std()
    up, down = (
        draw(torch.from_numpy(np.stack([np.full(len(codes), mean + sign * sd), codes[:, 1]], 1))).numpy()
        for sign in (1, -1)
    )
    changes = (SCALING.undo(up) - SCALING.undo(down))[:, :2]
    rows = np.random.default_rng(1).integers(0, 200, (4000, 200))
    low, high = np.quantile(changes[rows].mean(1), [0.025, 0.975], 0)
    np.testing.assert_allclose(found["effect"], changes.mean(0), rtol=1e-4)
    width = high - low
    np.testing.assert_allclose(found["high"] - found["low"], width, rtol=0.08)
    assert (np.abs(found["low"] - low) < 0.06 * width).all() and (np.abs(found["high"] - high) < 0.06 * width).all()


def test_a_constant_feature_is_not_moved_and_one_sample_has_no_interval() -> None:
    scaling = Scaling(SCALING.mean, np.array([3.0, 200.0, 0.0]), SCALING.names)
    model = Model(Toy(lambda z: z @ torch.ones(2, 3)), scaling)
    table = model.effects(samples().assign(shade=0.5)).set_index("feature")
    assert (table.loc["shade", ["effect", "standardised"]] == 0).all(axis=None)
    assert model.effects(samples(1))["low"].isna().all()


def test_what_has_no_effects_is_said(tmp_path: Path) -> None:
    model = Model(Toy(lambda z: z @ torch.ones(2, 3)), SCALING)
    with pytest.raises(UserError, match=r"no block of .* is called 'n'"):
        model.effects(samples(), block="n")
    with pytest.raises(UserError, match="trained on images: draw traversals"):
        Model(Toy(None)).effects(samples())
    x = RNG.normal(size=(40, 3))
    data = unbraid.from_arrays(x, background=x)
    method = unbraid.build("cpca", data, salient=1, common=1)
    run = unbraid.fit(method, data, out=str(tmp_path), show=False)
    with pytest.raises(UserError, match="cpca has no decoder"):
        unbraid.load_run(run.path).effects(x)


def test_float64_is_made_on_the_cpu() -> None:
    weights, codes = torch.tensor([[0.3, -0.2, 0.1], [0.0, 0.05, -0.4]]), torch.randn(20, 2)
    method, blocks = Toy(lambda z: z @ weights), {"s": codes[:, :1], "z": codes[:, 1:]}
    there = {name: code.as_subclass(Elsewhere) for name, code in blocks.items()}
    wanted = module.effects(method, blocks, "z", SCALING)
    np.testing.assert_array_equal(module.effects(method, there, "z", SCALING), wanted)
