"""What the explorer shows of a run: its sample of images, their codes, what latents carry and know, and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Block, Codes, Rows, read_codes
from unbraid.data.table import Table
from unbraid.encode import encode_rows
from unbraid.errors import UserError
from unbraid.explorer.network import pack
from unbraid.methods.contract import Method
from unbraid.metrics.arrays import check_arrays
from unbraid.metrics.information import entropy, information_matrix
from unbraid.metrics.plane import picture_plane
from unbraid.problems import problems_of
from unbraid.problems.latents import BINS, DEAD, KNOWN
from unbraid.problems.slices import slices_of
from unbraid.reports.page import meaning_of, subject, without_folders
from unbraid.train.run import Run

Record = dict[str, Any]  # as it stands in the page's JSON
RANGE = (0.01, 0.99)  # quantiles of a latent's codes between which its slider moves, and a margin beyond
MARGIN = 0.15
PLANES = 8  # spaces with a plane of their own, at most
FEWEST = 40  # codes for t-SNE
BACKGROUND = 0.3  # share of the sample that shows the background, where there is one


@dataclass(frozen=True)
class Source:
    """A trained run with the data that it is shown."""

    run: Run
    method: Method[Any]
    data: Table

    @property
    def table(self) -> Table:
        return self.data.test or self.data

    @property
    def background(self) -> Table | None:
        return self.table.background or self.data.background


@dataclass(frozen=True)
class Sample:
    """The rows that a page shows: of the table, and of the background after them where there is one."""

    rows: Rows
    background: Rows

    def __len__(self) -> int:
        return len(self.rows) + len(self.background)


def draw_sample(source: Source, count: int) -> Sample:
    """The first rows that the run was encoded for, which are a random draw."""
    codes = read_codes(source.run)
    has_background = codes.background is not None and source.background is not None
    others = codes.background.rows if has_background else codes.rows[:0]  # type: ignore[union-attr]
    share = min(len(others), round(BACKGROUND * count))
    return Sample(codes.rows[: count - share], others[:share])


def sample_codes(source: Source, sample: Sample, blocks: Sequence[str]) -> NDArray[np.float32]:
    """The codes of the sample, its blocks beside each other, [n, d]."""
    parts = [encode_rows(source.method, source.table, sample.rows)]
    if len(sample.background):
        assert source.background is not None
        parts.append(encode_rows(source.method, source.background, sample.background))
    return np.concatenate([np.concatenate([part.blocks[b].codes for b in blocks], 1) for part in parts])


def sample_pictures(source: Source, sample: Sample) -> NDArray[Any]:
    """Rows of the sample as the tables have them, [n, c, h, w]."""
    parts = [source.table.images(sample.rows)]
    if len(sample.background):
        assert source.background is not None
        parts.append(source.background.images(sample.background))
    return np.concatenate(parts)


def sample_factors(source: Source, sample: Sample) -> list[Record]:
    """Name, value of each image (None where it is not known) and, where they have some, the names of the values."""
    table, unknown = source.table, [None] * len(sample.background)
    values = table.values(sample.rows)
    names = {table.label: list(table.class_names)}
    found: list[Record] = [
        {"name": factor.name, "values": [*values[:, i].tolist(), *unknown], "labels": names.get(factor.name, [])}
        for i, factor in enumerate(table.factors)
    ]
    if len(sample.background):
        of_set = [0] * len(sample.rows) + [1] * len(sample.background)
        found.append({"name": "set", "values": of_set, "labels": ["target", "background"]})
    return found


def sample_names(source: Source, sample: Sample) -> list[str]:
    """The file of each image, or its row."""

    def named(table: Table, rows: Rows, kind: str) -> list[str]:
        return [table.files[row] if table.files else f"{kind} {row}" for row in rows]

    names = named(source.table, sample.rows, "row")
    return names + (named(source.background, sample.background, "background") if source.background else [])


def shown_blocks(codes: Codes) -> dict[str, Block]:
    """The blocks that are not slices of others; what is cut into slices has those as its features."""
    slices = slices_of(codes.blocks)
    found = {}
    for name, block in codes.blocks.items():
        if any(name in parts for parts in slices.values()):
            continue
        if block.units is None and name in slices:
            widths = [codes.blocks[part].width for part in slices[name]]
            block = Block(block.codes, block.kl, block.scale, np.repeat(np.arange(len(widths)), widths))
        found[name] = block
    return found


def describe(source: Source, sample: Sample) -> Record:
    """All of a run but its networks."""
    codes, plan = read_codes(source.run), source.run.plan
    blocks, scores = shown_blocks(codes), source.run.scores()
    roles = {name: role for problem in problems_of(codes) for name, role in problem.roles.items()}
    here = sample_codes(source, sample, list(blocks))
    heat = heat_map(blocks, codes)
    latents: list[Record] = []
    for name, block in blocks.items():
        latents += _latents(name, block, len(latents), heat)
    parts = _parts(blocks)
    return {
        "name": source.run.path.resolve().name,
        "method": plan.method.rpartition(":")[2],
        "data": subject(plan),
        "about": f"{plan.steps:,} steps of {plan.batch}, seed {plan.seed}",
        "command": without_folders(plan).command,
        "blocks": [{"name": name, "role": roles.get(name, ""), "width": block.width} for name, block in blocks.items()],
        "latents": latents,
        "parts": parts,
        "planes": _planes(here, parts),
        "codes": pack([here], 32 if source.method.has_decoder else 16),
        "heat": heat,
        "scores": [_score(name, score) for name, score in scores.items()],
    }


def heat_map(blocks: dict[str, Block], codes: Codes) -> Record | None:
    """What each latent, or feature, knows of each factor: nats and the share of the factor's entropy."""
    if not codes.factors.shape[1] or len(codes) < BINS:
        return None
    found: list[Record] = []
    for name, block in blocks.items():
        units = None if block.units is None else block.units.tolist()
        try:
            arrays = check_arrays(block.codes, codes.factors, units)
        except UserError:  # no factor varies, or codes are not finite
            return None
        columns = tuple(factor.binned(BINS) for factor in arrays.factors)
        rng = np.random.default_rng(0)
        nats = information_matrix(arrays, columns, estimator="equal", bins=BINS, rng=rng)
        share = nats / np.array([entropy(column) for column in columns])
        found += [
            {"name": f"{name}{unit}", "nats": row.tolist(), "share": part.tolist()}
            for unit, (row, part) in enumerate(zip(nats, share, strict=True))
        ]
    names = codes.factor_names or [str(i) for i in range(codes.factors.shape[1])]
    return {"rows": found, "factors": [names[i] for i in arrays.kept], "places": list(arrays.kept)}


def _latents(name: str, block: Block, first: int, heat: Record | None) -> list[Record]:
    """Each latent: name, block, feature, what it carries, where its slider moves, the factor that it knows best."""
    carried = block.kl if block.kl is not None else block.codes.std(0)
    low, high = np.quantile(block.codes, RANGE, axis=0)
    margin = MARGIN * (high - low)
    known = {row["name"]: row for row in heat["rows"]} if heat else {}
    found: list[Record] = []
    for i in range(block.width):
        unit = i if block.units is None else int(block.units[i])
        within = i - int(np.flatnonzero(block.units == unit)[0]) if block.units is not None else 0
        row = known.get(f"{name}{unit}")
        best = int(np.argmax(row["share"])) if row else None
        found.append(
            {
                "name": f"{name}{unit}" if block.units is None else f"{name}{unit}.{within}",
                "block": name,
                "part": f"{name}{unit}",
                "column": first + i,
                "carried": float(carried[i]),
                "unit": "nats" if block.kl is not None else "sd",
                "active": bool(carried[i] >= DEAD),
                "low": float(low[i] - margin[i]),
                "high": float(high[i] + margin[i]) if high[i] > low[i] else float(low[i] + 1),
                "factor": best if row and row["share"][best] >= KNOWN else None,
                "share": float(row["share"][best]) if row and best is not None else None,
            }
        )
    return found


def _parts(blocks: dict[str, Block]) -> list[Record]:
    """What can be exchanged, compared and mapped: blocks, and their features of several dimensions."""
    found: list[Record] = []
    first = 0
    for name, block in blocks.items():
        found.append({"name": name, "columns": list(range(first, first + block.width)), "whole": True})
        if block.units is not None:
            for unit in np.unique(block.units):
                columns = [first + int(i) for i in np.flatnonzero(block.units == unit)]
                found.append({"name": f"{name}{unit}", "columns": columns, "whole": False})
        first += block.width
    return found


def _planes(codes: NDArray[np.float32], parts: list[Record]) -> list[Record]:
    """Two principal axes of each part, and t-SNE where there are enough codes."""
    found: list[Record] = []
    for part in parts[:PLANES]:
        space = codes[:, part["columns"]].astype(np.float64)
        if len(codes) < 3 or space.shape[1] < 2 or not space.std(0).max() > 0:
            continue
        mean = space.mean(0)
        axes = np.linalg.svd(space - mean, full_matrices=False)[2][:2]
        plane: Record = {"part": part["name"], "mean": mean.tolist(), "axes": axes.tolist(), "tsne": None}
        if len(codes) >= FEWEST:
            plane["tsne"] = pack([picture_plane(space)], 16)
        found.append(plane)
    return found


def _score(name: str, score: Record) -> Record:
    kept = {part: score[part] for part in ("value", "low", "high", "null")}
    return {"name": name, "meaning": meaning_of(name, score), **kept, "warnings": list(score["warnings"])}
