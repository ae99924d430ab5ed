"""Which rows a translator is trained and tried on, and which numbers make its score."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.metrics.model.test_translation import TABLE, Paired, Textures
from tests.toys import Vectors
from unbraid.errors import UserError
from unbraid.metrics.model import translation as module
from unbraid.metrics.model.contract import Model
from unbraid.metrics.model.translation import _score, _set, translation


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """The rows that are encoded and what the translator is called with; its losses are numbers of the call."""
    seen: dict[str, list[Any]] = {"rows": [], "losses": []}

    def encode(model: Model, rows: Any) -> Tensor:
        seen["rows"].append(rows.tolist())
        return torch.from_numpy(rows)[:, None] + 1000.0 * torch.arange(4)

    def losses(net: Any, u: Tensor, v: Tensor, *how: Any) -> list[float]:
        seen["losses"].append((net, u, v, how))
        n = len(seen["losses"])
        return [10.0 + n, 20.0 + n * n, 10.0]

    monkeypatch.setattr(Model, "encode", encode)
    monkeypatch.setattr(Model, "decode", lambda model, code: code)
    monkeypatch.setattr(module, "_losses", losses)
    return seen


def test_values_come_from_two_rows_and_pictures_from_others(calls: dict[str, list[Any]]) -> None:
    found = translation(
        Paired(TABLE.spec), TABLE, np.random.default_rng(0), batch=3, repeats=2, steps=7, alpha=0.5, width=4, least=12.0
    )
    draw = np.random.default_rng(0)
    assert calls["rows"] == [draw.choice(768, 8, replace=False).tolist() for _ in range(4)]
    for i, (rows, (net, u, v, how)) in enumerate(zip(calls["rows"], calls["losses"], strict=True)):
        held = [0, 2] if i % 2 == 0 else [1, 3]
        for picture, value in ((u, rows[0]), (v, rows[1])):
            wanted = [[1000 * k + (value if k in held else row) for k in range(4)] for row in rows[2:]]
            assert picture.tolist() == wanted
        assert how == (3, 7, 0.5) and net.net[0].out_channels == 4
    # losses of calls 1 to 4: the first feature has the odd ones; what the identity loses is 10 + n^2
    assert found.parts["per_feature"].tolist() == [12, 13] and found.parts["left"].tolist() == [2, 3]
    assert found.parts["effect"].tolist() == [10 + 5, 10 + 10] and found.parts["active"] == 2
    assert found.value == pytest.approx((1 + 2 + 3 + 4) / (11 + 14 + 19 + 26)) and found.n == 12
    assert found.params == {"steps": 7, "alpha": 0.5, "batch": 3, "repeats": 2, "width": 4, "least": 12.0}


@pytest.mark.parametrize(("batch", "repeated"), [(383, False), (384, True)])
def test_rows_are_repeated_only_where_there_are_too_few(
    batch: int, repeated: bool, calls: dict[str, list[Any]]
) -> None:
    translation(Textures(TABLE.spec, rule="own"), TABLE, np.random.default_rng(0), batch=batch, repeats=1, width=4)
    assert all((len(set(rows)) < 2 * batch + 2) == repeated for rows in calls["rows"])


def test_one_feature_is_set_and_the_code_is_left_as_it_was() -> None:
    code = torch.arange(6.0).reshape(2, 3)
    assert _set(code, [0, 2], torch.tensor([7.0, 8, 9])).tolist() == [[7, 1, 9], [7, 4, 9]]
    assert code.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_feature_is_active_above_the_least_effect_and_without_one_there_is_no_value() -> None:
    own = np.full((1, 2), 5.0)
    losses = np.stack([own + 1, own + np.array([2.0, 4.0]), own])
    assert _score(losses, least=2.0, batch=3).value == pytest.approx(1 / 4)  # 2 nats are not more than 2
    assert _score(losses, least=1.9, batch=3).value == pytest.approx(2 / 6)
    none = _score(losses, least=4.0, batch=3)
    assert np.isnan(none.value) and none.warnings == ("translation: no feature changes the images",)
    assert (none.n, none.params, none.parts["active"], none.parts["loss"]) == (6, {"least": 4.0, "batch": 3}, 0, 6)
    assert none.parts["effect"].tolist() == [2, 4] and none.parts["left"].tolist() == [1, 1]
    assert _score(losses, least=1.0, batch=3).low is None


def test_features_are_refused() -> None:
    with pytest.raises(UserError, match="translation needs images, and these are features"):
        translation(Textures(TABLE.spec, rule="own"), Vectors(144), np.random.default_rng(0))
