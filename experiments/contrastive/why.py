"""Why NL-MNIST is not much harder than L-MNIST here: its digit is seen where the grass is brighter than 0.3."""

from __future__ import annotations

import numpy as np

from unbraid.data.sets.grassy_mnist import GrassyMNIST
from unbraid.metrics.clustering_accuracy import clustering_accuracy
from unbraid.study.claims import Table

THRESHOLDS = (0.0, 0.3, 0.5, 0.6)
COMPONENTS = 30


def seen(most: int) -> Table:
    """Clusters of digits without grass, of which the pixels are hidden that darker grass would hide.

    Args:
        most: the largest number of digits
    """
    data = GrassyMNIST(combine="nonlinear", halves=False)
    rows = np.random.default_rng(0).permutation(len(data))[:most]
    grass, digits = data.behind.images(rows)[:, :1] / 255, data.digits[rows][:, None] / 255
    found = []
    for threshold in THRESHOLDS:
        visible = grass >= threshold
        pixels = (digits * visible).reshape(len(rows), -1)
        left, sizes, _ = np.linalg.svd(pixels - pixels.mean(0), full_matrices=False)
        codes = (left * sizes)[:, :COMPONENTS].astype(np.float32)
        score = clustering_accuracy(codes, data.values(rows), np.random.default_rng(0), resamplings=0)
        found.append([threshold, f"{100 * visible.mean():.0f}", f"{100 * score.value:.1f}"])
    note = (
        f"Clusters of {COMPONENTS} principal components of {len(rows):,} digits without grass, whose pixels are hidden "
        "where the patch is darker than the threshold. NL-MNIST has 0.3; a higher threshold stands for darker grass."
    )
    columns = ["seen where the grass is above", "pixels seen, %", "accuracy of clusters, %"]
    return Table("How much of the digit NL-MNIST shows", columns, found, note)
