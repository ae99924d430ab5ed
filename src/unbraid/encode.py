"""Encodes a data set once: codes and factors go to codes.npz, what the decoder draws to pictures.npz.

Of a target with a background both are encoded; their codes also go to codes.csv, a line for each sample.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unbraid import classes
from unbraid.data.table import Rows, Table
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.methods.contract import Method
from unbraid.train.run import Run, write

BATCH = 256
SWEEP = 9  # pictures in a traversal
EXAMPLES = 10  # pictures in the row of reconstructions
GRID = 7  # pictures on each side of the interpolation
QUANTILES = (0.02, 0.98)  # of the codes, between which a traversal moves
QUERIES, NEIGHBOURS = 3, 3  # images whose nearest neighbours are shown, and how many
SPACES = 10  # at most, in which neighbours are looked for
THUMBNAIL = 32  # pixels on a side of a neighbour's picture, at most
DEAD = 0.05  # nats, or standard deviations, below which a latent has no neighbours worth showing


def represent(
    run: Run, method: Method[Any], data: Table, *, points: int = 10_000, image: int | None = None, seed: int = 0
) -> dict[str, NDArray[Any]]:
    """Writes codes.npz and pictures.npz of a run, and gives the arrays of the first.

    codes_<block> [n, d], kl_<block> [d] (mean KL to the prior in nats, where the code is Gaussian), factors [n, k],
    factor_names [k], rows [n], units_<block> [d] (the feature that each latent belongs to, where features have several
    dimensions). Where there are classes: label and groups (names of factors), predicted [n] if the method classifies,
    moves_<block> (classes.py) if its blocks are p and n. Where views share factors: shared (their names). Of a target
    with a background also: label (or nothing),
    scale_<block> [n, d] (standard deviations, where the code is Gaussian), background_rows [m], background_<block>
    [m, d], background_scale_<block>.

    Args:
        points: number of rows to encode, drawn without replacement; all of them where there are fewer
        image: row of the image whose traversals are drawn; the first drawn one unless given
        seed: of the draw
    """
    if points < 1:
        raise UserError(f"at least one image must be encoded, not {points}")
    table = data.test or data
    rng = np.random.default_rng(seed)
    n = min(points, len(table))
    rows = rng.choice(len(table), n, replace=False).astype(np.int64)
    if image is not None and not 0 <= image < len(table):
        raise UserError(f"there is no image {image}: {table.name} has the rows 0 to {len(table) - 1}")
    codes = encode(method, table, rows)
    factors = {"factors": table.values(rows), "factor_names": np.array([f.name for f in table.factors], dtype=str)}
    shared = {"shared": np.array(table.shared, dtype=str)} if table.shared else {}
    units = {f"units_{block}": np.array(of, dtype=np.int64) for block, of in method.units.items()}
    arrays = {**codes, **units, **factors, **shared, "rows": rows}

    def look(some: Rows) -> Tensor:
        return images(method, table, some)

    arrays |= classes.predictions(method, table, rows, look)
    examples = np.concatenate([rows[:1] if image is None else [image], rows[1:EXAMPLES]]).astype(np.int64)
    pictures = draw(method, table, examples, codes)
    if {"codes_p", "codes_n"} <= codes.keys():
        arrays |= classes.moves(method, table, rows, look, np.random.default_rng((seed, 1)))
        swapped = classes.draw_swapped(method, table, examples, look, codes, np.random.default_rng((seed, 2)))
        pictures |= {name: to_bytes(drawn) for name, drawn in swapped.items()}
    background = table.background or data.background
    if background is not None:
        others = rng.choice(len(background), min(points, len(background)), replace=False).astype(np.int64)
        arrays |= {**scales(method, table, rows), "label": np.array(table.label or ""), "background_rows": others}
        beside = {**encode(method, background, others), **scales(method, background, others)}
        arrays |= {f"background_{name.removeprefix('codes_')}": a for name, a in beside.items() if name[:3] != "kl_"}
        write(run.path / "codes.csv", lines(table, background, arrays))
        if pictures and {"codes_s", "codes_z"} <= codes.keys():
            pictures |= draw_apart(method, table, background, examples, others[:EXAMPLES])
    pictures |= retrieve(method, table, rows, codes)
    if pictures:
        run.write_arrays("pictures.npz", **pictures)
    run.write_arrays("codes.npz", **arrays)  # last: where it is, all is there
    return arrays


@torch.no_grad()
def encode(method: Method[Any], table: Table, rows: Rows) -> dict[str, NDArray[Any]]:
    """codes_<block> and, where the code is Gaussian, kl_<block>."""
    method.eval()
    codes: dict[str, list[Tensor]] = {}
    kl: dict[str, Tensor] = {}
    for start in range(0, len(rows), BATCH):
        x = images(method, table, rows[start : start + BATCH])
        for block, code in method.encode(x).items():
            codes.setdefault(block, []).append(code)
        for block, (mu, log_var) in method.posterior(x).items():
            kl[block] = kl.get(block, torch.zeros(())) + gaussian.kl_to_standard(mu, log_var).sum(0)
    found = {f"codes_{block}": torch.cat(parts).cpu().numpy() for block, parts in codes.items()}
    return found | {f"kl_{block}": (total / len(rows)).cpu().numpy() for block, total in kl.items()}


@torch.no_grad()
def scales(method: Method[Any], table: Table, rows: Rows) -> dict[str, NDArray[Any]]:
    """scale_<block>, the standard deviations of a Gaussian code."""
    found: dict[str, list[Tensor]] = {}
    for start in range(0, len(rows), BATCH):
        for block, (_, log_var) in method.posterior(images(method, table, rows[start : start + BATCH])).items():
            found.setdefault(f"scale_{block}", []).append((0.5 * log_var).exp())
    return {name: torch.cat(parts).cpu().numpy() for name, parts in found.items()}


def lines(target: Table, background: Table, arrays: dict[str, NDArray[Any]]) -> bytes:
    """The codes of both sets for other programs: set, row, its file where rows are files, and each latent."""
    blocks = [name.removeprefix("codes_") for name in arrays if name.startswith("codes_")]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    latents = [f"{block}{i}" for block in blocks for i in range(arrays[f"codes_{block}"].shape[1])]
    writer.writerow(["set", "row", "file", *latents])
    for name, table, prefix, rows in (
        ("target", target, "codes_", arrays["rows"]),
        ("background", background, "background_", arrays["background_rows"]),
    ):
        codes = np.concatenate([arrays[prefix + block] for block in blocks], 1)
        for place in np.argsort(rows):
            file = table.files[rows[place]] if table.files else ""
            writer.writerow([name, rows[place], file, *(f"{value:.6g}" for value in codes[place])])
    return text.getvalue().encode()


@torch.no_grad()
def draw(method: Method[Any], table: Table, rows: Rows, codes: dict[str, NDArray[Any]]) -> dict[str, NDArray[np.uint8]]:
    """Reconstructions of these rows, and traversals over the first: each feature moved alone, the others held."""
    x = images(method, table, rows)
    blocks = method.encode(x)
    reconstruction = method.decode(blocks)
    if reconstruction is None or table.shape[1] == 1:  # vectors of features are no pictures
        return {}
    pictures = {"originals": to_bytes(x), "reconstructions": to_bytes(reconstruction)}
    for block, code in blocks.items():
        units, swept = np.array(method.units.get(block, range(code.shape[1]))), []
        for unit in np.unique(units):
            columns = np.flatnonzero(units == unit)
            moved = {name: value[:1].repeat(SWEEP, 1) for name, value in blocks.items()}
            moved[block][:, columns] = torch.as_tensor(stops(codes[f"codes_{block}"][:, columns])).to(code)
            picture = method.decode(moved)
            assert picture is not None
            swept.append(to_bytes(picture))
        pictures[f"traversals_{block}"] = np.stack(swept)  # [features, sweep, c, h, w]
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


@torch.no_grad()
def draw_apart(
    method: Method[Any], target: Table, background: Table, rows: Rows, others: Rows
) -> dict[str, NDArray[np.uint8]]:
    """What the blocks s and z draw together and apart, and what lies between the salient codes of four targets.

    apart [3, n, c, h, w]: targets from [z, s], from [z, 0] and from [0, s]; background_originals and
    background_reconstructions (from [z, 0]) [n, c, h, w]; between [grid, grid, c, h, w]: s moves from that of the first
    target (top left) to those of three others in the corners, z stays that of the first.
    """

    def picture(s: Tensor, z: Tensor) -> NDArray[np.uint8]:
        drawn = method.decode({"s": s, "z": z})
        assert drawn is not None
        return to_bytes(drawn)

    code = method.encode(images(method, target, rows))
    s, z = code["s"], code["z"]
    nothing, nowhere = torch.zeros_like(s), torch.zeros_like(z)
    y = images(method, background, others)
    pictures = {
        "apart": np.stack([picture(s, z), picture(nothing, z), picture(s, nowhere)]),
        "background_originals": to_bytes(y),
        "background_reconstructions": picture(s.new_zeros(len(y), s.shape[1]), method.encode(y)["z"]),
    }
    if len(s) >= 4:
        down, right = torch.meshgrid(*[torch.linspace(0, 1, GRID, device=s.device)] * 2, indexing="ij")
        weights = torch.stack([(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right], -1)
        between = weights.flatten(0, 1) @ s[[0, 2, 3, 1]]  # [grid^2, salient]
        drawn = picture(between, z[:1].repeat(len(between), 1))
        pictures["between"] = drawn.reshape(GRID, GRID, *drawn.shape[1:])
    return pictures


def retrieve(method: Method[Any], table: Table, rows: Rows, codes: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The nearest neighbours of the first rows, among all of these, in the space of each feature.

    retrieval_spaces [s], their names; retrieval_rows [s, queries, neighbours], rows of the table, the nearest first;
    retrieval_queries [queries, c, h, w] and retrieval [s, queries, neighbours, c, h, w], small pictures of them.
    """
    found = {name: nearest(codes[f"codes_{block}"][:, of]) for name, block, of in spaces(method, codes)}
    if table.shape[1] == 1 or len(rows) < 2 or not found:
        return {}
    places = np.stack(list(found.values()))  # [s, q, k]
    shown, order = np.unique(places, return_inverse=True)
    small = thumbnails(images(method, table, rows[shown]))
    return {
        "retrieval_spaces": np.array(list(found), dtype=str),
        "retrieval_rows": rows[places],
        "retrieval_queries": thumbnails(images(method, table, rows[:QUERIES])),
        "retrieval": small[order.reshape(places.shape)],
    }


def spaces(method: Method[Any], codes: dict[str, NDArray[Any]]) -> list[tuple[str, str, list[int]]]:
    """Name, block and columns of each feature that carries something, the most first.

    Features are what the method says (`units`), else the latents of a code of one block, else the blocks.
    """
    blocks = [name.removeprefix("codes_") for name in codes if name.startswith("codes_")]
    found = []
    for block in blocks:
        width = codes[f"codes_{block}"].shape[1]
        units = method.units.get(block, [0] * width if len(blocks) > 1 else list(range(width)))
        weight = codes.get(f"kl_{block}", codes[f"codes_{block}"].std(0))
        for unit in dict.fromkeys(units):
            of = [i for i, other in enumerate(units) if other == unit]
            name = block if len(of) == width else f"{block}{unit}"
            found.append((float(weight[of].sum()), name, block, of))
    alive = sorted((space for space in found if space[0] >= DEAD), key=lambda space: -space[0])
    return [(name, block, of) for _, name, block, of in alive[:SPACES]]


def nearest(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Places of the nearest neighbours of the first codes by Euclidean distance, [queries, neighbours]."""
    distance = ((codes[:QUERIES, None] - codes[None]) ** 2).sum(-1)  # [q, n]
    np.fill_diagonal(distance, np.inf)  # none is a neighbour of its own
    return np.argsort(distance, 1, kind="stable")[:, : min(NEIGHBOURS, len(codes) - 1)]


def thumbnails(x: Tensor) -> NDArray[np.uint8]:
    return to_bytes(F.avg_pool2d(x, -(-max(x.shape[2:]) // THUMBNAIL)))


def images(method: Method[Any], table: Table, rows: Rows) -> Tensor:
    """These rows as the method sees them: floats in [0, 1] on its device."""
    x = torch.from_numpy(table.images(rows)).to(next(method.parameters()).device)
    return x.float().div_(255) if x.dtype == torch.uint8 else x


def to_bytes(x: Tensor) -> NDArray[np.uint8]:
    array: NDArray[np.uint8] = (x.clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()
    return array
