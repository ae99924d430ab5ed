"""What latents carry, draw and know: the sections of a report that any code has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from unbraid.codes import Block, Codes
from unbraid.figures.parts import HeatMap, Note, Part, Section, Strip, Strips
from unbraid.problems.contract import Page, Pictures, Scores

DEAD = 0.05  # nats, or standard deviations, below which a latent carries nothing
MOST_SWEPT = 12  # latents of a block whose traversals are shown, the strongest first
MOST_ROWS = 30  # of a heat map
BESIDE = 8  # factors up to which two heat maps stand beside each other
BINS = 20  # into which a factor with more values is cut
KNOWN = 0.1  # share of a factor's entropy from which a latent knows it
PREFIX = "traversals_"


def sections(page: Page) -> list[Section]:
    """Reconstructions, traversals, heat maps, neighbours and exchanged features, as far as there are any."""
    found = _reconstructions(page.pictures)
    for name, sweeps in page.pictures.items():
        if name.startswith(PREFIX):
            found.append(_traversals(name.removeprefix(PREFIX), sweeps, page))
    maps = [*_information(page), *_importance(page)]
    if len(maps) == 2 and len(page.codes.factor_names) <= BESIDE:
        maps = [replace(section, half=True) for section in maps]
    return [*found, *maps, *neighbours_shown(page.pictures), *exchanged(page.scores)]


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
        if matrix is not None and len(matrix) == len(known.carried) and block == block_of(scores["mig"], codes):
            best = int(matrix[latent].argmax())
            if matrix[latent, best] >= KNOWN * uncertainty(codes, factors[best]):
                label.append(f"mostly {factors[best]}")
        found.append((int(latent), label))
    return found


def strongest(page: Page, count: int) -> list[Strip]:
    """Traversals of the latents that carry most, of all blocks together."""
    rows = []
    for name, sweeps in page.pictures.items():
        if not name.startswith(PREFIX):
            continue
        block = name.removeprefix(PREFIX)
        carried = page.codes.blocks[block].carried
        for latent, label in active_latents(block, page.codes, page.scores)[:count]:
            rows.append((float(carried[latent]), label, sweeps[latent]))
    rows.sort(key=lambda row: -row[0])
    return [Strip.of(label, images, alt=f"strong latent {label[0]}") for _, label, images in rows[:count]]


def information(scores: Scores, codes: Codes) -> tuple[NDArray[np.float64] | None, list[str]]:
    """The mutual information matrix [d, k] that MIG is made of, and the names of its factors."""
    if "mig" not in scores or "mutual_information" not in scores["mig"]["parts"]:
        return None, []
    kept = scores["mig"]["params"].get("factors", range(len(codes.factor_names)))
    factors = [codes.factor_names[i] if isinstance(i, int) else str(i) for i in kept]
    return np.array(scores["mig"]["parts"]["mutual_information"]), factors


def block_of(score: dict[str, Any], codes: Codes) -> str:
    """The block that a score was taken of."""
    return str(score["params"].get("block", codes.first))


def uncertainty(codes: Codes, factor: str) -> float:
    """The entropy of a factor in nats."""
    values = codes.factor(factor)
    counts = np.unique(values, return_counts=True)[1]
    counts = counts if len(counts) <= BINS else np.histogram(values, BINS)[0]
    return float(entr(counts / counts.sum()).sum())


def neighbours_shown(pictures: Pictures) -> list[Section]:
    """A row for each feature: some images, each followed by its nearest neighbours."""
    if "retrieval" not in pictures:
        return []
    queries, rows = pictures["retrieval_queries"], []
    for name, found in zip(pictures["retrieval_spaces"], pictures["retrieval"], strict=True):
        groups = [np.concatenate([query[None], near]) for query, near in zip(queries, found, strict=True)]
        rows.append(Strip.of(str(name), *groups, alt=f"neighbours in {name}"))
    note = Note(
        "A row for each feature: some images, each followed by those whose codes lie nearest to its own in that "
        "feature alone. What they share is what the feature is about."
    )
    return [Section("Nearest neighbours", [note, Strips(rows, beside=True)], "Neighbours")]


def exchanged(scores: Scores) -> list[Section]:
    """The rates of the metric `exchange`: how often each factor follows the donor of a feature, or stays."""
    maps: list[Part] = []
    for label, found in scores.items():
        parts = found["parts"]
        if label.partition(":")[0] != "exchange" or "donor" not in parts:
            continue
        features = [f"feature {k}" for k in range(len(parts["donor"]))]
        for part, meaning in (("donor", "follows the donor"), ("host", "stays as it was"), ("neither", "neither")):
            rates = np.array(parts[part], dtype=np.float64)
            maps.append(HeatMap(rates, features, found["params"]["factors"], "share of exchanges", meaning))
    note = Note(
        "One feature of an image is taken from another image, the donor, which differs in a factor: how often a "
        "network that knows real images then names the donor's value of that factor, the image's own, or neither. At "
        "best each factor follows one feature and stays when another is exchanged."
    )
    return [Section("Features exchanged", [note, *maps], "Exchanged")] if maps else []


def _reconstructions(pictures: Pictures) -> list[Section]:
    if "originals" not in pictures:
        return []
    rows = [Strip.of(name, pictures[name]) for name in ("originals", "reconstructions")]
    return [Section("Reconstructions", [Strips(rows)])]


def _traversals(block: str, sweeps: NDArray[Any], page: Page) -> Section:
    active = active_latents(block, page.codes, page.scores)
    rows = [Strip.of(label, sweeps[latent], alt=f"traversal of {label[0]}") for latent, label in active[:MOST_SWEPT]]
    text = (
        "Each row moves one latent from the 2nd to the 98th percentile of its codes and holds the others where the "
        "first image has them."
    )
    if page.codes.blocks[block].kl is not None:
        text += " In nats: how much the latent carries (KL to the prior)."
    if page.codes.blocks[block].units is not None:
        text += " A feature of several dimensions takes the codes of other images, along its first principal axis."
    parts: list[Part] = [Note(text), Strips(rows, sweep=True)]
    if len(active) > MOST_SWEPT:
        parts.append(Note(f"{len(active) - MOST_SWEPT} weaker latents carry something too and are not shown."))
    if idle := len(sweeps) - len(active):
        parts.append(Note(f"{idle} of {len(sweeps)} latents carry nothing and are not shown."))
    several = sum(name.startswith(PREFIX) for name in page.pictures) > 1
    return Section(f"Traversals of {block}", parts, f"Traversals of {block}" if several else "Traversals")


def _information(page: Page) -> list[Section]:
    matrix, factors = information(page.scores, page.codes)
    if matrix is None:
        return []
    note = "Mutual information in nats. A disentangled code has one dark cell in each column, each in a row of its own."
    drawn = _heat_map(matrix, _rows(page.scores["mig"], page.codes, len(matrix)), factors, "nats")
    return [Section("What each latent knows of each factor", [*drawn, Note(note)], "Latents and factors")]


def _importance(page: Page) -> list[Section]:
    """How much a predictor of each factor uses each latent: the matrix that DCI is made of."""
    score = page.scores.get("dci")
    if score is None or not isinstance((matrix := score["parts"].get("importance")), list):
        return []
    values = np.array(matrix, dtype=np.float64)
    factors = [str(name) for name in score["params"].get("factors", range(values.shape[1]))]
    note = "Importance of each latent, or feature, for a predictor of each factor: what DCI is made of."
    drawn = _heat_map(values, _rows(score, page.codes, len(values)), factors, "importance")
    return [Section("What predicts each factor", [*drawn, Note(note)], "Importance")]


def _heat_map(matrix: NDArray[Any], rows: list[str], columns: list[str], label: str) -> list[Part]:
    """The rows with the largest values, in their order, where there are too many."""
    if len(matrix) <= MOST_ROWS:
        return [HeatMap(matrix, rows, columns, label)]
    kept = np.sort(np.argsort(-np.nan_to_num(matrix).max(1), kind="stable")[:MOST_ROWS])
    told = Note(f"The {MOST_ROWS} of {len(matrix)} rows with the largest values.")
    return [HeatMap(matrix[kept], [rows[i] for i in kept], columns, label), told]


def _rows(score: dict[str, Any], codes: Codes, count: int) -> list[str]:
    return [f"{block_of(score, codes)}{i}" for i in range(count)]
