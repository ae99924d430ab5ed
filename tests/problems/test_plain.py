from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid import build, fit, report, represent
from unbraid.codes import Block, Codes
from unbraid.data.table import Bytes, Factor, Rows
from unbraid.encode import encode, encode_rows, images
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.problems.contract import Trained
from unbraid.problems.latents import active_latents, neighbours_shown
from unbraid.problems.plain import nearest, neighbours, spaces, take, thumbnails
from unbraid.problems.scores import check_metrics

TABLE = Squares()


def naive(codes: np.ndarray[Any, Any], query: int, count: int) -> list[int]:
    """By going through the others one at a time."""
    distances = []
    for place, code in enumerate(codes):
        if place != query:
            distances.append((float(sum((a - b) ** 2 for a, b in zip(code, codes[query], strict=True))), place))
    return [place for _, place in sorted(distances)[:count]]


@pytest.mark.parametrize("width", [1, 4])
def test_neighbours_are_the_nearest_and_not_the_image_itself(width: int) -> None:
    codes = np.random.default_rng(0).normal(size=(60, width))
    codes[7] = codes[0]  # a copy is a neighbour
    found = nearest(codes)
    assert found.tolist() == [naive(codes, query, 3) for query in range(3)]
    assert found[0, 0] == 7


def test_equally_near_images_come_in_the_order_of_the_rows() -> None:
    assert nearest(np.zeros((6, 2))).tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3]]
    assert nearest(np.zeros((2, 1))).tolist() == [[1], [0]]


def codes_of(rows: Any = (), **blocks: Block) -> Codes:
    return Codes(blocks, np.asarray(rows, np.int64), np.zeros((0, 0), np.int64), ())


def test_a_score_knows_which_factors_are_kinds() -> None:
    """The class of the table and what its factors say, through the file of codes."""

    class Tinted(Squares):
        factors = (*Squares.factors[:3], Factor("light", 4, ordered=False))

    codes = encode_rows(build("vae", Tinted(), width=4), Tinted(), np.arange(768))
    assert codes.kinds == ("side", "light")
    again = Codes.from_arrays(codes.arrays())
    assert again.kinds == codes.kinds
    given: dict[str, Any] = {"seed": 0, "options": {}, "bootstrap": 0, "jobs": 1}
    assert take(again, ["sap"], **given)["sap"].params["ordered"] == [0, 1]
    unknown = replace(again, kinds=())
    assert take(unknown, ["sap"], **given)["sap"].params["ordered"] == [0, 1, 2, 3]
    svm = {**given, "options": {"sap": {"method": "svm"}}}
    assert take(again, ["sap"], **svm)["sap"].params["ordered"] == []


class Named(Method[Any]):
    def __init__(self, units: dict[str, list[int]]) -> None:
        super().__init__(TABLE.spec, lr=1.0)
        self.nothing = torch.nn.Parameter(torch.zeros(1))
        self.said = units

    @property
    def units(self) -> dict[str, list[int]]:
        return self.said

    def losses(self, batch: Any, step: int) -> dict[str, Any]:
        return {}


def test_features_are_units_or_latents_of_one_block_or_blocks() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(100, 3)) * [1, 0.001, 2]
    one = codes_of(z=Block(z))
    assert spaces(Named({}), one) == [("z2", "z", [2]), ("z0", "z", [0])]  # the second latent is dead
    carried = codes_of(z=Block(z, kl=np.array([3, 2.5, 0.01])))
    assert spaces(Named({}), carried) == [("z0", "z", [0]), ("z1", "z", [1])]
    assert spaces(Named({"z": [1, 0, 1]}), one)[0] == ("z1", "z", [0, 2])
    two = codes_of(s=Block(rng.normal(size=(100, 2))), z=Block(5 * rng.normal(size=(100, 2))))
    assert spaces(Named({}), two) == [("z", "z", [0, 1]), ("s", "s", [0, 1])]


def test_pictures_are_those_of_the_neighbours() -> None:
    method = Named({})
    rows = np.random.default_rng(0).permutation(len(TABLE))[:80].astype(np.int64)
    z = TABLE.values(rows)[:, :2].astype(np.float32)
    found = neighbours(Trained(method, TABLE, None, rows[:10], 0), codes_of(rows, z=Block(z)))
    assert sorted(found["retrieval_spaces"]) == ["z0", "z1"]
    for s, space in enumerate(found["retrieval_spaces"]):
        for q in range(3):
            place = naive(z[:, [int(space[1])]], q, 3)
            assert found["retrieval_rows"][s, q].tolist() == rows[place].tolist()
            np.testing.assert_array_equal(found["retrieval"][s, q], TABLE.images(rows[place]))
    np.testing.assert_array_equal(found["retrieval_queries"], TABLE.images(rows[:3]))


def test_large_pictures_are_made_small_by_averaging() -> None:
    x = torch.rand(2, 3, 96, 96)
    small = thumbnails(x)
    assert small.shape == (2, 3, 32, 32)
    assert small[1, 2, 5, 7] == pytest.approx(255 * x[1, 2, 15:18, 21:24].mean().item(), abs=0.51)
    assert thumbnails(x[..., :28, :28]).shape == (2, 3, 28, 28)


def test_the_page_shows_a_row_for_each_feature(tmp_path: Path) -> None:
    method = build("vae", TABLE, net="dense", width=8, latents=3, lr=3e-3)
    run = fit(method, TABLE, steps=200, batch=32, out=str(tmp_path), show=False)
    represent(run, method, TABLE, points=200)
    pictures, codes = run.arrays("pictures.npz"), run.arrays("codes.npz")
    alive = int((codes["kl_z"] >= 0.05).sum())
    assert len(pictures["retrieval_spaces"]) == alive > 0
    page = report(run).read_text()
    assert page.count('alt="neighbours in z') == 3 * alive
    first = int(pictures["retrieval_spaces"][0][1:])
    assert first == codes["kl_z"].argmax()
    expected = codes["rows"][naive(codes["codes_z"][:, [first]], 0, 3)]
    assert pictures["retrieval_rows"][0, 0].tolist() == expected.tolist()
    drawn = images(method, TABLE, expected.astype(np.int64))
    np.testing.assert_array_equal(pictures["retrieval"][0, 0], thumbnails(drawn))


def test_a_method_without_a_decoder_has_neighbours_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = build("vae", TABLE, net="dense", width=8, latents=3, lr=3e-3)
    run = fit(method, TABLE, steps=200, batch=32, out=str(tmp_path), show=False)
    monkeypatch.setattr(type(method), "decode", lambda self, blocks: None)
    represent(run, method, TABLE, points=50)
    page = report(run).read_text()
    assert "Nearest neighbours" in page
    assert "Reconstructions" not in page
    assert neighbours_shown({}) == []


def test_traversals_begin_with_the_image_in_which_most_is_to_be_seen() -> None:
    class Plain(Squares):
        """All images are blue but one, which is grey and striped."""

        shape = (3, 16, 16)

        def images(self, rows: Rows) -> Bytes:
            drawn = np.zeros((len(rows), 3, 16, 16), np.uint8)
            drawn[:, 2] = 255
            drawn[rows % 7 == 3] = np.where(np.arange(16) % 2, 90, 110)
            return drawn

    table = Plain()
    table.background = None
    rows = encode(build("vae", table, net="dense", width=2), table, points=50).rows
    assert rows[0] % 7 == 3
    assert len(set(rows)) == 50


@pytest.mark.parametrize("name", ["plain", "features"])
def test_a_kind_of_problem_without_scores_is_no_metric(name: str) -> None:
    with pytest.raises(UserError, match=f"no metric is called '{name}'"):
        check_metrics({name: {}})


def test_latents_are_labelled_by_the_block_that_was_scored() -> None:
    rng = np.random.default_rng(0)
    blocks = {name: Block(rng.normal(size=(40, 2))) for name in ("p", "n")}
    codes = Codes(blocks, np.arange(40), rng.integers(4, size=(40, 1)), ("shape",))
    parts, params = {"mutual_information": [[1.3], [0.0]]}, {"block": "n", "factors": ["shape"]}
    scores: dict[str, Any] = {"mig": {"parts": parts, "params": params}}
    assert dict(active_latents("n", codes, scores))[0] == ["n0", "mostly shape"]
    assert dict(active_latents("p", codes, scores))[0] == ["p0"]


def test_a_thin_image_has_a_thumbnail() -> None:
    assert thumbnails(torch.rand(2, 3, 4, 256)).shape == (2, 3, 1, 32)
