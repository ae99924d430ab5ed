"""The part of the report on a target and a background: what each block draws, and where the salient codes lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures import svg as figures

POINTS = 1200  # of each set on the plane; t-SNE of more takes long
FEWEST = 40
ROWS = ("[z, s]: all of it", "[z, 0]: what is common", "[0, s]: what is salient")


def section(codes: dict[str, NDArray[Any]], pictures: dict[str, NDArray[Any]]) -> str:
    """Nothing for a run without a background, or whose code has no salient block."""
    if "background_s" not in codes:
        return ""
    return _apart(pictures) + _between(pictures) + _plane(codes)


def _apart(pictures: dict[str, NDArray[Any]]) -> str:
    if "apart" not in pictures:
        return ""
    text = "<h2>Targets, taken apart</h2>" + _row("targets", pictures["originals"])
    text += "".join(_row(name, images) for name, images in zip(ROWS, pictures["apart"], strict=True))
    text += '<p class="note">The second row should show the background alone, the third what was added to it.</p>'
    text += "<h2>Backgrounds</h2>" + _row("backgrounds", pictures["background_originals"])
    return text + _row("from [z, 0]", pictures["background_reconstructions"])


def _between(pictures: dict[str, NDArray[Any]]) -> str:
    if "between" not in pictures:
        return ""
    grid = pictures["between"]
    n, m, channels, height, width = grid.shape
    sheet = grid.transpose(0, 2, 3, 1, 4).reshape(1, n, channels, height, m * width)[0]
    rows = "".join(f'<img alt="between salient codes" src="{figures.strip(row[None])}">' for row in sheet)
    return (
        "<h2>Between salient codes</h2>"
        f'<div style="max-width: 26rem">{rows}</div>'
        '<p class="note">The salient code moves between those of four targets, one in each corner; the common code '
        "stays that of the target at the top left.</p>"
    )


def _plane(codes: dict[str, NDArray[Any]]) -> str:
    """t-SNE of the salient codes (van der Maaten and Hinton, JMLR 2008)."""
    target, background = codes["codes_s"][:POINTS], codes["background_s"][:POINTS]
    both = np.concatenate([target, background]).astype(np.float64)
    if min(len(target), len(background)) < FEWEST or not both.std(0).max() > 0:
        return ""
    from sklearn.manifold import TSNE

    plane = TSNE(2, init="pca" if both.shape[1] > 1 else "random", random_state=0, n_jobs=1).fit_transform(
        both / both.std(0).max()
    )
    names, label = [str(name) for name in codes["factor_names"]], str(codes["label"])
    classes = codes["factors"][: len(target), names.index(label)] if label in names else np.zeros(len(target), int)
    kinds = [f"{label} {value}" if label else "target" for value in np.unique(classes)]
    groups = [plane[: len(target)][classes == value] for value in np.unique(classes)]
    return (
        "<h2>Salient codes on a plane</h2>"
        + figures.scatter({"background": plane[len(target) :], **dict(zip(kinds, groups, strict=True))})
        + '<p class="note">t-SNE of the salient codes of both sets. Backgrounds should lie together, away from '
        "targets; groups among the targets are what they differ in.</p>"
    )


def _row(name: str, images: NDArray[Any]) -> str:
    return f'<div class=latent><span>{name}</span><img alt="{name}" src="{figures.strip(images)}"></div>'
