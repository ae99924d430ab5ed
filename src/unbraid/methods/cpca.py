"""cPCA: directions in which targets vary much and backgrounds little, Abid et al. 2018 (Nature Communications 9:2134).

    minimise  -tr V^T (C_x - alpha C_y) V  over orthonormal V

with the covariances C_x of targets and C_y of backgrounds: V are the leading eigenvectors of C_x - alpha C_y. There is
nothing to train: `solve` finds them. alpha = 0 is PCA of the targets; the larger alpha, the more the directions avoid
what varies in the background.

Differs from the paper: alpha is given, not chosen among 40 by clustering; the block `z`, the leading principal
components of the background, is added to have a common code for comparison; there is no decoder.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh
from torch import Tensor, nn

from unbraid.config import Size, Weight
from unbraid.data.batch import Images, TargetBackground
from unbraid.data.table import Spec, Table
from unbraid.errors import UserError
from unbraid.methods.contract import Loss, Method, minimise

LARGEST = 5000  # values in an image; the covariance has the square of that
CHUNK = 1000


class CPCA(Method[TargetBackground]):
    """Linear directions of what only targets have, and of the background; blocks `s` (salient) and `z` (common).

    Args:
        alpha: weight of the variance of the backgrounds
        common: number of dimensions of z
        salient: number of dimensions of s
    """

    solved = True

    def __init__(self, spec: Spec, *, alpha: Weight = 2.0, common: Size = 16, salient: Size = 8) -> None:
        super().__init__(spec, lr=0.0)
        values = int(np.prod(spec.shape))
        if not max(common, salient) <= values <= LARGEST:
            raise UserError(
                f"cpca takes images of {max(common, salient)} to {LARGEST} values, not {values}: choose another size"
            )
        self.alpha = alpha
        self.centre = nn.Parameter(torch.zeros(values))
        self.salient = nn.Parameter(torch.linalg.qr(torch.randn(values, salient))[0])  # V
        self.common = nn.Parameter(torch.linalg.qr(torch.randn(values, common))[0])

    def losses(self, batch: TargetBackground, step: int) -> dict[str, Loss]:
        v = self.salient
        c_x, c_y = (torch.cov(x.flatten(1).T) for x in (batch.target, batch.background))
        contrast = -torch.trace(v.T @ (c_x - self.alpha * c_y) @ v)
        return {"model": minimise(contrast, target=torch.trace(v.T @ c_x @ v), background=torch.trace(v.T @ c_y @ v))}

    @torch.no_grad()
    def solve(self, data: Table) -> None:
        assert data.background is not None
        (_, c_x), (centre, c_y) = moments(data), moments(data.background)
        self.centre.copy_(torch.from_numpy(centre))
        self.salient.copy_(torch.from_numpy(leading(c_x - self.alpha * c_y, self.salient.shape[1])))
        self.common.copy_(torch.from_numpy(leading(c_y, self.common.shape[1])))

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        centred = x.flatten(1) - self.centre
        return {"s": centred @ self.salient, "z": centred @ self.common}


def moments(data: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of all images of a table, a few at a time. -> [d], [d, d]"""
    values = int(np.prod(data.shape))
    total, squares = np.zeros(values), np.zeros((values, values))
    for start in range(0, len(data), CHUNK):
        rows = torch.arange(start, min(start + CHUNK, len(data)))
        x = Images(rows, torch.from_numpy(data.images(rows.numpy()))).on("cpu").x.flatten(1).double().numpy() - 0.5
        total += x.sum(0)
        squares += x.T @ x
    mean = total / len(data)
    return mean + 0.5, squares / len(data) - np.outer(mean, mean)


def leading(symmetric: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Eigenvectors of the k largest eigenvalues, the largest first, each with its largest entry positive. -> [d, k]"""
    d = len(symmetric)
    vectors = eigh(symmetric, subset_by_index=(d - k, d - 1))[1][:, ::-1]
    signs = np.sign(vectors[np.abs(vectors).argmax(0), np.arange(k)])
    return np.ascontiguousarray(vectors * signs)
