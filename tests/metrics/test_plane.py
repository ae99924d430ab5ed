"""What t-SNE is asked for, and where its points lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_info

from tests.metrics.worlds import noise
from unbraid.metrics import plane
from unbraid.metrics.plane import picture_plane, tsne_plane


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What t-SNE was asked for, and its codes, without the work."""
    calls: list[dict[str, Any]] = []

    def fitted(model: TSNE, codes: Any) -> Any:
        wanted = ("n_components", "perplexity", "init", "random_state", "max_iter")
        blas = {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
        calls.append({name: getattr(model, name) for name in wanted} | {"codes": codes, "threads": blas})
        return codes[:, :2]

    monkeypatch.setattr(TSNE, "fit_transform", fitted)
    return calls


def test_codes_are_divided_by_the_largest_spread_and_arguments_arrive(asked: list[dict[str, Any]]) -> None:
    codes = (noise(40, 3) * [1, 6, 2] + 50).astype(np.float32)
    tsne_plane(codes, perplexity=7.0, seed=3, steps=260)
    spread = max(np.std(codes[:, j].astype(np.float64)) for j in range(3))
    (call,) = asked
    assert call["codes"].dtype == np.float64 and call["codes"] == pytest.approx(codes / spread, rel=1e-12)
    assert (call["n_components"], call["perplexity"], call["init"]) == (2, 7.0, "pca")
    assert (call["random_state"], call["max_iter"], call["threads"]) == (3, 260, {1})


def test_codes_that_do_not_vary_stay_and_begin_at_random(asked: list[dict[str, Any]]) -> None:
    tsne_plane(np.full((9, 2), 7.0))
    tsne_plane(np.arange(9.0)[:, None])
    tsne_plane(noise(9, 2) * 1e-3)
    assert [call["init"] for call in asked] == ["random", "random", "pca"]
    assert (asked[0]["codes"] == 7).all() and asked[1]["codes"].std() == pytest.approx(1)
    assert asked[2]["codes"].std(0).max() == pytest.approx(1)


def test_a_picture_takes_fewer_steps(asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane, "PICTURE_STEPS", 333)
    picture_plane(noise(9, 2))
    tsne_plane(noise(9, 2))
    assert [(call["max_iter"], call["perplexity"], call["random_state"]) for call in asked] == [
        (333, 30.0, 0),
        (1000, 30.0, 0),
    ]
