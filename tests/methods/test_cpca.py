from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from tests.toys import Squares
from unbraid.data.batch import TargetBackground
from unbraid.data.table import Bytes, Rows, Table
from unbraid.errors import UserError
from unbraid.methods.cpca import CPCA

ROWS = 3000


class Blobs(Table):
    """Images of 1x4 values: both sets vary much in the first; targets besides, but less, in the third."""

    name = "blobs"
    gives = ("Images", "TargetBackground")
    shape = (1, 1, 4)

    def __init__(self, *, target: bool = True) -> None:
        rng = np.random.default_rng(int(target))
        scale = np.array([30, 5, 15 if target else 3, 4])
        self.pixels = np.clip(np.rint(rng.normal(120, scale, (ROWS, 4))), 0, 255).astype(np.uint8)
        if target:
            self.background = Blobs(target=False)

    def __len__(self) -> int:
        return ROWS

    def images(self, rows: Rows) -> Bytes:
        return self.pixels[rows][:, None, None]


def solved(alpha: float, table: Table, salient: int = 1) -> CPCA:
    torch.manual_seed(0)
    method = CPCA(table.spec, alpha=alpha, common=1, salient=salient)
    method.solve(table)
    return method


def direction(method: CPCA) -> NDArray[np.float32]:
    found: NDArray[np.float32] = method.salient.detach().numpy()[:, 0]
    return found


def test_it_finds_what_only_targets_have_and_pca_does_not() -> None:
    table = Blobs()
    assert abs(direction(solved(2.0, table))[2]) > 0.99
    assert abs(direction(solved(0.0, table))[0]) > 0.99
    assert abs(solved(2.0, table).common.detach().numpy()[0, 0]) > 0.99


def test_without_a_background_it_is_pca_of_the_targets() -> None:
    table = Squares()
    rows = np.arange(len(table))
    x = table.images(rows).reshape(len(rows), -1) / 255
    pca = PCA(5).fit(x)
    method = solved(0.0, table, salient=5)
    overlap = np.abs(pca.components_ @ method.salient.detach().numpy())
    spread = pca.explained_variance_
    np.testing.assert_allclose((overlap**2).sum(), 5, atol=1e-3)
    codes = method.encode(torch.from_numpy(x).float().reshape(-1, 1, 12, 12))["s"]
    np.testing.assert_allclose(codes.var(0).detach().numpy(), spread, rtol=1e-3)


def test_no_other_orthonormal_directions_have_a_lower_loss() -> None:
    table = Squares()
    assert table.background is not None
    everything = np.arange(len(table))
    images = [torch.from_numpy(part.images(everything)).float() / 255 for part in (table, table.background)]
    batch = TargetBackground(torch.from_numpy(everything), *images)
    method = solved(1.5, table, salient=3)
    with torch.no_grad():
        best = method.losses(batch, 0)["model"].value.item()
        torch.manual_seed(0)
        for size in (0.01, 0.1, 10.0):
            for _ in range(20):
                v = method.salient.data.clone()
                moved = torch.linalg.qr(v + size * torch.randn_like(v))[0]
                method.salient.data = moved
                assert method.losses(batch, 0)["model"].value.item() > best
                method.salient.data = v


def test_images_too_large_for_a_covariance_are_refused() -> None:
    from unbraid.data.table import Spec

    with pytest.raises(UserError, match="cpca takes images of 16 to 5000 values, not 12288"):
        CPCA(Spec((3, 64, 64), 10))


def test_codes_are_distances_from_the_mean_of_the_backgrounds() -> None:
    table = Squares()
    assert table.background is not None
    x = torch.from_numpy(table.background.images(np.arange(len(table.background)))).float() / 255
    method = solved(2.0, table)
    with torch.no_grad():
        at_the_mean = method.encode(x.mean(0, keepdim=True))
    for codes in at_the_mean.values():
        torch.testing.assert_close(codes, torch.zeros_like(codes), atol=1e-4, rtol=0)
