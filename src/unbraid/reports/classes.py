"""The part of the report on the blocks p and n: pairs swapped, what each factor moves, both blocks on a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures import svg as figures

POINTS = 800  # on a plane; t-SNE of more takes long
FEWEST = 40
ROWS = ("pairs", "drawn", "drawn after the swap", "[random p, n]", "[p, random n]")


def section(codes: dict[str, NDArray[Any]], pictures: dict[str, NDArray[Any]]) -> str:
    """Nothing for a run whose code has no such blocks."""
    if not {"codes_p", "codes_n", "label"} <= codes.keys():
        return ""
    return _pairs(pictures) + _moves(codes) + _planes(codes)


def _pairs(pictures: dict[str, NDArray[Any]]) -> str:
    if "swapped" not in pictures:
        return ""
    rows = "".join(
        f'<div class=latent><span>{name}</span><div><img alt="{name}" src="{figures.strip(first)}">'
        f'<img alt="{name}" src="{figures.strip(second)}"></div></div>'
        for name, (first, second) in zip(ROWS, pictures["swapped"], strict=True)
    )
    return (
        f"<h2>Pairs, swapped</h2>{rows}"
        '<p class="note">The two pictures of a pair, one below the other, differ in one factor. Swapped: p, and all of '
        "n but the latent that differs most, come from the other picture; nothing should change. With a random p the "
        "nuisances should stay and the class be lost, with a random n the class should stay.</p>"
    )


def _moves(codes: dict[str, NDArray[Any]]) -> str:
    if "moves_p" not in codes:
        return ""
    factors = [str(name) for name in codes["factor_names"]]
    matrix = np.concatenate([codes["moves_p"], codes["moves_n"]], 1).T  # [latents, factors]
    latents = [f"{block}{i}" for block in ("p", "n") for i in range(codes[f"codes_{block}"].shape[1])]
    return (
        "<h2>What each factor moves</h2>"
        + figures.heat_map(matrix, latents, factors, "standard deviations")
        + '<p class="note">Mean change of each latent when that factor alone changes. The class should move p, '
        "nuisances n; latents of n that react to a known nuisance are those in which it is known.</p>"
    )


def _planes(codes: dict[str, NDArray[Any]]) -> str:
    """t-SNE of both blocks by class and by each nuisance that makes groups (van der Maaten and Hinton, JMLR 2008)."""
    factors, label = [str(name) for name in codes["factor_names"]], str(codes["label"])
    shown = [label, *(str(name) for name in codes["groups"] if str(name) != label)]
    text = ""
    for block in ("p", "n"):
        plane = _plane(codes[f"codes_{block}"][:POINTS].astype(np.float64))
        if plane is None:
            continue
        for name in shown:
            values = codes["factors"][: len(plane)][:, factors.index(name)]
            groups = {f"{name} {value}": plane[values == value] for value in np.unique(values)}
            text += f"<h3>{block} by {name}</h3>" + figures.scatter({"": plane[:0], **groups})
    note = '<p class="note">t-SNE of each block. p should fall into classes and show no nuisance; n the reverse.</p>'
    return f"<h2>Both blocks on a plane</h2>{text}{note}" if text else ""


def _plane(codes: NDArray[np.float64]) -> NDArray[Any] | None:
    if len(codes) < FEWEST or not codes.std(0).max() > 0:
        return None
    from sklearn.manifold import TSNE

    start = "pca" if codes.shape[1] > 1 else "random"
    plane: NDArray[Any] = TSNE(2, init=start, random_state=0, n_jobs=1).fit_transform(codes / codes.std(0).max())
    return plane
