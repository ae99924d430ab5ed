"""Codes on a plane by t-SNE (van der Maaten and Hinton, JMLR 2008)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def tsne_plane(codes: NDArray[np.float64], *, perplexity: float = 30.0, seed: int) -> NDArray[np.float64]:
    """Places [n, 2] of codes [n, d], which are first brought to one scale."""
    from sklearn.manifold import TSNE

    start = "pca" if codes.shape[1] > 1 else "random"
    tsne = TSNE(2, perplexity=perplexity, init=start, random_state=seed, n_jobs=1)
    return np.asarray(tsne.fit_transform(codes / codes.std(0).max()))
