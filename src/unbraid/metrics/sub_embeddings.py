"""Scores of a code that is cut into slices, such as z into z0 and z1: do they share the tasks out, or is it a sham?

    probes_z    accuracies of linear probes on z and its slices, the gaps and the diagonal (probe_table.py)
    copies_z    R2 of the linear prediction of a slice from another, and the name of a degenerate solution, if it is one

The degenerate solutions are those of Burns et al. 2021 (section 4.2 and table 7), which orthogonality does not forbid:

    random          no slice tells any task
    random slice    a slice tells no task, though another does
    rotated copy    slices at right angles of which each predicts the other, and which tell the tasks equally well
    repeated task   every slice tells some task as well as the whole code does, so that it is not shared out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np

from unbraid.errors import UserError
from unbraid.metrics.contract import Codes, Factors, Score
from unbraid.metrics.probe_table import probe_table
from unbraid.metrics.two_sets import explained

Blocks = Mapping[str, Codes]
BY_CHANCE = 0.05  # accuracy above the most frequent class up to which a slice tells nothing
EQUAL = 0.02  # difference of accuracies up to which two slices tell a task equally well
COPY = 0.8  # R2 from which a slice is a linear image of another
RIGHT_ANGLE = 0.5  # mean |cosine| up to which slices are orthogonal, as a share of that of unrelated directions
NOTES = {
    "random": "no slice of {0} tells any task: training has not begun, or the regulariser is too strong",
    "random slice": "{1} tell no task, and the rest of {0} does",
    "rotated copy": "{1} are orthogonal, yet each predicts the other: they are rotated copies",
    "repeated task": "every slice of {0} tells {1} as well as all of {0}: it is not shared out",
}


def slices_of(blocks: Blocks) -> dict[str, list[str]]:
    """The blocks that are cut into slices, and the names of those: z has z0, z1, ..."""
    found = {}
    for name in blocks:
        if name[-1:].isdigit():  # z10 is a slice of z, not of z1
            continue
        parts = [f"{name}{k}" for k in range(len(blocks)) if f"{name}{k}" in blocks]
        if len(parts) > 1:
            found[name] = parts
    return found


def compare_slices(
    blocks: Blocks, factors: Factors, names: Sequence[str], *, seed: int = 0, train: int | None = None, jobs: int = 0
) -> dict[str, Score]:
    """Both scores of every block that is cut into slices; the factors are the tasks.

    Args:
        seed: of whatever is drawn
        train: how many leading rows train the probes, the others test; None draws two thirds
        jobs: threads; 0 uses every core
    """
    scores: dict[str, Score] = {}
    for whole, parts in slices_of(blocks).items():
        rng = np.random.default_rng((seed, *whole.encode()))
        code = {name: blocks[name] for name in (whole, *parts)}
        try:
            probes = probe_table(code, factors, rng, pair=parts, names=names, train=train, jobs=jobs)
            copies = degenerate(code, probes, rng)
        except (
            UserError,
            ValueError,
        ) as error:  # too few rows, tasks without classes, or a single class among the rows
            probes = copies = Score(float("nan"), warnings=(f"slices of {whole}: {error}",))
        told = f"mean gap between {' and '.join(parts)} in telling {' and '.join(names)}; 0 unless each is best at one"
        scores[f"probes_{whole}"] = replace(probes, params={**probes.params, "meaning": told})
        told = f"R2 of predicting a slice of {whole} from another; near 1 they are copies"
        scores[f"copies_{whole}"] = replace(copies, params={**copies.params, "meaning": told})
    return scores


def degenerate(code: Blocks, probes: Score, rng: np.random.Generator) -> Score:
    """R2 between slices, least over pairs; its parts hold the mean |cosine| and `solution`, one of NOTES or nothing.

    Slices are brought to length one, since that is how the losses see them: a copy may have lengths of its own.
    """
    whole, *parts = code
    units = {part: code[part] / np.maximum(np.linalg.norm(code[part], axis=1, keepdims=True), 1e-12) for part in parts}
    r2 = {(a, b): explained({"s": units[a], "z": units[b]}, rng) for a, b in permutations(parts, 2)}
    cosine = {(a, b): float(np.abs((units[a] * units[b]).sum(1)).mean()) for a, b in combinations(parts, 2)}
    unrelated = (2 / (np.pi * code[parts[0]].shape[1])) ** 0.5  # of two random directions, for many dimensions
    copies = [
        pair
        for pair in cosine
        if min(r2[pair].value, r2[pair[::-1]].value) >= COPY and cosine[pair] <= RIGHT_ANGLE * unrelated
    ]
    solution, which = _solution(whole, parts, probes.parts, copies)
    notes = (NOTES[solution].format(whole, ", ".join(which)),) if solution else ()
    least = min(r2.values(), key=lambda score: score.value)
    return replace(least, parts={"cosine": float(np.mean(list(cosine.values()))), "solution": solution}, warnings=notes)


def _solution(
    whole: str, parts: list[str], found: Mapping[str, Any], copies: Sequence[tuple[str, str]]
) -> tuple[str | None, list[str]]:
    """The name of the solution and the slices or tasks that show it; `copies` are the candidates for rotated ones."""
    accuracy, chance = found["accuracy"], found["chance"]

    def idle(block: str) -> bool:
        return all(accuracy[block][task] <= chance[task] + BY_CHANCE for task in chance)

    def alike(a: str, b: str, task: str) -> bool:
        return bool(abs(accuracy[a][task] - accuracy[b][task]) <= EQUAL)

    if all(map(idle, parts)):
        return "random", parts
    if any(map(idle, parts)):
        return "random slice", [part for part in parts if idle(part)]
    for pair in copies:
        if all(alike(*pair, task) for task in chance):
            return "rotated copy", list(pair)
    repeated = [
        task
        for task in chance
        if all(alike(part, whole, task) for part in parts) and accuracy[whole][task] > chance[task] + BY_CHANCE
    ]
    return ("repeated task", repeated) if repeated else (None, [])
