from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid.data.batch import Views
from unbraid.data.samplers import sampler
from unbraid.data.table import Rows, Spec
from unbraid.errors import UserError
from unbraid.maths.contrast import supcon
from unbraid.methods.sub_supervised import SubSupervised
from unbraid.train.trainer import Trainer


class Pairs(Squares):
    """Views share how large and how bright the square is."""

    shared = ("side", "light")

    def partner(self, rows: Rows, rng: np.random.Generator) -> Rows:
        values = rng.integers(0, self.sizes, (len(rows), 4))
        values[:, 2:] = self.values(rows)[:, 2:]
        return self.rows(values)


TABLE = Pairs()


def batch(n: int = 24, step: int = 0) -> Views:
    drawn = sampler(TABLE, Views, batch=n, seed=0)(step).on("cpu")
    assert isinstance(drawn, Views)
    return drawn


def test_each_slice_is_told_the_labels_of_its_own_factor() -> None:
    method = SubSupervised(TABLE.spec, width=4)
    drawn = batch()
    with torch.no_grad():  # around zero, so that codes point in all directions
        cast(Any, method.trunk)[-1].bias -= method.encode(drawn.x1)["r"].mean(0)
    values = TABLE.values(drawn.index.numpy())
    side, light = method.labels(drawn.y)
    np.testing.assert_array_equal(side.numpy(), values[:, 2])
    np.testing.assert_array_equal(light.numpy(), values[:, 3])
    loss = method.losses(drawn, 0)["model"]
    r = torch.cat([method.encode(drawn.x1)["r"], method.encode(drawn.x2)["r"]]).detach()
    expected = [supcon(r[:, :16], side.repeat(2), 0.1), supcon(r[:, 16:], light.repeat(2), 0.1)]
    assert abs(expected[0] - expected[1]) > 0.1
    assert loss.terms["infomax_r0"].item() == pytest.approx(expected[0].item(), rel=1e-5)
    assert loss.terms["infomax_r1"].item() == pytest.approx(expected[1].item(), rel=1e-5)
    assert loss.value.item() == pytest.approx(float(sum(expected)), rel=1e-5)


def test_labels_are_told_apart_for_any_number_of_factors() -> None:
    spec = Spec((1, 12, 12), 100, shared=(3, 4, 5))
    method = SubSupervised(spec, width=6)
    values = np.random.default_rng(0).integers(0, (3, 4, 5), (50, 3))
    joint = torch.from_numpy(np.ravel_multi_index(tuple(values.T), (3, 4, 5)))
    np.testing.assert_array_equal(torch.stack(method.labels(joint), 1).numpy(), values)
    found = method.encode(torch.rand(2, 1, 12, 12))
    assert list(found) == ["r", "r0", "r1", "r2"]
    units = torch.tensor(method.units["r"])
    assert all(torch.equal(found["r"][:, units == k], found[f"r{k}"]) for k in range(3))


def test_what_cannot_be_taught_is_refused() -> None:
    with pytest.raises(UserError, match="a data set whose views share factors"):
        SubSupervised(Spec((1, 12, 12), 100), width=4)
    with pytest.raises(UserError, match="must be more than 0"):
        SubSupervised(TABLE.spec, width=4, temperature=0.0)
    with pytest.raises(UserError, match="use --views-of class"):
        SubSupervised(TABLE.spec, width=4).losses(replace(batch(), y=torch.arange(24)), 0)
    SubSupervised(TABLE.spec, width=4).losses(replace(batch(), y=torch.arange(24)), 1)  # looked at once


@pytest.mark.slow
def test_slices_learn_their_own_factor_and_lose_the_other() -> None:
    torch.manual_seed(0)
    method = SubSupervised(TABLE.spec, width=8)
    trainer = Trainer(method)
    for step in range(800):
        trainer.step(batch(64, step), step)
    from sklearn.linear_model import LogisticRegression

    rows = np.random.default_rng(1).integers(0, len(TABLE), 1200)
    with torch.no_grad():
        codes = method.encode(torch.from_numpy(TABLE.images(rows)).float() / 255)
    values = TABLE.values(rows)

    def told(block: str, factor: int) -> float:
        code = codes[block].numpy()
        model = LogisticRegression(max_iter=1000).fit(code[:800], values[:800, factor])
        return float(model.score(code[800:], values[800:, factor]))

    assert told("r0", 2) > 0.95
    assert told("r1", 3) > 0.95
    assert told("r0", 3) < 0.7
    assert told("r1", 2) < 0.7
