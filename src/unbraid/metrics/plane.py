"""Codes on a plane, by t-SNE (van der Maaten and Hinton, JMLR 2008)."""

from __future__ import annotations

import numpy as np

from unbraid.metrics.arrays import Floats

PICTURE_STEPS = 500  # after them the divergence that t-SNE minimises still falls by a few per cent


def picture_plane(codes: Floats) -> Floats:  # [n, d] -> [n, 2]
    """`tsne_plane` in half the time, to be looked at."""
    return tsne_plane(codes, steps=PICTURE_STEPS)


def tsne_plane(
    codes: Floats, *, perplexity: float = 30.0, seed: int = 0, steps: int = 1000
) -> Floats:  # [n, d] -> [n, 2]
    """Points on a plane whose neighbours are those of the codes.

    Codes are divided by the largest standard deviation of a latent, so that their scale does not matter; codes that
    do not vary stay as they are.

    Args:
        perplexity: of t-SNE: roughly, how many neighbours each point has; less than the number of rows
        seed: of t-SNE
        steps: of t-SNE, 250 at least
    """
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    codes = np.asarray(codes, np.float64)
    scale = codes.std(0).max()
    start = "pca" if codes.shape[1] > 1 and scale > 0 else "random"
    model = TSNE(2, perplexity=perplexity, init=start, random_state=seed, max_iter=steps)
    with threadpool_limits(1):  # several wait for each other, up to ten times as long on a busy machine
        return np.asarray(model.fit_transform(codes / (scale or 1.0)))
