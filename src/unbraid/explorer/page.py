"""Writes the explorer: one HTML file with the networks, the sample and all that the page's scripts need."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid.data.table import Rows, Table
from unbraid.encode import to_bytes
from unbraid.errors import UserError
from unbraid.evaluate import complete
from unbraid.explorer.content import (
    Record,
    Sample,
    Source,
    describe,
    draw_sample,
    sample_codes,
    sample_factors,
    sample_names,
    sample_pictures,
)
from unbraid.explorer.network import Bits, UnknownLayer, pack, read_network
from unbraid.explorer.sheet import sheet
from unbraid.methods.contract import Method
from unbraid.reports.page import title
from unbraid.train.load import load_method, load_table
from unbraid.train.run import Run, write

FILE = "explorer.html"
IMAGES = 500  # of the sample
STATIC = Path(__file__).parent / "static"
WORKER = ("arrays", "layers", "worker")  # what runs beside the page, and what is in the page, in this order
SCRIPTS = (
    *("arrays", "elements", "pictures", "gif", "model", "state", "stage", "controls", "grid", "save"),
    *("map", "neighbours", "exchange", "heat", "scores", "compare", "main"),
)
FRAMES, FRAMED, SWEPT = 11, 4, 16  # frames of a drawn traversal; images and latents that have them
NO_DECODER = "This method has no decoder: the page has the map of its codes and neighbours, and draws no pictures."
IN_ADVANCE = "sliders move through pictures that were drawn in advance, one latent at a time, for the first images"
NO_SLIDERS = "it has the map of the codes and neighbours, and no sliders"
DIFFERS = "runs are shown side by side on the same images"


def explore(
    *runs: Run | Path | str,
    out: Path | str | None = None,
    images: int = IMAGES,
    bits: Bits = 16,
    method: Method[Any] | None = None,
    data: Table | None = None,
    trust: bool = False,
) -> Path:
    """Writes the explorer of one run, or of several side by side, and gives its path.

    Args:
        runs: runs, or their directories
        out: the file; explorer.html in the directory of the first run unless given
        images: number of images to choose from
        bits: of each weight, 16 or 32
        method: that of the run, where it cannot be loaded by name
        data: that of the runs, where it cannot be loaded by name
        trust: import code of their own that the runs name
    """
    if not runs:
        raise UserError("name at least one run to explore")
    if images < 1:
        raise UserError(f"the explorer needs at least one image, not {images}")
    if bits not in (16, 32):
        raise UserError(f"a weight has 16 or 32 bits, not {bits}")
    if method is not None and len(runs) > 1:
        raise UserError("a method can be given for one run only")
    sources = [_load(Run.of(run), method, data, trust) for run in runs]
    _check_same_data(sources)
    sample = draw_sample(sources[0], images)
    _check_same_images(sources, sample.rows)
    content = _sample(sources[0], sample) | {"runs": [_run(source, sample, bits) for source in sources]}
    path = Path(out) if out is not None else sources[0].run.path / FILE
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(f"{path} cannot be written: give --out the name of an HTML file in a folder that exists")
    write(path, page(content).encode())
    return path


def page(content: Record) -> str:
    """The HTML of a page with this content."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def joined(names: Sequence[str]) -> str:
        return "\n".join((STATIC / f"{name}.js").read_text(encoding="utf-8") for name in names)

    environment = Environment(loader=FileSystemLoader(STATIC), autoescape=True, undefined=StrictUndefined)
    numbers = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return environment.get_template("explorer.html").render(
        title=content["title"],
        style=(STATIC / "explorer.css").read_text(encoding="utf-8"),
        content=numbers.replace("<", "\\u003c"),  # so that no name can end the element or open a comment
        worker=joined(WORKER),
        scripts=joined(SCRIPTS),
    )


def _load(run: Run, method: Method[Any] | None, data: Table | None, trust: bool) -> Source:
    table = data if data is not None else load_table(run, trust=trust)
    source = Source(run, (method or load_method(run.path, trust=trust or run.trusted)).eval(), table)
    complete(run, lambda: (source.method, source.data), None)
    return source


def _check_same_data(sources: Sequence[Source]) -> None:
    first = sources[0]
    for other in sources[1:]:
        for what, ours, theirs in (
            ("data set", first.run.plan.data, other.run.plan.data),
            ("size of images", first.table.shape, other.table.shape),
            ("number of rows", len(first.table), len(other.table)),
        ):
            if ours != theirs:
                raise UserError(
                    f"{DIFFERS}, and {first.run.path} and {other.run.path} differ in the {what}: {ours} and {theirs}"
                )


def _check_same_images(sources: Sequence[Source], rows: Rows) -> None:
    shown = sources[0].table.images(rows)
    for other in sources[1:]:
        if not np.array_equal(shown, other.table.images(rows)):
            raise UserError(
                f"{DIFFERS}, and the rows of {sources[0].run.path} and {other.run.path} are different images: "
                "their data have other arguments"
            )


def _sample(source: Source, sample: Sample) -> Record:
    """What all runs of a page share."""
    pictures, features = sample_pictures(source, sample), source.table.shape[1] == 1
    return {
        "title": title(source.run.plan),
        "shape": list(source.table.shape),
        "features": features,
        "feature_names": source.table.scaling.labels if source.table.scaling else [],
        "count": len(sample),
        "rows": pack([pictures.reshape(len(pictures), -1)], 32) if features else None,
        "sheet": None if features else sheet(_bytes(pictures)),
        "names": sample_names(source, sample),
        "factors": sample_factors(source, sample),
    }


def _bytes(pictures: NDArray[Any]) -> NDArray[np.uint8]:
    return pictures if pictures.dtype == np.uint8 else to_bytes(torch.from_numpy(pictures))


@torch.no_grad()
def _run(source: Source, sample: Sample, bits: Bits) -> Record:
    """A run with its networks; where the page cannot run one, why, and what was drawn in advance."""
    method, known = source.method, describe(source, sample)
    blocks = {block["name"]: block["width"] for block in known["blocks"]}
    device = next(method.parameters()).device
    notes, networks, frames = [], {}, None

    def encode(x: Tensor) -> Tensor:
        code = method.encode(x)
        return torch.cat([code[name] for name in blocks], -1)

    def decode(code: Tensor) -> Tensor:
        parts = torch.split(code, list(blocks.values()), -1)
        picture = method.decode(dict(zip(blocks, parts, strict=True)))
        assert picture is not None
        return picture

    try:
        networks["encoder"] = read_network(encode, torch.rand(1, *source.table.shape, device=device)).packed(bits)
    except UnknownLayer as error:
        notes.append(f"The page cannot run this run's encoder ({error}): it takes nothing of your own.")
    if not method.has_decoder:
        notes.append(NO_DECODER)
    else:
        try:
            example = torch.zeros(1, sum(blocks.values()), device=device)
            networks["decoder"] = read_network(decode, example).packed(bits)
        except UnknownLayer as error:
            features = source.table.shape[1] == 1
            notes.append(f"The page cannot run this run's decoder ({error}): {NO_SLIDERS if features else IN_ADVANCE}.")
            frames = None if features else _frames(known, decode, source, sample)
    return known | {"networks": networks, "frames": frames, "notes": notes}


def _frames(known: Record, decode: Callable[[Tensor], Tensor], source: Source, sample: Sample) -> Record:
    """Traversals drawn in advance: the pictures [images, 1 + latents x frames], reconstructions first."""
    blocks = [block["name"] for block in known["blocks"]]
    codes = sample_codes(source, sample, blocks)[:FRAMED]
    latents = sorted((part for part in known["latents"] if part["active"]), key=lambda part: -part["carried"])[:SWEPT]
    device = next(source.method.parameters()).device
    drawn = []
    for code in codes:
        moved = np.repeat(code[None], 1 + FRAMES * len(latents), 0)
        for place, latent in enumerate(latents):
            stops = np.linspace(latent["low"], latent["high"], FRAMES)
            moved[1 + place * FRAMES : 1 + (place + 1) * FRAMES, latent["column"]] = stops
        drawn.append(to_bytes(decode(torch.from_numpy(moved).to(device))))
    columns = [latent["column"] for latent in latents]
    return {"images": len(codes), "columns": columns, "count": FRAMES, "sheet": sheet(np.concatenate(drawn))}
