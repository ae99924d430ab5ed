"""Samples that are rows of features, not images: which features each latent moves, and the codes as a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.codes import Arrays, Codes
from unbraid.figures import parts
from unbraid.figures.parts import Cell, Folded, Note, Part, Section
from unbraid.problems.contract import Page, Problem, Trained

if TYPE_CHECKING:
    from pandas import DataFrame

    from unbraid.data.table import Table

MOST = 1000  # samples over which an effect is averaged
SHOWN = 6  # features of each latent in the report
LEAST = 0.05  # standard deviations by which a feature must move to be shown there


class Features(Problem):
    """effects_<block> [latents, d, 4] (see effects.py) is kept beside the codes, and of counts the typical library."""

    name = "features"

    def applies(self, codes: Codes) -> bool:
        return bool(codes.features)

    def arrays(self, trained: Trained, codes: Codes) -> Arrays:
        import torch

        from unbraid.data.counts import Counts
        from unbraid.effects import effects

        method, scaling = trained.method, trained.table.scaling
        if scaling is None or not method.has_decoder:
            return {}
        device = next(method.parameters()).device
        means = {name: torch.from_numpy(block.codes[:MOST]).to(device) for name, block in codes.blocks.items()}
        found = {f"effects_{name}": effects(method, means, name, scaling) for name in means}
        return {**found, "library": np.array(scaling.library)} if isinstance(scaling, Counts) else found

    def files(self, trained: Trained, codes: Codes) -> dict[str, bytes]:
        table = _effects(codes)
        found = {} if table is None else {"effects.csv": table.to_csv(index=False, float_format="%.6g").encode()}
        sets = [("", trained.table, codes)]
        return found if codes.background is not None else {"codes.csv": codes_csv(sets), **found}

    def sections(self, page: Page) -> list[Section]:
        table = _effects(page.codes)
        if table is None:
            return []
        n = min(MOST, len(page.codes))
        note = Note(
            "What changes in the decoded features when a latent goes from one standard deviation below the mean of its "
            f"codes to one above and all else stays: mean over {n:,} samples, {_units(page.codes)}. The interval does "
            "not hold what another seed would have learnt; signs and the order of latents mean nothing. Effects below "
            f"{LEAST} standard deviations are left out; effects.csv has all of them."
        )
        first, *others = (_block_shown(name, _effects(page.codes, name)) for name in page.codes.blocks)
        more = [Folded("the other blocks", others)] if others else []
        return [Section("What each latent moves", [first, note, *more], "Effects")]


def _effects(codes: Codes, *blocks: str) -> DataFrame | None:
    """The effects that were kept, of all blocks unless some are named; None without a decoder, or in the form of an
    earlier version."""
    from unbraid.effects import effect_table

    kept = {name: codes.extra.get(f"effects_{name}") for name in blocks or codes.blocks}
    found = {name: array for name, array in kept.items() if array is not None and array.shape[-1] == 4}
    return effect_table(found, codes.features) if found else None


def _units(codes: Codes) -> str:
    if "library" not in codes.extra:
        return "in the units of the feature, with the 95 % interval of that mean, and in standard deviations of it"
    return (
        "as the log2 fold change of the expected count, with the 95 % interval of that mean, and as the change of "
        f"log(1 + count) in standard deviations of it, in a row with {codes.extra['library']:,.0f} counts"
    )


def _block_shown(block: str, table: DataFrame | None) -> Part:
    if table is None:
        return Note(f"No effects of {block} were kept.")
    rows: list[list[str | Cell]] = []
    moving = table[table["standardised"].abs() >= LEAST]
    for latent in moving.groupby("latent")["standardised"].apply(lambda sizes: -sizes.abs().max()).sort_values().index:
        for line in moving[moving["latent"] == latent].head(SHOWN).itertuples():
            change, interval = Cell(f"{line.effect:+.3g}", bold=True), f"{line.low:.3g} to {line.high:.3g}"
            rows.append([str(latent), str(line.feature), change, interval, f"{line.standardised:+.2f}"])
    if not rows:
        return Note(f"No latent of {block} moves a feature.")
    return parts.Table(["latent", "feature", "change", "95 % interval", "in its standard deviations"], rows)


def codes_csv(sets: Sequence[tuple[str, Table, Codes]]) -> bytes:
    """Codes for other programs. Columns: set (where there are several), row, name or file (if known), each latent."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    blocks = sets[0][2].blocks
    latents = [f"{name}{i}" for name, block in blocks.items() for i in range(block.width)]
    named = "name" if sets[0][2].features else "file"
    writer.writerow([*(["set"] if len(sets) > 1 else []), "row", named, *latents])
    for name, table, codes in sets:
        values = np.concatenate([codes.blocks[block].codes for block in blocks], 1)
        for place in np.argsort(codes.rows):
            row = codes.rows[place]
            start = [*([name] if len(sets) > 1 else []), row, table.files[row] if table.files else ""]
            writer.writerow([*start, *(f"{value:.6g}" for value in values[place])])
    return text.getvalue().encode()
