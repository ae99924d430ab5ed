"""Any code: the suite of metrics against factors, reconstructions, traversals and nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Codes, Rows
from unbraid.figures.parts import Section
from unbraid.metrics.contract import Aim, Score
from unbraid.metrics.suite import Tell, score, silent
from unbraid.problems import latents
from unbraid.problems.contract import Page, Pictures, Problem, Trained
from unbraid.problems.latents import DEAD

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.methods.contract import Method

SWEEP = 9  # pictures in a traversal
QUANTILES = (0.02, 0.98)  # of the codes, between which a traversal moves
QUERIES, NEIGHBOURS = 3, 3  # images whose nearest neighbours are shown, and how many
SPACES = 10  # at most, in which neighbours are looked for
THUMBNAIL = 32  # pixels on a side of a neighbour's picture, at most


class Plain(Problem):
    name = "plain"
    headlines = ("mig", "dci", "factor_vae_score", "explicitness", "sap")
    aims = MappingProxyType(
        dict.fromkeys(["gaussian_total_correlation", "wasserstein_correlation", "mutual_info_score"], Aim("low"))
        | {"translation": Aim("low")}
    )

    def applies(self, codes: Codes) -> bool:
        return True

    def pictures(self, trained: Trained, codes: Codes) -> Pictures:
        """originals, reconstructions [n, c, h, w] of the rows original_rows [n], the first of which is traversed:
        traversals_<block> [features, sweep, c, h, w]; retrieval_*"""
        return draw(trained, codes) | neighbours(trained, codes)

    def sections(self, page: Page) -> list[Section]:
        return latents.sections(page)


def take(
    codes: Codes,
    metrics: Sequence[str] | None,
    *,
    seed: int,
    options: Mapping[str, Mapping[str, Any]],
    block: str | None = None,
    bootstrap: int = 50,
    jobs: int = 0,
    tell: Tell = silent,
) -> dict[str, Score]:
    """Metrics of one block of the codes, the first unless it is named; None takes the default suite."""
    of = codes.blocks[codes.first if block is None else block]
    return score(
        of.codes,
        codes.factors if codes.factors.shape[1] else None,
        metrics=metrics,
        seed=seed,
        bootstrap=bootstrap,
        names=codes.factor_names or None,
        kinds=[place for place, name in enumerate(codes.factor_names) if name in codes.kinds],
        units=None if of.units is None else of.units.tolist(),
        options=options,
        jobs=jobs,
        tell=tell,
    )


def draw(trained: Trained, codes: Codes) -> Pictures:
    """Reconstructions, and traversals over the first example: each feature moved alone, the others held."""
    import torch

    from unbraid.encode import to_bytes

    method, x = trained.method, trained.look(trained.examples)
    blocks = method.encode(x)
    reconstruction = method.decode(blocks)
    if reconstruction is None or trained.table.shape[1] == 1:  # vectors of features are no pictures
        return {}
    pictures: Pictures = {"originals": to_bytes(x), "reconstructions": to_bytes(reconstruction)}
    pictures["original_rows"] = trained.examples
    for block, code in blocks.items():
        units, swept = np.array(method.units.get(block, range(code.shape[1]))), []
        for unit in np.unique(units):
            columns = np.flatnonzero(units == unit)
            moved = {name: value[:1].repeat(SWEEP, 1) for name, value in blocks.items()}
            moved[block][:, columns] = torch.as_tensor(stops(codes.blocks[block].codes[:, columns])).to(code)
            picture = method.decode(moved)
            assert picture is not None
            swept.append(to_bytes(picture))
        pictures[f"traversals_{block}"] = np.stack(swept)
    return pictures


def stops(codes: NDArray[Any], quantiles: tuple[float, float] = QUANTILES) -> NDArray[Any]:
    """Where a traversal of a feature stops, from its codes [n, d]: [sweep, d].

    One dimension is moved evenly between two quantiles. Of several, nothing lies between codes for certain: the stops
    are codes of images, at even ranks along their first principal axis.
    """
    if codes.shape[1] == 1:
        low, high = np.quantile(codes, quantiles, axis=0)
        return np.linspace(low, high, SWEEP)
    centred = codes - codes.mean(0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    axis *= np.sign(axis[np.abs(axis).argmax()])
    first, last = (q * (len(codes) - 1) for q in quantiles)
    places = np.linspace(first, last, SWEEP).round().astype(int)
    stopped: NDArray[Any] = codes[np.argsort(centred @ axis, kind="stable")[places]]
    return stopped


def neighbours(trained: Trained, codes: Codes) -> Pictures:
    """The nearest neighbours of the first rows, among all of these, in the space of each feature.

    retrieval_spaces [s], their names; retrieval_rows [s, queries, neighbours], rows of the table, the nearest first;
    retrieval_queries [queries, c, h, w] and retrieval [s, queries, neighbours, c, h, w], small pictures of them.
    """
    rows: Rows = codes.rows
    found = {name: nearest(codes.blocks[block].codes[:, of]) for name, block, of in spaces(trained.method, codes)}
    if trained.table.shape[1] == 1 or len(rows) < 2 or not found:
        return {}
    places = np.stack(list(found.values()))  # [s, q, k]
    shown, order = np.unique(places, return_inverse=True)
    small = thumbnails(trained.look(rows[shown]))
    return {
        "retrieval_spaces": np.array(list(found), dtype=str),
        "retrieval_rows": rows[places],
        "retrieval_queries": thumbnails(trained.look(rows[:QUERIES])),
        "retrieval": small[order.reshape(places.shape)],
    }


def spaces(method: Method[Any], codes: Codes) -> list[tuple[str, str, list[int]]]:
    """Name, block and columns of each feature that carries something, the most first.

    Features are what the method says (`units`), else the latents of a code of one block, else the blocks.
    """
    found = []
    for name, block in codes.blocks.items():
        units = method.units.get(name, [0] * block.width if len(codes.blocks) > 1 else list(range(block.width)))
        weight = block.codes.std(0) if block.kl is None else block.kl
        for unit in dict.fromkeys(units):
            of = [i for i, other in enumerate(units) if other == unit]
            found.append((float(weight[of].sum()), name if len(of) == block.width else f"{name}{unit}", name, of))
    alive = sorted((space for space in found if space[0] >= DEAD), key=lambda space: -space[0])
    return [(name, block, of) for _, name, block, of in alive[:SPACES]]


def nearest(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Places of the nearest neighbours of the first codes by Euclidean distance, [queries, neighbours]."""
    distance = ((codes[:QUERIES, None] - codes[None]) ** 2).sum(-1)  # [q, n]
    np.fill_diagonal(distance, np.inf)  # none is a neighbour of its own
    return np.argsort(distance, 1, kind="stable")[:, : min(NEIGHBOURS, len(codes) - 1)]


def thumbnails(x: Tensor) -> NDArray[np.uint8]:
    """Images made smaller by averages over squares, until no side is longer than THUMBNAIL; thin ones stay thin."""
    import torch.nn.functional as F

    from unbraid.encode import to_bytes

    square = -(-max(x.shape[2:]) // THUMBNAIL)
    return to_bytes(F.avg_pool2d(x, [min(square, side) for side in x.shape[2:]]))
