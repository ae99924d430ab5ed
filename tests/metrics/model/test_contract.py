"""A method as one flat code, and how its metrics are called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.toys import Squares, batch_rows
from unbraid import catalogue
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.encode import images
from unbraid.errors import UserError
from unbraid.methods.contract import Loss, Method
from unbraid.metrics.contract import Score
from unbraid.metrics.model.contract import Model, measure

TABLE = Squares()
ROWS = batch_rows(TABLE, 5)


class Blocks(Method[Images]):
    """Two blocks of pixels, the second in three features; the decoder writes them back."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec, lr=1.0)
        self.dummy = torch.nn.Parameter(torch.ones(()))

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        return {}

    @property
    def units(self) -> dict[str, list[int]]:
        return {"w": [7, 2, 2, 5, 7]}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        flat = x.flatten(1) * self.dummy
        return {"v": flat[:, 40:43], "w": flat[:, 60:65]}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor:
        return torch.cat([blocks["w"], blocks["v"]], 1)[:, None, None]


class Blind(Blocks):
    decode = Method.decode  # type: ignore[assignment]


def test_features_are_columns_of_all_blocks_side_by_side() -> None:
    model = Model(Blocks(TABLE.spec), TABLE)
    assert model.sizes == {"v": 3, "w": 5}
    assert model.features == [[0], [1], [2], [4, 5], [6], [3, 7]]


def test_codes_are_the_blocks_side_by_side_and_decoded_by_their_names() -> None:
    model = Model(Blocks(TABLE.spec), TABLE)
    flat = images(model.method, TABLE, ROWS).flatten(1)
    code = model.encode(ROWS)
    assert torch.equal(code, flat[:, [40, 41, 42, 60, 61, 62, 63, 64]]) and not code.requires_grad
    drawn = model.decode(code)
    assert torch.equal(drawn.flatten(1), flat[:, [60, 61, 62, 63, 64, 40, 41, 42]]) and not drawn.requires_grad


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Metrics that do nothing but write down how they are called."""
    calls: list[Any] = []

    def metric(method: Any, table: Any, rng: Any, **options: Any) -> Score:
        calls.append((method.training, table, rng.random(), options))
        return Score(float(len(calls)))

    def find(kind: str, name: str) -> Any:
        return SimpleNamespace(kind=kind, name=name, load=lambda: metric)

    monkeypatch.setattr(catalogue, "find", find)
    monkeypatch.setattr(catalogue, "check", lambda entry, own: calls.append((entry.kind, entry.name, own)))
    return calls


def test_each_metric_has_its_own_options_and_a_generator_by_seed_and_name(called: list[Any]) -> None:
    method = Blocks(TABLE.spec).train()
    found = measure(method, TABLE, metrics=["one", "two"], seed=3, options={"two": {"steps": 4}})
    drawn = [np.random.default_rng((3, *name.encode())).random() for name in ("one", "two")]
    assert called == [
        ("metrics", "one", {}),
        (False, TABLE, drawn[0], {}),
        ("metrics", "two", {"steps": 4}),
        (False, TABLE, drawn[1], {"steps": 4}),
    ]
    assert found == {"one": Score(2.0), "two": Score(4.0)}


def test_without_a_decoder_nothing_can_be_asked_for(called: list[Any]) -> None:
    with pytest.raises(UserError, match="one needs a method that can decode, and Blind has no decoder"):
        measure(Blind(TABLE.spec), TABLE, metrics=["one"])
    assert measure(Blind(TABLE.spec), TABLE, metrics=[]) == {} and called == []
