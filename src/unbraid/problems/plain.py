"""Any code: the suite of metrics against factors, reconstructions, traversals and nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Block, Codes, Rows
from unbraid.figures import svg
from unbraid.metrics.contract import Score
from unbraid.metrics.suite import available, score
from unbraid.problems.contract import Page, Pictures, Problem, Scores, Task, Trained

if TYPE_CHECKING:
    from torch import Tensor

    from unbraid.methods.contract import Method

SWEEP = 9  # pictures in a traversal
QUANTILES = (0.02, 0.98)  # of the codes, between which a traversal moves
QUERIES, NEIGHBOURS = 3, 3  # images whose nearest neighbours are shown, and how many
SPACES = 10  # at most, in which neighbours are looked for
THUMBNAIL = 32  # pixels on a side of a neighbour's picture, at most
DEAD = 0.05  # nats, or standard deviations, below which a latent carries nothing


class Plain(Problem):
    name = "plain"

    def applies(self, codes: Codes) -> bool:
        return True

    def pictures(self, trained: Trained, codes: Codes) -> Pictures:
        """originals, reconstructions [n, c, h, w]; traversals_<block> [features, sweep, c, h, w]; retrieval_*"""
        return _drawn(trained, codes) | neighbours(trained, codes)

    def tasks(self, codes: Codes, *, seed: int, jobs: int = 0) -> dict[str, Task]:
        """The metrics on codes and factors, or on codes alone."""

        def task(name: str) -> Task:
            return Task(name, "", lambda **o: take(codes, [name], seed=seed, options={name: o}, jobs=jobs)[name])

        return {name: task(name) for name in available()}

    def section(self, page: Page) -> str:
        return (
            _reconstructions(page)
            + "".join(
                _traversals(name.removeprefix("traversals_"), sweeps, page)
                for name, sweeps in page.pictures.items()
                if name.startswith("traversals_")
            )
            + neighbours_shown(page.pictures)
            + exchanged(page.scores)
        )


def take(
    codes: Codes,
    metrics: Sequence[str] | None,
    *,
    seed: int,
    options: Mapping[str, Mapping[str, Any]],
    block: str | None = None,
    bootstrap: int = 50,
    jobs: int = 0,
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
    )


def _drawn(trained: Trained, codes: Codes) -> Pictures:
    """Reconstructions, and traversals over the first example: each feature moved alone, the others held."""
    import torch

    from unbraid.encode import to_bytes

    method, x = trained.method, trained.look(trained.examples)
    blocks = method.encode(x)
    reconstruction = method.decode(blocks)
    if reconstruction is None or trained.table.shape[1] == 1:  # vectors of features are no pictures
        return {}
    pictures = {"originals": to_bytes(x), "reconstructions": to_bytes(reconstruction)}
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
    import torch.nn.functional as F

    from unbraid.encode import to_bytes

    return to_bytes(F.avg_pool2d(x, -(-max(x.shape[2:]) // THUMBNAIL)))


def _reconstructions(page: Page) -> str:
    if "originals" not in page.pictures:
        return ""
    return "<h2>Reconstructions</h2>" + "".join(
        f'<div class=latent><span>{name}</span><img alt="{name}" src="{svg.strip(page.pictures[name])}"></div>'
        for name in ("originals", "reconstructions")
    )


def _traversals(block: str, sweeps: NDArray[Any], page: Page) -> str:
    rows = [
        f'<div class="latent"><span>{"<br>".join(map(escape, label))}</span>'
        f'<img alt="traversal of {escape(label[0])}" src="{svg.strip(sweeps[latent])}"></div>'
        for latent, label in active_latents(block, page.codes, page.scores)
    ]
    several = ""
    if page.codes.blocks[block].units is not None:
        several = " A feature of several dimensions takes the codes of other images, along its first principal axis."
    idle = len(sweeps) - len(rows)
    rest = f"<p class=note>{idle} of {len(sweeps)} latents carry nothing and are not shown.</p>" if idle else ""
    return (
        f"<h2>Traversals of {escape(block)}</h2><p class=note>Each row moves one latent from the 2nd to the 98th "
        "percentile of its codes and holds the others where the first picture above has them. In nats: how much the "
        f"latent carries (KL to the prior).{several}</p>" + "".join(rows) + rest
    )


def neighbours_shown(pictures: Pictures) -> str:
    """A row for each feature: some images, each followed by its nearest neighbours."""
    if "retrieval" not in pictures:
        return ""
    queries, rows = pictures["retrieval_queries"], []
    for name, found in zip(pictures["retrieval_spaces"], pictures["retrieval"], strict=True):
        strips = (np.concatenate([query[None], near]) for query, near in zip(queries, found, strict=True))
        space = escape(str(name))
        groups = "".join(f'<img alt="neighbours in {space}" src="{svg.strip(images)}">' for images in strips)
        columns = f"display: grid; grid-template-columns: repeat({len(queries)}, 1fr); gap: 1.4rem"
        rows.append(f'<div class="latent"><span>{space}</span><div style="{columns}">{groups}</div></div>')
    return (
        "<h2>Nearest neighbours</h2><p class=note>A row for each feature: some images, each followed by those whose "
        "codes lie nearest to its own in that feature alone. What they share is what the feature is about.</p>"
    ) + "".join(rows)


def exchanged(scores: Scores) -> str:
    """The rates of the metric `exchange`: how often each factor follows the donor of a feature, or stays."""
    text = ""
    for label, found in scores.items():
        parts = found["parts"]
        if label.partition(":")[0] != "exchange" or "donor" not in parts:
            continue
        factors = [escape(name) for name in found["params"]["factors"]]
        features = [f"feature {k}" for k in range(len(parts["donor"]))]
        for part, meaning in (("donor", "follows the donor"), ("host", "stays as it was"), ("neither", "neither")):
            rates = np.array(parts[part])
            text += f"<h3>{meaning}</h3>" + svg.heat_map(rates, features, factors, "share of exchanges")
    note = (
        '<p class="note">One feature of an image is taken from another image, the donor, which differs in a factor: '
        "how often a network that knows real images then names the donor's value of that factor, the image's own, or "
        "neither. At best each factor follows one feature and stays when another is exchanged.</p>"
    )
    return f"<h2>Features exchanged</h2>{text}{note}" if text else ""


def active_latents(block: str, codes: Codes, scores: Scores) -> list[tuple[int, list[str]]]:
    """The latents that carry something, the most first, each with its label: name, KL, what it is about."""
    known: Block = codes.blocks[block]
    matrix, factors = information(scores, codes)
    found = []
    for latent in np.argsort(-known.carried):
        if known.carried[latent] < DEAD:
            continue
        label = [f"{block}{latent}"]
        if known.kl is not None:
            label.append(f"{known.carried[latent]:.2f} nats")
        if matrix is not None and len(matrix) == len(known.carried) and block == codes.first:
            label.append(f"mostly {factors[int(matrix[latent].argmax())]}")
        found.append((int(latent), label))
    return found


def information(scores: Scores, codes: Codes) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The mutual information matrix [d, k] that MIG is made of, and the names of its factors."""
    if "mig" not in scores:
        return None, []
    kept = scores["mig"]["params"].get("factors", range(len(codes.factor_names)))
    factors = [codes.factor_names[i] if isinstance(i, int) else str(i) for i in kept]
    return np.array(scores["mig"]["parts"]["mutual_information"]), factors
